"""Records operations under a mask: one for each box in which the mask holds, each on the parts of its operands there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.beta.mask import Box, boxes, whole
from neff_bench.simulator.nki.beta.results import Made, take_over
from neff_bench.simulator.nki.beta.tile import Tile, result
from neff_bench.simulator.nki.beta.views import write
from neff_bench.simulator.recording.recorder import recorder

Operands = dict[str, Any]


def part(value: Any, box: Box, shape: tuple[int, ...]) -> Any:
    """Return what an operand of a tile of `shape` holds in `box`. Numbers, and dimensions of size one, are broadcast."""
    if not isinstance(value, Tile) or box == whole(shape):
        return value
    own = value.shape
    if len(own) != len(shape):
        return value.within((box[0], *whole(own)[1:])) if own[0] > 1 else value
    return value.within(tuple(at if size > 1 else (0, 1) for at, size in zip(box, own)))


def under(
    mask: Any,
    shape: tuple[int, ...],
    operands: Operands,
    compute: Callable[[Operands], Any],
    project: Callable[[Box], Box] = lambda box: box,
    dtype: Any = "float32",
) -> Tile:
    """Return the tile that `compute` makes of `operands`, whose domain is `shape`.

    `project`: where the result of a box of the domain lies in the whole result; `dtype`: of a result that no box fills.
    """
    found = boxes(mask, shape)
    if found == [whole(shape)]:
        made: Tile = result(lambda: compute(operands))
        return made
    full: Tile | None = None
    steps, only = [], [project(box) for box in found]
    for box, place in zip(found, only):
        piece: Tile = result(lambda box=box: compute({key: part(at, box, shape) for key, at in operands.items()}))
        if full is None:
            size = tuple(stop for _, stop in project(whole(shape)))
            full = Tile(nl.ndarray(size, piece.dtype, piece.buffer))
        target = full.within(place)
        if not take_over(target, piece):
            write(target.place(), piece.read())
        steps.append((recorder().written()[-1], place))
    if full is None:
        full = Tile(nl.ndarray(tuple(stop for _, stop in project(whole(shape))), dtype))
    full.made, full.only = Made(steps), only
    return full


def each(mask: Any, shape: tuple[int, ...], operands: Operands, act: Callable[[Operands], Any]) -> None:
    """Do `act`, which returns nothing, for each box."""
    for box in boxes(mask, shape):
        act({key: part(value, box, shape) for key, value in operands.items()})


def filled(shape: tuple[int, ...], place: Box, compute: Callable[[], Any]) -> Tile:
    """Return a tile of `shape` of which `compute` makes the part `place`."""
    piece: Tile = result(compute)
    full = Tile(nl.ndarray(shape, piece.dtype, piece.buffer), only=[place])
    target = full.within(place)
    if not take_over(target, piece):
        write(target.place(), piece.read())
    full.made = Made([(recorder().written()[-1], place)])
    return full
