"""Provides loops, which are unrolled, and `loop_reduce`, which accumulates over them."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from operator import index as as_int
from types import FrameType
from typing import Any

from neff_bench.simulator.nki import isa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.beta.arguments import reduction
from neff_bench.simulator.nki.beta.tile import Tile, result
from neff_bench.simulator.nki.beta.views import write
from neff_bench.simulator.recording.recorder import invalid, is_recording, recorder
from neff_bench.simulator.recording.register import VirtualRegister
from neff_bench.simulator.recording.tensor import NkiTensor


class LoopIndex(int):
    """The number of an iteration. `first`: whether it is the loop's first. `loop`: which loop it counts."""

    first: bool
    loop: object


def static_range(*bounds: Any, **_: Any) -> Iterator[LoopIndex]:
    """Yield an unrolled loop. The loops that run now are known, for `loop_reduce`."""
    if any(isinstance(bound, VirtualRegister) for bound in bounds):
        raise invalid("a loop bound is a number, not a register")
    try:
        numbers = range(*map(as_int, bounds))
    except TypeError:
        raise invalid(f"a loop is bounded by one to three whole numbers, not by {list(bounds)}") from None
    running: list[LoopIndex] = recorder().dialect.setdefault("loops", []) if is_recording() else []
    depth, loop = len(running), object()
    for at, number in enumerate(numbers):
        index = LoopIndex(number)
        index.first, index.loop = at == 0, loop
        running[depth:] = [index]
        yield index
    del running[depth:]


def affine_range(*bounds: Any, **_: Any) -> Iterator[LoopIndex]:
    """Yield a loop whose body AWS's compiler sees once, for all iterations. What the body adds to a plain number of the kernel
    is therefore added once: every iteration starts with the numbers that the first one found."""
    frame = sys._getframe(1)
    found = {name: value for name, value in frame.f_locals.items() if type(value) in (int, float)}
    for index in static_range(*bounds):
        if not index.first:
            _restore(frame, found)
        yield index


sequential_range = affine_range


def _restore(frame: FrameType, numbers: dict[str, float]) -> None:
    """Give local variables of a running function their earlier values."""
    now = frame.f_locals
    changed = {name: value for name, value in numbers.items() if name in now and now[name] is not value}
    if changed:
        now.update(changed)
        if sys.version_info < (3, 13):  # later, f_locals writes through (PEP 667)
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


def loop_reduce(
    x: Tile, op: Any, loop_indices: Any, *, dtype: Any = None, mask: Any = None, name: str = "", **_: Any
) -> Tile:
    """Return the reduction of `x` over the iterations of `loop_indices`: the first one copies, the others combine.

    The accumulator belongs to this line and to the iterations of the loops that are not reduced. When the kernel
    assigns the result, the accumulator is the place that it is assigned to.
    """
    if mask is not None and not (isinstance(mask, bool) and mask):
        from neff_bench.simulator.recording.recorder import not_modelled

        raise not_modelled("loop_reduce with a mask")
    reduced = list(loop_indices) if isinstance(loop_indices, (list, tuple)) else [loop_indices]
    loops = {id(index.loop) for index in reduced if isinstance(index, LoopIndex)}
    if len(loops) != len(reduced):
        raise invalid("loop_reduce: loop_indices are the indices of loops that run now")
    now = recorder()
    around = tuple(int(index) for index in now.dialect.get("loops", ()) if id(index.loop) not in loops)
    key = ("loop_reduce", now.source(), around)
    kind = x.dtype if dtype is None else dtype
    if all(index.first for index in reduced):
        made: Tile = result(lambda: _copied(x.read(), kind))
        now.dialect[key] = made
        return made
    total: Tile = now.dialect[key]
    place = _place(total)
    isa.tensor_tensor(place, place, x.read(), reduction(op))
    return Tile(place)


def _place(total: Tile) -> NkiTensor:
    """Return where the accumulator is: its own tile, or the one that it was assigned to."""
    made = total.made
    if made is not None and made.moved:
        index = total.own().storage.index
        (step, _), moved = made.steps[0], made.moved[0]
        key = next(key for key, to in step.writes.items() if to.buffer == index)
        to = moved.writes[key]
        steps, shape = zip(*to.pattern)
        return NkiTensor(recorder().storages[to.buffer], to.offset, shape, steps, to.dtype)
    return total.read()


def _copied(view: NkiTensor, dtype: Any) -> NkiTensor:
    made = nl.ndarray(view.shape, dtype)
    write(made, view)
    return made
