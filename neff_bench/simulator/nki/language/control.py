"""Provides loops, slices with a start, and the launch grid. Loops are unrolled: the recorder runs them as Python does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import index as as_int
from typing import Any

from neff_bench.simulator.nki import isa
from neff_bench.simulator.recording.indexing import DynamicSlice
from neff_bench.simulator.recording.recorder import invalid, is_recording, recorder
from neff_bench.simulator.recording.register import VirtualRegister

affine_range = range
sequential_range = range
static_range = range
ds = DynamicSlice


def dynamic_range(start: Any, stop: Any = None, step: int = 1) -> range:
    """Return a loop that is unrolled as often as its bounds say. A register as bound needs the kernel's data, unless it holds a
    constant; raises NotModelledError without them."""
    first, last = (0, start) if stop is None else (start, stop)
    return range(_bound(first), _bound(last), step)


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any], None], step: int = 1) -> None:
    """Run `body_fun(index)` for `lower`, `lower + step` ... below `upper`; the loop is unrolled. `index` is a register
    where a bound is one, else a number."""
    in_register = isinstance(lower, VirtualRegister) or isinstance(upper, VirtualRegister)
    for at in dynamic_range(lower, upper, step):
        body_fun(isa.register_alloc(at) if in_register else at)


def while_loop(init: Any, body_fun: Callable[[Any], Any]) -> None:
    """Repeat `condition = body_fun(condition)`, from `init`, for as long as the condition is not zero; the loop is unrolled."""
    condition = init
    while _bound(condition):
        condition = body_fun(condition)


def _bound(value: Any) -> int:
    """Return a number, or what a register holds."""
    if isinstance(value, VirtualRegister):
        return value.value()
    try:
        return as_int(value)
    except TypeError:
        raise invalid(f"a loop is bounded by numbers and registers, not by {value!r}") from None


@contextmanager
def no_reorder() -> Iterator[None]:
    """Accept the request: program order is kept anyway."""
    yield


def program_id(axis: int = 0) -> Any:
    """Return the number of this physical core on axis 0, else 0; None outside a kernel."""
    if not is_recording():
        return None
    return recorder().core if axis == 0 else 0


def num_programs(axes: Any = 0) -> Any:
    """Return the physical cores of the launch on axis 0 (or on all axes), else 1; None outside a kernel."""
    if not is_recording():
        return None
    return recorder().lnc if axes in (0, None) or axes == (0,) else 1


def program_ndim() -> Any:
    """Return 1 when the kernel was launched on a grid of more than one core, else 0; None outside a kernel, as from AWS's, which callers rely on."""
    if not is_recording():
        return None
    return 1 if recorder().lnc > 1 else 0
