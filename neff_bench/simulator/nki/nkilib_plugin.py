"""Holds a pytest plugin: nki-library's integration tests, in their `simulation` mode, on this recorder and executor.

Their tests import `nki_cpu_simulator`, which is this simulator here, AWS's private `neuron_dtypes`, for which four functions stand in, and a few modules
that the public tree lacks, which exist as names only and raise when called. No code that validates results is replaced.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Mapping
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from neff_bench.parsers.formats import packed
from neff_bench.simulator.errors import NkiValidationError
from neff_bench.simulator.nki.compiler import CompiledKernel, CompileOptions, NKIFrontend
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.jit import body
from neff_bench.simulator.nki.launch import launch_ranks
from neff_bench.simulator.nki.simulate import simulate
from neff_bench.simulator.numpy_dtypes import convert, dtype_name
from neff_bench.simulator.operations import microscaling

_FLOAT8 = {np.dtype(getattr(ml_dtypes, name)) for name in ("float8_e4m3", "float8_e4m3fn", "float8_e5m2")}
_ABSENT = {
    "test.utils.perf_analysis_private": ("analyze_trace",),
    "test.utils.scripts": (),
    "test.utils.scripts.remote_lock_scripts": (),
    "neuronxcc": (),
    "neuronxcc.nki": (),
    "neuronxcc.nki.typing": (),
    "neuronxcc.starfish": (),
    "neuronxcc.starfish.support": (),
}


class _Absent(ModuleType):
    """A module that is not public: it can be imported, and what it holds raises when it is called or read."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        return _AbsentName(f"{self.__name__}.{name}")


class _AbsentName:
    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{self._name} is not part of the public nki-library")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self()


def pytest_load_initial_conftests() -> None:
    """Install all of it before their first import. Importing this module changes nothing."""
    random.seed(int(os.environ.get("NKILIB_TESTS_SEED", "0")))  # their sweeps draw shapes on import
    _install_simulator()
    _install_dtypes()
    _install_absent()


def pytest_sessionstart() -> None:
    """Set an attribute that later releases read and that their simulation mode never sets. Their simulation mode knows no ranks. The tests of a
    release are for the NKI of that time, whose quantize_mx has the scale of their reference."""
    if "test.utils" in sys.modules and find_spec("test.utils.mx_utils") is not None:
        largest = import_module("test.utils.mx_utils").get_mx_max_exp("float8_e4m3fn_x4")
        microscaling.ROOM = microscaling.LARGEST["float8_e4m3fn_x4"][0] - largest
    orchestrator = sys.modules.get("test.utils.test_orchestrator")
    if orchestrator is None:
        return
    if not hasattr(orchestrator.Orchestrator, "_compiled_kernel"):
        orchestrator.Orchestrator._compiled_kernel = None
    _install_ranks(orchestrator.Orchestrator)


def _install_ranks(harness: Any) -> None:
    """Let a test of several ranks run: the kernel on all of them, the outputs where their device run leaves them."""
    one_rank = harness._run_simulator_inference

    def run(self: Any, test: Any) -> Any:
        if test.inference_args.collective_ranks < 2:
            return one_rank(self, test)
        folder = self._dump_output_tensors({})
        for rank, outputs in enumerate(_outputs_of_ranks(test)):
            mine = Path(folder, f"output_worker_{rank}")
            mine.mkdir()
            for name, array in outputs.items():
                (mine / f"{name}.bin").write_bytes(array.tobytes())
        return folder

    harness._run_simulator_inference = run


def _named(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a kernel's arguments by its own names: their tests mark those that an output aliases."""
    return {name.removesuffix(".must_alias_input"): value for name, value in inputs.items()}


def _outputs_of_ranks(test: Any) -> list[dict[str, np.ndarray]]:
    """Return the outputs of each rank under the names of the expected ones, in their dtypes."""
    given, ranks = test.kernel_input or {}, range(test.inference_args.collective_ranks)
    bound = [_named(given.for_rank(rank) if hasattr(given, "for_rank") else given) for rank in ranks]
    os.environ["NKI_NC_VERSION"] = test.compiler_input.platform_target.get_nc_gen()
    launched = launch_ranks(body(test.kernel_func), bound, test.compiler_input.logical_nc_config)
    expected = sys.modules["test.utils.common_dataclasses"].normalize_golden_output
    made = []
    for rank, done in zip(ranks, launched, strict=True):
        golden = expected(test.validation_args.golden_output, rank)
        results = done.result if isinstance(done.result, (list, tuple)) else [done.result]
        if len(results) != len(golden):
            raise RuntimeError(f"the kernel returned {len(results)} tensors, the test expects {len(golden)}")
        made.append({
            name: np.asarray(result, dtype=value.dtype)
            for (name, value), result in zip(golden.items(), results, strict=True)
        })  # fmt: skip
    return made


class _CpuSimulated:
    """`nki.cpu_simulate(kernel)`: where a kernel breaks a rule, the error carries the compiler's code, for which their negative tests ask."""

    def __init__(self, simulated: Any) -> None:
        self.simulated = simulated

    def __getitem__(self, lnc: Any) -> _CpuSimulated:
        return _CpuSimulated(self.simulated[lnc])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.simulated(*args, **kwargs)
        except NkiValidationError as error:
            raise type(error)(f"[NCC_INKI016] Kernel validation exception: {error.what}", error.source) from error


def _cpu_simulate(kernel: Any) -> _CpuSimulated:
    return _CpuSimulated(simulate(kernel))


def _module(name: str, **members: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(members)
    sys.modules[name] = made
    return made


def _install_simulator() -> None:
    """Install `nki_cpu_simulator.nki` and its submodules: the modules that `install` put under `nki`."""
    install()
    nki = sys.modules["nki"]
    vars(nki)["cpu_simulate"] = _cpu_simulate
    package = _module("nki_cpu_simulator", nki=nki)
    package.__path__ = []
    names = ("isa", "isa.constants", "language", "typing", "compiler", "dtype", "tensor", "collectives", "builtin")
    for name in names:
        sys.modules[f"nki_cpu_simulator.nki.{name}"] = sys.modules[f"nki.{name}"]
    sys.modules["nki_cpu_simulator.nki"] = nki
    sys.modules["nki_cpu_simulator.nki.language.dtypes"] = sys.modules["nki.dtype"]
    nki.language.dtypes = nki.dtype


def _numpy_dtype(dtype: Any) -> np.dtype:
    named: dict[str, Any] = {"float8e4": "float8_e4m3", "float8e5": "float8_e5m2", **packed.DTYPES}
    found: np.dtype = np.dtype(named.get(dtype, dtype) if isinstance(dtype, str) else dtype)
    return found


def static_cast(array: Any, dtype: Any) -> np.ndarray:
    """Return the array with its values rounded to `dtype`; float8 goes row by row through tables, five times as fast as a cast.
    [..., n] of a packed type are [..., 4 n] values."""
    given, target = np.asarray(array), _numpy_dtype(dtype)
    if packed.is_packed(given.dtype):
        given = packed.unpacked(given)
    if packed.is_packed(target):
        return packed.packed(given.astype(np.float32), dtype_name(target))
    if given.ndim and np.float32 in (given.dtype, target) and _FLOAT8 & {given.dtype, target}:
        made = np.empty(given.shape, target)
        rows = zip(made.reshape(-1, given.shape[-1]), given.reshape(-1, given.shape[-1]), strict=True)
        for into, row in rows:
            into[...] = convert(row, dtype_name(target))
        return made
    with np.errstate(over="ignore", invalid="ignore"):
        return given.astype(target)


def sizeinbytes(dtype: Any) -> int:
    """Return the bytes of one element."""
    return _numpy_dtype(dtype).itemsize


def is_float_type(dtype: Any) -> bool:
    """Return whether a dtype is a floating-point one, ml_dtypes' included."""
    kind = _numpy_dtype(dtype)
    return kind.kind == "f" or "float" in kind.name


def _install_dtypes() -> None:
    names = ("bfloat16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")
    types = {name: np.dtype(getattr(ml_dtypes, name)) for name in names}
    members = types | packed.DTYPES
    functions = {"static_cast": static_cast, "sizeinbytes": sizeinbytes, "is_float_type": is_float_type}
    for name in ("neuron_dtypes", "neuronxcc.starfish.support.dtype"):
        _module(name, **functions, **members, finfo=ml_dtypes.finfo)


class _Standalone(ModuleType):
    """`neuronxcc.nki_standalone`, the frontend of the releases up to 2.28, as their test/utils/kernel_tracer.py calls it."""

    class NKI_IR_VERSION(Enum):
        """The recorder of the dialect; there is one for all."""

        beta2 = "beta2"

    @staticmethod
    def _compile_nki_ir_to_tensorizer_ir(
        kernel: Any, target: str, lnc: int, inputs: dict[str, Any], outputs: list[Any], version: NKI_IR_VERSION
    ) -> tuple[Any, None]:
        return NKIFrontend().compile(kernel, _named(inputs), target, lnc), None

    @staticmethod
    def _write_tensorizer_ir(module: Any, folder: str) -> None:
        """Write nothing: a test of the frontend reads no file."""

    @staticmethod
    def compile_nki_ir_kernel_to_neff(
        kernel: Any,
        inputs: dict[str, Any],
        outputs: list[Any],
        target: str,
        lnc: int,
        folder: str,
        version: NKI_IR_VERSION,
        flags: str,
    ) -> None:
        """Write `file.neff` into `folder`."""
        names = [output.name for output in outputs]
        made = NKIFrontend().compile(kernel, _named(inputs), target, lnc, names)
        CompiledKernel.from_frontend(made, CompileOptions(output_path=f"{folder}/file.neff"))


def _install_absent() -> None:
    sys.modules.setdefault("neuronxcc.nki_standalone", _Standalone("neuronxcc.nki_standalone"))
    for name in _ABSENT:
        made = sys.modules.setdefault(name, _Absent(name))
        parent, _, last = name.rpartition(".")
        if parent in _ABSENT:
            setattr(sys.modules[parent], last, made)
