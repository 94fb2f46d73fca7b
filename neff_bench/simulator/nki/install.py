"""Puts the dialect into `sys.modules` under the names that kernels import."""

from __future__ import annotations

import builtins
import functools
import logging
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import FunctionType, ModuleType
from typing import Any

_MARK = "neff-bench"
MADE_UP = ("nki", "neuronxcc")
"""Packages that this module makes."""


def sdk_imported() -> bool:
    """Return whether the real package is in use in this process. `nki` alone proves nothing: an empty placeholder has that name."""
    return "nki.isa" in sys.modules and not _is_ours(sys.modules.get("nki"))


def _is_ours(module: ModuleType | None) -> bool:
    return getattr(module, "__recorder__", None) == _MARK


def _sdk_present() -> bool:
    if sys.modules.get("nki") is not None:
        return sdk_imported()
    try:
        return find_spec("nki.isa") is not None
    except (ImportError, ValueError):
        return False


def install(*, over_sdk: bool = False) -> None:
    """Make `import nki` give this recorder, also where the real package is installed if `over_sdk`. Idempotent.

    Kernels may use `math`, `sbuf`, `psum` and `hbm` without importing them, as the NKI compiler lets them; they become
    builtins.
    """
    whole = _is_ours(sys.modules.get("nki")) and "nki.isa" in sys.modules  # somebody may have taken parts of it out
    if whole or (not over_sdk and _sdk_present()):
        return
    from neff_bench.simulator.nki import annotations, collectives, compiler, constants, isa, jit, language, simulate
    from neff_bench.simulator.nki.keywords import KEYWORDS
    from neff_bench.simulator.numpy_dtypes import DTYPES
    from neff_bench.simulator.recording import enums

    nki = _module("nki", jit=jit.jit, simulate=simulate.simulate, cpu_simulate=simulate.simulate)
    vars(nki).update(benchmark=jit.jit, baremetal=jit.jit, profile=jit.jit)  # the host's calls come with install_host
    nki.__getattr__ = lambda name: _missing("nki", name)  # type: ignore[method-assign]
    nki.__recorder__ = _MARK  # type: ignore[attr-defined]
    nki.__path__ = []
    _submodule("isa", isa)
    _submodule("language", language)
    sys.modules["nki.isa.constants"] = enums
    isa.constants = enums
    _submodule("dtype", _module("nki.dtype", **{name: name for name in DTYPES}))
    _submodule("typing", annotations)
    _submodule("tensor", _module("nki.tensor", identity=constants.identity))
    _submodule("compiler", compiler)
    compiler.__path__ = []
    sys.modules["nki.compiler.frontend"] = compiler.frontend
    sys.modules["nki.compiler.ncc_driver"] = compiler.ncc_driver
    _submodule("builtin", _module("nki.builtin"))
    _submodule("collectives", collectives)
    _offer_beta(over_sdk)
    vars(builtins).update(KEYWORDS, math=math)


@contextmanager
def undone(*packages: str) -> Iterator[None]:
    """Keep what is imported inside, but for the modules of `packages`; where Python looks for modules, and which
    names it knows without an import, is afterwards as it was."""
    modules, path, finders, words = set(sys.modules), list(sys.path), list(sys.meta_path), set(vars(builtins))
    has_off = hasattr(logging, "OFF")
    try:
        yield
    finally:
        sys.path[:], sys.meta_path[:] = path, finders
        for name in sys.modules.keys() - modules:
            if name.partition(".")[0] in packages:
                del sys.modules[name]
        for word in vars(builtins).keys() - words:
            delattr(builtins, word)
        if hasattr(logging, "OFF") and not has_off:
            del logging.OFF


class _Beta(MetaPathFinder):
    """Puts the old dialect in when it is first imported: kernels of the current one do without."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of `neuronxcc`, whose modules are then all there."""
        if name != "neuronxcc":
            return None
        sys.meta_path.remove(self)
        _install_beta()
        return sys.modules[name].__spec__


def _offer_beta(over_sdk: bool) -> None:
    """Make `neuronxcc.nki` importable, unless the compiler's own package is there and to be used."""
    if "neuronxcc" in sys.modules or (not over_sdk and find_spec("neuronxcc") is not None):
        return
    if not hasattr(logging, "OFF"):
        logging.OFF = logging.CRITICAL + 10  # type: ignore[attr-defined]  # importing neuronxcc gives it to scripts
    sys.meta_path.insert(0, _Beta())


def _install_beta() -> None:
    from neff_bench.simulator.nki import annotations, simulate
    from neff_bench.simulator.nki.beta import closed, compiler, isa, jit, language
    from neff_bench.simulator.recording import enums

    package = _module("neuronxcc")
    package.__path__ = []
    # Without a script that runs, what launches a kernel leaves it a kernel; the host's calls come with install_host.
    launchers = dict.fromkeys(("jit", "baremetal", "benchmark", "profile", "trace"), jit.jit)
    beta = _module("neuronxcc.nki", tensor=annotations.tensor, simulate_kernel=simulate.simulate_kernel, **launchers)
    beta.__path__ = []
    package.nki = beta  # type: ignore[attr-defined]
    for name, module in (("isa", isa), ("language", language), ("compiler", compiler), ("typing", annotations)):
        setattr(beta, name, module)
        sys.modules[f"neuronxcc.nki.{name}"] = module

    sys.modules["neuronxcc.nki.isa.constants"] = enums
    compiler.__path__ = []
    beta.__getattr__ = lambda name: _missing("neuronxcc.nki", name)  # type: ignore[method-assign]
    _module("neuronxcc.nki.logging", Logger=logging.getLogger)
    beta.logging = sys.modules["neuronxcc.nki.logging"]  # type: ignore[attr-defined]
    closed.install()


def install_host() -> None:
    """Give `nki` and `neuronxcc.nki` the calls that start a device, for a process that runs a script."""
    import_module("neuronxcc.nki")
    from neff_bench.simulator.nki import host

    for call in (host.baremetal, host.benchmark, host.profile, host.simulate_kernel):
        setattr(sys.modules["nki"], call.__name__, call)
        setattr(sys.modules["neuronxcc.nki"], call.__name__, _of_beta(call))


def _of_beta(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the call for kernels of `neuronxcc.nki`, which need no `jit` of their own: the tutorials decorate plain functions."""
    from neff_bench.simulator.nki.beta.jit import jit

    def of_beta(kernel: Any) -> Any:
        return jit(kernel) if isinstance(kernel, FunctionType) else kernel

    @functools.wraps(call)
    def decorator(kernel: Any = None, *args: Any, **options: Any) -> Any:
        if kernel is None:
            return lambda function: call(of_beta(function), *args, **options)
        return call(of_beta(kernel), *args, **options)

    return decorator


def _missing(module: str, name: str) -> object:
    """Raise what asking a module for a name that it lacks raises."""
    from neff_bench.simulator.nki.names import missing

    raise AttributeError(name) if name.startswith("__") else missing(module, name)


class _Made(Loader):
    """Finds modules that are in `sys.modules` already, complete."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module itself."""
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is complete."""


def _module(name: str, **members: object) -> ModuleType:
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, _Made())  # `find_spec` is how programs ask whether there is a package
    vars(module).update(members)
    sys.modules[name] = module
    return module


def _submodule(name: str, module: ModuleType) -> None:
    sys.modules[f"nki.{name}"] = module
    setattr(sys.modules["nki"], name, module)
