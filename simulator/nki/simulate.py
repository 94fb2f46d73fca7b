"""`nki.simulate`: run a kernel on numpy arrays: record it, then execute the program.

As AWS's, it answers what a kernel computes, not whether its tensors fit: too many of them are a CapacityWarning here and
an error when the kernel is compiled.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any

from neff_bench.simulator.nki.jit import Kernel, body

_TARGETS = {"gen2": "trn1", "gen3": "trn2", "gen4": "trn3"}


class Simulated:
    """A kernel that takes numpy arrays (or torch tensors) and returns numpy arrays; `kernel[lnc]` sets the cores."""

    def __init__(self, function: Callable[..., Any], lnc: int = 1) -> None:
        self.function = function
        self.lnc = lnc

    def __getitem__(self, lnc: Any) -> Simulated:
        return Simulated(self.function, Kernel(self.function)[lnc].lnc)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import inspect

        from neff_bench.simulator.nki.spec import InputSpec
        from neff_bench.simulator.nki.trace import record
        from neff_bench.simulator.operations.execute import execute

        bound = inspect.signature(self.function).bind(*args, **kwargs).arguments
        arrays: dict[str, Any] = {}
        held = {name: _hold(name, value, arrays) for name, value in bound.items()}
        inputs = [InputSpec(name, array.shape, _dtype(array)) for name, array in arrays.items()]
        shape: list[Any] = []

        def launch(**tensors: Any) -> Any:
            result = self.function(**{name: _release(value, tensors) for name, value in held.items()})
            shape.append(result)
            return result

        with contextlib.redirect_stdout(sys.stderr):
            program = record(launch, self.function.__name__, inputs, {}, (), target(), self.lnc, fits=False)
        outputs = execute(program, arrays)
        values = iter([outputs[program.buffers[at].name] for at in program.outputs])
        return _fill(shape[0], values)


class _Held:
    """The place of an array among a kernel's arguments."""

    def __init__(self, name: str) -> None:
        self.name = name


def target() -> str:
    """The chip that NEURON_PLATFORM_TARGET_OVERRIDE or NKI_NC_VERSION names (trn2, gen3 ...); trn2 when neither does."""
    named = os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE") or os.environ.get("NKI_NC_VERSION") or "trn2"
    return _TARGETS.get(named.lower(), named.lower())


def simulate(kernel: Any) -> Simulated:
    """A CPU-simulated version of a kernel, decorated or plain."""
    return Simulated(body(kernel), kernel.lnc if isinstance(kernel, Kernel) else 1)


def _hold(name: str, value: Any, arrays: dict[str, Any]) -> Any:
    """The argument with every array replaced by its place; scalars and 0-d arrays stay as they are."""
    array = _array(value)
    if array is not None:
        arrays[name] = array
        return _Held(name)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_hold(f"{name}.{at}", item, arrays) for at, item in enumerate(value))
    if type(value) is dict:
        return {key: _hold(f"{name}.{key}", item, arrays) for key, item in value.items()}
    return value


def _array(value: Any) -> Any:
    import numpy as np

    if isinstance(value, np.ndarray) and value.ndim:
        return value
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach") and value.dim():
        if str(value.dtype) == "torch.bfloat16":
            import ml_dtypes

            return value.detach().float().numpy().astype(ml_dtypes.bfloat16)
        return value.detach().cpu().numpy()
    return None


def _release(value: Any, tensors: dict[str, Any]) -> Any:
    if isinstance(value, _Held):
        return tensors[value.name]
    if type(value) in (list, tuple):
        return type(value)(_release(item, tensors) for item in value)
    if type(value) is dict:
        return {key: _release(item, tensors) for key, item in value.items()}
    return value


def _fill(result: Any, values: Any) -> Any:
    """The structure of the kernel's result with arrays in the places of tensors."""
    from neff_bench.simulator.nki.tensor import NkiTensor

    if isinstance(result, NkiTensor):
        return next(values)
    if isinstance(result, (list, tuple)):
        return type(result)(_fill(item, values) for item in result)
    if isinstance(result, dict):
        return {key: _fill(item, values) for key, item in result.items()}
    return result


def _dtype(array: Any) -> str:
    from neff_bench.simulator.dtypes import dtype_name

    return "uint8" if array.dtype.kind == "b" else dtype_name(array.dtype)
