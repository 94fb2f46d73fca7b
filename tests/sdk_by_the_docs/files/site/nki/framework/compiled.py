"""After public copies of nki/framework/compiled.py of NKI 0.6."""

import inspect
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

from nki._sdk import HABITS
from nki.compiler.driver import compile_to_bir
from nki.compiler.frontend import ParserFrontend, resolve_frontend_cls
from nki.compiler.ncc_driver import CompileOptions
from nki.compiler.target import resolve_target


def compile_kernel_to_nir(kernel_func, *, inputs, compile_opts, frontend=None, enable_cache=True, trace_cache=None):
    if frontend is None:
        frontend = resolve_frontend_cls()()
    return compile_to_bir(
        kernel_func,
        frontend=frontend,
        inputs=inputs,
        compile_opts=compile_opts,
        enable_cache=enable_cache,
        trace_cache=trace_cache,
    )


@dataclass(frozen=True)
class CompileKernel:
    func: Callable
    lnc: int = 1
    artifacts_dir: str = ""
    target: str | None = None
    _enable_backend_opt: bool = False
    _frontend_cls: type = ParserFrontend

    @property
    def __name__(self):
        return self.func.__name__

    @property
    def __module__(self):
        return self.func.__module__

    def __getitem__(self, lnc):
        if HABITS["release"] == "2.33":
            warnings.warn("kernel[lnc] is deprecated; set NEURON_LOGICAL_NC_CONFIG", DeprecationWarning, stacklevel=2)
        return replace(self, lnc=int(lnc))

    def _compile_opts(self):
        lnc = int(os.environ.get("NEURON_LOGICAL_NC_CONFIG", self.lnc)) if HABITS["release"] == "2.33" else self.lnc
        options = CompileOptions(
            target=resolve_target(self.func, self.target),
            lnc=lnc,
            artifacts_dir=self.artifacts_dir or None,
            output_path="kernel.neff",
        )
        return options if self._enable_backend_opt else options.disable_backend_optimizations()

    def _bind_args(self, arguments, keywords):
        bound = inspect.signature(self.func).bind(*arguments, **keywords)
        bound.apply_defaults()
        return bound.arguments

    def __call__(self, *arguments, **keywords):
        from nki.runtime import SpikeModel  # a host without a device ends here  # noqa: F401


StandaloneKernel = CompileKernel
