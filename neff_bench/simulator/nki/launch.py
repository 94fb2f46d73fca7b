"""Launches a kernel on arrays: records it, then executes the program."""

from __future__ import annotations

import functools
import inspect
import os
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from neff_bench.chips import first_of_generation
from neff_bench.simulator.errors import KernelError, SimulatorError, UnwrittenWarning
from neff_bench.simulator.nki.annotations import Annotation
from neff_bench.simulator.nki.jit import label
from neff_bench.simulator.nki.mistakes import home
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record
from neff_bench.simulator.numpy_dtypes import dtype_name, numpy_dtype
from neff_bench.simulator.program import Program
from neff_bench.simulator.recording.tensor import NkiTensor
from neff_bench.terminal import streams

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, eq=False)
class Launch:
    """`inputs` and `outputs`: arrays under their names in the program. `result`: what the kernel returned, with an array
    in the place of each tensor, of the kind that the arguments have (numpy, torch or jax)."""

    name: str
    program: Program
    inputs: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    result: Any


recorded_only: Callable[[Program | SimulatorError], None] | None = None
"""Gets each program that was recorded, or why it was not. Set, nothing is executed, and kernels return zeros."""


def target() -> str:
    """Return the chip that NEURON_PLATFORM_TARGET_OVERRIDE or NKI_NC_VERSION names (trn2, gen3 ...); trn2 when neither does."""
    named = os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE") or os.environ.get("NKI_NC_VERSION") or "trn2"
    return first_of_generation(named.lower())


def launch(function: Callable[..., Any], args: Any, kwargs: Any, lnc: int, *, fits: bool) -> Launch:
    """Run `function` on its arguments, in which every array of numpy, torch or jax, and every tensor of `nki.typing` with its shape, is an input.

    A kernel that returns nothing writes its arguments: those are its outputs, and a numpy or torch argument gets the new
    values. `fits`: raise CapacityError when the kernel's tensors do not fit on the chip, else warn. Raises KernelError.
    """
    return _launched(function, [_call(function, args, kwargs)], lnc, fits=fits)[0]


def _call(function: Callable[..., Any], args: Any, kwargs: Any) -> inspect.BoundArguments:
    """Return a kernel's arguments by name. Raises KernelError where it does not take them."""
    if not callable(function):
        raise KernelError(f"a kernel is a function, not {type(function).__name__}")
    signature = inspect.signature(function)
    try:
        return signature.bind(*args, **kwargs)
    except TypeError as error:
        raise KernelError(
            f"{label(function).rpartition('.')[2]}{signature} is called with other arguments: {error}", home(function)
        ) from error


def launch_ranks(function: Callable[..., Any], ranks: Sequence[Mapping[str, Any]], lnc: int) -> list[Launch]:
    """Return the same on several ranks at once. `ranks`: the arguments of each by name; their arrays may differ in values alone, and
    the program is that of rank 0's other arguments."""
    signature = inspect.signature(function)
    return _launched(function, [signature.bind(**named) for named in ranks], lnc, fits=False)


def _launched(
    function: Callable[..., Any], calls: Sequence[inspect.BoundArguments], lnc: int, *, fits: bool
) -> list[Launch]:
    from neff_bench.simulator.execution.execute import execute_ranks
    from neff_bench.simulator.execution.findings import unwritten_outputs

    given: list[dict[str, Any]] = [{} for _ in calls]
    held, *_ = [_held(call, mine) for call, mine in zip(calls, given)]
    arrays = [{name: as_numpy(value) for name, value in mine.items()} for mine in given]
    call, results = _traced(function, calls[0].signature, held, arrays[0])
    try:
        with streams.prints_to_stderr():
            program = record(call, target(), lnc, fits)
    except SimulatorError as error:
        if recorded_only is not None:
            recorded_only(error)
        raise
    if not program.outputs:
        program = msgspec.structs.replace(program, outputs=written_inputs(program))
    if recorded_only is not None:
        recorded_only(program)
        outputs = [_zeros(program) for _ in arrays]
    else:
        outputs = execute_ranks(program, arrays)
        for told in unwritten_outputs(program):
            warnings.warn(str(told), UnwrittenWarning, stacklevel=2)
    return [_finished(label(function), program, *rank, results[0]) for rank in zip(given, arrays, outputs, strict=True)]


def program_of(
    function: Callable[..., Any], inputs: Mapping[str, Any], output_names: tuple[str, ...], chip: str, lnc: int
) -> Program:
    """Return the program of a kernel for its arguments by name; arrays become inputs, also in tuples, lists and dicts. Raises KernelError."""
    given: dict[str, Any] = {}
    call = _call(function, (), inputs)
    held = _held(call, given)
    arrays = {name: as_numpy(value) for name, value in given.items()}
    traced, _ = _traced(function, call.signature, held, arrays, output_names)
    with streams.prints_to_stderr():
        return record(traced, chip, lnc, fits=True)


def _traced(
    function: Callable[..., Any],
    signature: inspect.Signature,
    held: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    output_names: tuple[str, ...] = (),
) -> tuple[Call, list[Any]]:
    """Return what is recorded, and where the kernel's result comes, with tensors in it. `held`: the arguments with the places of the arrays."""
    inputs = [InputSpec(name, array.shape, _dtype(name, array, function)) for name, array in arrays.items()]
    results: list[Any] = []

    def body(**tensors: Any) -> Any:
        call = inspect.BoundArguments(
            signature, OrderedDict((name, _release(at, tensors)) for name, at in held.items())
        )
        results.append(function(*call.args, **call.kwargs))
        return results[-1]

    functools.update_wrapper(body, function)
    return Call(body, label(function), inputs, outputs=output_names, arrays=arrays), results


def _zeros(program: Program) -> dict[str, np.ndarray]:
    import numpy as np

    outputs = [program.buffers[at] for at in program.outputs]
    return {one.name: np.zeros(one.shape, numpy_dtype(one.dtype)) for one in outputs}


def _dtype(name: str, array: np.ndarray, function: Callable[..., Any]) -> str:
    try:
        return dtype_name(array.dtype)
    except SimulatorError as error:
        raise KernelError(f"argument {name!r}: {error.what}", home(function)) from error


def _finished(
    name: str,
    program: Program,
    given: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    shape: Any,
) -> Launch:
    """Return what one rank's launch gave. `shape`: the kernel's result, with tensors where arrays belong."""
    if shape is None:
        for written, values in outputs.items():
            _write_back(given[written], values)
    like = next(iter(given.values()), None)
    results = iter([like_argument(outputs[program.buffers[at].name], like) for at in program.outputs])
    return Launch(name, program, arrays, outputs, _fill(shape, results))


def written_inputs(program: Program) -> tuple[int, ...]:
    """Return the inputs that some instruction writes, in the order of the arguments."""
    written = {access.buffer for core in program.cores for one in core for access in one.writes.values()}
    return tuple(index for index in program.inputs if index in written)


def as_numpy(value: Any) -> np.ndarray:
    """Return a numpy, torch or jax array as a numpy array of a type that the chip has: bool becomes uint8, bfloat16 of torch becomes
    ml_dtypes' bfloat16."""
    import numpy as np

    if kind_of(value) != "torch":
        array = np.asarray(value)
    elif str(value.dtype) == "torch.bfloat16":
        import ml_dtypes

        array = value.detach().cpu().float().numpy().astype(ml_dtypes.bfloat16)
    else:
        array = value.detach().cpu().numpy()
    return array.view(np.uint8) if array.dtype == np.bool_ else array


def like_argument(array: np.ndarray, like: Any) -> Any:
    """Return the array as the kind of array that `like` is. torch and jax have no packed types: an element is the unsigned integer that
    AWS's tutorial of MX has on the host."""
    kind = kind_of(like)
    if kind in ("torch", "jax") and array.dtype.names is not None:
        array = array.view(f"u{array.itemsize}")
    if kind == "torch":
        import torch

        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.astype("float32")).to(torch.bfloat16)
        return torch.from_numpy(array)
    if kind == "jax":
        import jax.numpy as jnp

        return jnp.asarray(array)
    return array


def kind_of(value: Any) -> str | None:
    """Return numpy, torch or jax for an array with at least one dimension, None for anything else."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return "numpy" if value.ndim else None
    package = type(value).__module__.partition(".")[0]
    if package == "torch" and hasattr(value, "detach"):
        return "torch" if value.dim() else None
    if package in ("jax", "jaxlib") and hasattr(value, "addressable_shards"):
        return "jax" if value.ndim else None
    return None


class _Held:
    """The place of an array among a kernel's arguments."""

    def __init__(self, name: str) -> None:
        self.name = name


def _held(call: inspect.BoundArguments, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call with every array replaced by its place. What `**` collects is named by its own keys."""
    collects = inspect.Parameter.VAR_KEYWORD
    return {
        name: {key: _hold(key, item, given) for key, item in value.items()}
        if call.signature.parameters[name].kind is collects
        else _hold(name, value, given)
        for name, value in call.arguments.items()
    }


def _hold(name: str, value: Any, given: dict[str, Any]) -> Any:
    """Return the argument with every array replaced by its place; scalars and 0-d arrays stay as they are. A tensor of `nki.typing`
    with a shape and a dtype is an array."""
    if isinstance(value, Annotation) and (made := value.array()) is not None:
        value = made
    if kind_of(value) is not None:
        given[name] = value
        return _Held(name)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_hold(f"{name}.{at}", item, given) for at, item in enumerate(value))
    if type(value) is dict:
        return {key: _hold(f"{name}.{key}", item, given) for key, item in value.items()}
    return value


def _release(value: Any, tensors: dict[str, Any]) -> Any:
    if isinstance(value, _Held):
        return tensors[value.name]
    if type(value) in (list, tuple):
        return type(value)(_release(item, tensors) for item in value)
    if type(value) is dict:
        return {key: _release(item, tensors) for key, item in value.items()}
    return value


def _write_back(value: Any, array: np.ndarray) -> None:
    """Put what the kernel wrote into the caller's array. Jax arrays cannot change, and are left alone."""
    kind = kind_of(value)
    if kind == "numpy":
        value[...] = array
    elif kind == "torch":
        value.copy_(like_argument(array, value))


def _fill(result: Any, values: Any) -> Any:
    """Return the structure of the kernel's result with arrays in the places of tensors."""
    if isinstance(result, NkiTensor):
        return next(values)
    if isinstance(result, (list, tuple)):
        return type(result)(_fill(item, values) for item in result)
    if isinstance(result, dict):
        return {key: _fill(item, values) for key, item in result.items()}
    return result
