"""Knows the compile interfaces of NKI, one entry per generation, newest first, each with where it was seen: none is public API.

An entry is used when its names can be imported and its functions accept our arguments, which is checked before anything is compiled.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from neff_bench.parsers.formats.neff import plain_name
from neff_bench.sdk.release import Nki
from neff_bench.stage1_generate.errors import BuildError, GenerateError
from neff_bench.stage1_generate.toolchains.compiler_process import run

PENGUIN = "penguin.py"
"""The kernel in penguin's IR, as neuronx-cc reads it."""
ARTIFACTS = "artifacts"
"""Where the compiler leaves its intermediate files; it wants this directory to be empty."""


@dataclass(frozen=True)
class Work:
    """One kernel to compile into `neff` (absolute path). `kernel`: the `@nki.jit` object. `arguments`: further words for neuronx-cc.

    `inputs`: its keyword arguments, tensors as numpy arrays. `outputs`: stubs with shape, dtype and name. `grid`: NKI takes the LNC from `kernel[lnc]`.
    """

    kernel: Any
    inputs: Mapping[str, Any]
    outputs: Callable[[], list[SimpleNamespace]]
    target: str
    lnc: int
    neff: str
    arguments: tuple[str, ...]
    grid: bool = True

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs, in order."""
        return [output.name for output in self.outputs()]


Compile = Callable[[Work], "tuple[str, ...] | None"]
"""Writes the NEFF. Returns the names of the kernel's results in it, in their order; None where the interface does not tell."""


@dataclass(frozen=True)
class Interface:
    """`name`: as it is written to case.json; `contract`: in the contract of the releases that have it. `probe`: raises `Absent`
    when this generation is not installed, else returns the function that compiles."""

    name: str
    contract: str
    probe: Callable[[], Compile]


class Absent(GenerateError):
    """A generation of the interface is not installed; the text says what is missing."""


def choose(nki: Nki) -> tuple[str, Compile]:
    """Return the name and the function of the newest interface that is installed; those that the contract of the installed release names come
    before all others. Raises `BuildError` when none is."""
    reasons = []
    for interface in sorted(INTERFACES, key=lambda interface: interface.contract not in nki.interfaces):
        try:
            return interface.name, interface.probe()
        except Absent as reason:
            reasons.append(f"{interface.name}: {reason}")
    raise BuildError("no known compile interface of NKI: " + "; ".join(reasons))


def _nir() -> Compile:
    """NKI 0.5 and 0.6 (SDK 2.31, 2.32): `nki.framework.compiled`, which calls itself the entry point of the frameworks."""
    trace = _get("nki.framework.compiled", "compile_kernel_to_nir")
    options_type = _get("nki.compiler.ncc_driver", "CompileOptions")
    finish = _get("nki.compiler.ncc_driver", "compile_bir_to_neff")
    _accepts(trace, None, inputs={}, compile_opts=None, enable_cache=False)
    _accepts(finish, None, None, input_arrays=[], argument_names=[], output_arg_names=[])

    def compile(work: Work) -> tuple[str, ...] | None:
        options = _options(options_type, work)
        nir = trace(_launched(work), inputs=dict(work.inputs), compile_opts=options, enable_cache=False)
        finish(
            options,
            nir,
            input_arrays=[],
            argument_names=[spec.name for spec in nir.descriptor.input_specs],
            output_arg_names=[spec.name for spec in nir.descriptor.output_specs],
        )
        return _results(nir.descriptor)

    return compile


def _nir_with_inputs() -> Compile:
    """Compile with other builds of NKI 0.6 (SDK 2.32), seen in two public callers: the back end takes the inputs themselves."""
    trace = _get("nki.framework.compiled", "compile_kernel_to_nir")
    options_type = _get("nki.compiler.ncc_driver", "CompileOptions")
    finish = _get("nki.compiler.driver", "_compile_bir_to_neff")
    _accepts(trace, None, inputs={}, compile_opts=None, enable_cache=False)
    _accepts(finish, None, None, {})

    def compile(work: Work) -> tuple[str, ...] | None:
        options, inputs = _options(options_type, work), dict(work.inputs)
        nir = trace(_launched(work), inputs=inputs, compile_opts=options, enable_cache=False)
        finish(nir, options, inputs)
        return _results(nir.descriptor)

    return compile


def _bir() -> Compile:
    """NKI 0.4 (SDK 2.30): aws-neuron/nki-library, test/utils/kernel_tracer.py after the 2.29 release."""
    lower = _get("nki.compiler.driver", "compile_to_bir")
    frontend = _get("nki.compiler.frontend", "ParserFrontend")
    options_type = _get("nki.compiler.ncc_driver", "CompileOptions")
    finish = _get("nki.compiler.ncc_driver", "compile_bir_to_neff")
    _accepts(lower, kernel_func=None, frontend=None, inputs={}, compile_opts=None, output_names=[])
    _accepts(finish, None, None, [], [], [])

    def compile(work: Work) -> tuple[str, ...] | None:
        options = _options(options_type, work)
        result = lower(
            kernel_func=work.kernel,
            frontend=frontend(),
            inputs=dict(work.inputs),
            compile_opts=options,
            output_names=work.output_names,
        )
        arguments = [spec.name for spec in result.descriptor.input_specs]
        finish(options, result, [], arguments, [spec.name for spec in result.descriptor.output_specs])
        return _results(result.descriptor)

    return compile


def _frontend() -> Compile:
    """NKI 0.3 (SDK 2.29): aws-neuron/nki-library @ 2.29_release, test/utils/kernel_tracer.py."""
    frontend = _get("nki.compiler.frontend", "ParserFrontend")
    compiled = _get("nki.compiler.ncc_driver", "CompiledKernel")
    options_type = _get("nki.compiler.ncc_driver", "CompileOptions")
    names = {"inputs": {}, "target": "", "lnc": 1, "artifacts_dir": "", "output_names": []}
    _accepts(frontend.compile, None, None, **names)
    if not hasattr(compiled, "from_frontend"):
        raise Absent("CompiledKernel has no from_frontend")

    def compile(work: Work) -> tuple[str, ...] | None:
        options = _options(options_type, work)
        result = frontend().compile(
            work.kernel,
            inputs=dict(work.inputs),
            target=work.target,
            lnc=work.lnc,
            artifacts_dir=os.path.dirname(work.neff),
            output_names=work.output_names,
        )
        compiled.from_frontend(result, options)
        return None

    return compile


def _standalone() -> Compile:
    """NKI 0.1 and 0.2 (SDK 2.27, 2.28): aws-neuron/nki-library @ 0759719, test/utils/kernel_tracer.py. It compiles through
    neuronx-cc's own path, which has no experimental backend optimisations to switch off."""
    finish = _get("neuronxcc.nki_standalone", "compile_nki_ir_kernel_to_neff")
    version = _get("neuronxcc.nki_standalone", "NKI_IR_VERSION")
    _accepts(
        finish,
        kernel_func=None,
        kernel_inputs_dict={},
        kernel_outputs=[],
        platform_target="",
        logical_nc_config=1,
        output_directory="",
        version=None,
        additional_compiler_args="",
    )

    def compile(work: Work) -> tuple[str, ...] | None:
        import shlex

        finish(
            kernel_func=work.kernel,
            kernel_inputs_dict=dict(work.inputs),
            kernel_outputs=work.outputs(),
            platform_target=work.target,
            logical_nc_config=work.lnc,
            output_directory=os.path.dirname(work.neff),
            version=version.beta2,
            additional_compiler_args=shlex.join(work.arguments),
        )
        return None

    return compile


def _trace_kernel() -> Compile:
    """Before NKI 0.1: the kernel is traced into penguin's IR, which is written as penguin.py for neuronx-cc. Seen in the MLP report
    of January 2026 (docs/mlp-comparison.md), which calls it KLIR."""
    tracer = _get("nki.compiler.backends.neuron.TraceKernel", "TraceKernel")
    builder_type = _get("neuronxcc.starfish.penguin.ir.IRBuilder", "IRBuilder")
    writer = _get("neuronxcc.starfish.penguin.ir.IRWriter", "IRWriter")
    _accepts(tracer.trace, func=None, platform_target="")
    _accepts(writer.run, cu=None, output=None, save_weights=True, weights_dir="")

    def compile(work: Work) -> tuple[str, ...] | None:
        builder = builder_type()
        for name, value in work.inputs.items():
            if hasattr(value, "shape"):
                builder.tensor(shape=value.shape, dtype=value.dtype, name=name)
        traced = tracer.trace(func=work.kernel, platform_target=work.target)
        traced[work.lnc](**work.inputs)
        folder = Path(work.neff).parent
        penguin = folder / PENGUIN
        with penguin.open("w", encoding="utf-8") as output:
            writer.run(cu=builder.cu, output=output, save_weights=True, weights_dir=str(folder))
        words = ["neuronx-cc", "compile", "--framework", "XLA", PENGUIN, "--target", work.target]
        run([*words, "--lnc", str(work.lnc), "--output", Path(work.neff).name, *work.arguments])
        return None

    return compile


INTERFACES = (
    Interface("nki compile_kernel_to_nir", "compile_kernel_to_nir", _nir),
    Interface("nki _compile_bir_to_neff", "compile_bir_with_inputs", _nir_with_inputs),
    Interface("nki compile_to_bir", "compile_to_bir", _bir),
    Interface("nki ParserFrontend", "ParserFrontend", _frontend),
    Interface("nki_standalone", "nki_standalone", _standalone),
    Interface("nki TraceKernel", "before 2.27", _trace_kernel),
)


def _results(descriptor: Any) -> tuple[str, ...]:
    """Return what the results are called in the NEFF: by their specifications, one that is an input too by the name of that input (`aliases` of a
    `KernelDescriptor` are pairs of input and output, by number)."""
    names = [str(spec.name) for spec in descriptor.output_specs]
    for given, result in getattr(descriptor, "aliases", ()):
        names[result] = plain_name(str(descriptor.input_specs[given].name))
    return tuple(names)


def _options(options_type: Any, work: Work) -> Any:
    """Compile options as production has them: without NKI's experimental allocation and scheduling."""
    options = options_type(
        target=work.target,
        lnc=work.lnc,
        output_path=work.neff,
        artifacts_dir=str(Path(ARTIFACTS).absolute()),
        neuronx_cc_args=work.arguments,
    )
    production = getattr(options, "disable_backend_optimizations", None)
    return production() if production is not None else options


def _launched(work: Work) -> Any:
    """Return the kernel with its launch grid, where the release takes the LNC from there: later ones deprecate `kernel[lnc]`."""
    return work.kernel[work.lnc] if work.grid and hasattr(work.kernel, "__getitem__") else work.kernel


def _get(module: str, name: str) -> Any:
    try:
        return getattr(import_module(module), name)
    except ImportError as error:
        raise Absent(str(error)) from None
    except AttributeError:
        raise Absent(f"{module} has no {name}") from None


def _accepts(function: Any, *positional: Any, **keywords: Any) -> None:
    try:
        inspect.signature(function).bind(*positional, **keywords)
    except TypeError as error:
        raise Absent(f"{getattr(function, '__name__', function)}: {error}") from None
    except ValueError:
        pass  # compiled code without a signature: there is nothing to compare
