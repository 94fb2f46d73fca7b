"""Puts results in their place: `x[...] = f(y)` is one instruction that writes `x`.

An instruction of this dialect returns a new tile. When the kernel assigns that tile at once, the instruction is made to
write the place it is assigned to, as AWS's compiler does. When the kernel reads the tile later after all, the
instruction gets its own tile back, and a copy follows it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Protocol

import msgspec

from neff_bench.simulator.nki import isa
from neff_bench.simulator.nki.beta import psum
from neff_bench.simulator.nki.beta.mask import Box, whole
from neff_bench.simulator.program import Access, Instruction
from neff_bench.simulator.recording.recorder import recorder
from neff_bench.simulator.recording.tensor import NkiTensor, access

_TRANSFERS = frozenset({"dma_copy", "dma_transpose"})
_SAME_DTYPE = frozenset({"nc_matmul", "nc_transpose", "nc_stream_shuffle", "dma_transpose", "local_gather"})
_SBUF_ONLY = frozenset({"iota", "affine_select", "local_gather", "tensor_partition_reduce"})


class Made:
    """Holds what wrote a new tile: instructions, each with the box that it wrote. `moved`: what took their places."""

    __slots__ = ("moved", "repair", "steps")

    def __init__(self, steps: list[tuple[Instruction, Box]]) -> None:
        self.steps = steps
        self.moved: list[Instruction] | None = None
        self.repair: Callable[[NkiTensor], None] | None = None

    def is_last(self) -> bool:
        """Return whether nothing was recorded since."""
        steps = [step for step, _ in self.steps]
        tail = recorder().written()[-len(steps) :] if steps else []
        return len(tail) == len(steps) and all(one is other for one, other in zip(tail, steps))

    def restore(self, view: NkiTensor) -> None:
        """Give the instructions their own tile back and put what the assignment means behind them."""
        written = recorder().written()
        moved, self.moved = self.moved or [], None
        at = len(written)
        for (step, _), replaced in zip(reversed(self.steps), reversed(moved)):
            at = max(place for place in range(at) if written[place] is replaced)
            written[at] = step
        end = at + len(self.steps)
        tail = written[end:]
        del written[end:]
        if self.repair is not None:
            self.repair(view)
        written.extend(tail)


class Assigned(Protocol):
    """A tile of a kernel, as far as an assignment needs it."""

    made: Made | None

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""

    @property
    def buffer(self) -> Any:
        """Where it lies."""

    def own(self) -> NkiTensor:
        """Return the place of its own that it was made in."""

    def place(self) -> NkiTensor:
        """Return the place that it names."""

    def within(self, box: Box) -> Assigned:
        """Return a part of it."""


def born(view: NkiTensor, since: int) -> Made | None:
    """Return how a new tile was made by what was recorded since instruction `since`: None unless by the last one alone."""
    steps = recorder().written()
    if len(steps) == since:
        return None
    index = view.storage.index
    writers = [step for step in steps[since:] for to in step.writes.values() if to.buffer == index]
    if len(writers) != 1 or writers[0] is not steps[-1] or prod(view.shape) != view.storage.size:
        return None
    return Made([(writers[0], whole(view.shape))])


def take_over(target: Assigned, value: Assigned) -> bool:
    """Make what computed `value` write `target` instead. False when that is not the same, or not possible."""
    made = value.made
    if made is None or not made.is_last():
        return False
    places = _places(target, value, made)
    if places is None:
        return False
    source = value.own()
    moved = []
    for (step, _), place in zip(made.steps, places):
        if not _fits(step, source, place):
            return False
        moved.append(_aimed(step, source.storage.index, place))
    _replace(made, moved)
    made.repair = lambda view: copy_boxes(places, [_part(view, box) for _, box in made.steps])
    for place in places:
        psum.wrote(place)
    return True


def accumulate(target: Assigned, value: Assigned) -> bool:
    """Do `psum += product`: the PE adds to what its earlier products left, and overwrites where there are none."""
    made = value.made
    if made is None or not made.steps or not made.is_last() or target.buffer.memory != "psum":
        return False
    if any(step.op != "nc_matmul" or step.attributes.get("is_transpose") for step, _ in made.steps):
        return False
    places = _places(target, value, made)
    source = value.own()
    if places is None or any(place.dtype != source.dtype for place in places):
        return False
    moved = []
    for (step, _), place in zip(made.steps, places):
        flag = psum.accumulates(place)
        attributes = {key: part for key, part in step.attributes.items() if key != "accumulate"}
        if flag is not None:
            attributes["accumulate"] = flag
        moved.append(msgspec.structs.replace(_aimed(step, source.storage.index, place), attributes=attributes))
    _replace(made, moved)

    def repair(view: NkiTensor) -> None:
        for place, step, (_, box) in zip(places, moved, made.steps):
            if step.attributes.get("accumulate"):
                isa.tensor_tensor(place, place, _part(view, box), "add")
            else:
                isa.tensor_copy(place, _part(view, box))

    made.repair = repair
    return True


def _places(target: Assigned, value: Assigned, made: Made) -> list[NkiTensor] | None:
    """Return the part of `target` for each step. None where shapes do not tell which."""
    full = whole(value.shape)
    if all(box == full for _, box in made.steps) and target.shape != value.shape:
        place = target.place()
        same = place.shape[0] == value.shape[0] and place.size == prod(value.shape)
        return [place] * len(made.steps) if same else None
    if target.shape != value.shape:
        return None
    return [target.within(box).place() for _, box in made.steps]


def _replace(made: Made, moved: list[Instruction]) -> None:
    if moved:
        recorder().written()[-len(moved) :] = moved
    made.moved = moved


def _aimed(step: Instruction, index: int, place: NkiTensor) -> Instruction:
    """Return the instruction with `place` instead of what it wrote in tensor `index`."""
    writes = {key: access(place) if to.buffer == index else to for key, to in step.writes.items()}
    return msgspec.structs.replace(step, writes=writes)


def _fits(step: Instruction, source: NkiTensor, place: NkiTensor) -> bool:
    """Return whether the instruction can write there: memory, dtype, and no operand that it would overwrite while reading."""
    memory = place.storage.memory
    if (
        memory == "hbm"
        or (step.engine == "gpsimd" and memory == "psum")
        or (step.op in _SBUF_ONLY and memory != "sbuf")
    ):
        return False
    if (step.op in _TRANSFERS and memory != "sbuf") or (step.engine == "tensor" and memory != "psum"):
        return False
    if place.dtype != source.dtype and (source.dtype != "float32" or step.op in _SAME_DTYPE):
        return False
    return not any(_collides(read, place) for read in step.reads.values())


def _collides(read: Access, place: NkiTensor) -> bool:
    """Return whether an operand shares elements with the place, other than by being it."""
    if read.buffer != place.storage.index:
        return False
    to = access(place)
    if (read.offset, read.pattern) == (to.offset, to.pattern):
        return False
    ours, theirs = (_rectangle(one, place.storage.free) for one in (read, to))
    return all(first < stop and start < last for (first, last), (start, stop) in zip(ours, theirs))


def _rectangle(one: Access, free: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return partitions and elements inside them that an access can touch."""
    row, column = divmod(one.offset, free)
    rows = one.pattern[0][0] * (one.pattern[0][1] - 1) // free
    columns = sum(step * (size - 1) for step, size in one.pattern[1:])
    return (row, row + rows + 1), (column, column + columns + 1)


def _part(view: NkiTensor, box: Box) -> NkiTensor:
    for dim, (first, stop) in enumerate(box):
        if (first, stop) != (0, view.shape[dim]):
            view = view.slice(dim, first, stop)
    return view


def copy_boxes(places: list[NkiTensor], parts: list[NkiTensor]) -> None:
    """Record a copy of each part to its place."""
    for place, part in zip(places, parts):
        isa.tensor_copy(place, part)


def state() -> dict[str, Any]:
    """Return what this dialect keeps during one recording."""
    return recorder().dialect
