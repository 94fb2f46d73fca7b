"""Loops, slices with a start, and the launch grid. Loops are unrolled: the recorder runs them as Python does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from neff_bench.simulator.recording.indexing import DynamicSlice
from neff_bench.simulator.recording.recorder import not_modelled, recorder
from neff_bench.simulator.recording.tensor import VirtualRegister

affine_range = range
sequential_range = range
static_range = range
ds = DynamicSlice


def dynamic_range(start: Any, stop: Any = None, step: int = 1) -> range:
    """A loop with bounds known while recording. Raises NotModelledError for a register as bound."""
    if isinstance(start, VirtualRegister) or isinstance(stop, VirtualRegister):
        raise not_modelled("a loop whose bound is a register")
    return range(start) if stop is None else range(start, stop, step)


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any], None], step: int = 1) -> None:
    """Run `body_fun(index)` for `lower`, `lower + step` ... below `upper`: the loop is unrolled."""
    for at in dynamic_range(lower, upper, step):
        body_fun(at)


def while_loop(init: Any, body_fun: Callable[[Any], Any]) -> None:
    """Refused: its condition is known at run time only."""
    raise not_modelled("while_loop: its condition is known at run time only")


@contextmanager
def no_reorder() -> Iterator[None]:
    """Program order is kept anyway."""
    yield


def program_id(axis: int = 0) -> int:
    """The number of this physical core on axis 0, else 0."""
    return recorder().core if axis == 0 else 0


def num_programs(axes: Any = 0) -> int:
    """Physical cores of the launch on axis 0 (or on all axes), else 1."""
    return recorder().lnc if axes in (0, None) or axes == (0,) else 1


def program_ndim() -> int:
    """1 when the kernel was launched on a grid of more than one core, else 0."""
    return 1 if recorder().lnc > 1 else 0
