"""Holds masks: conjunctions of affine comparisons. An operation with one is recorded once for each box of a tile in which all of them hold."""

from __future__ import annotations

from typing import Any, Protocol

from neff_bench.simulator.recording.recorder import invalid, not_modelled

Box = tuple[tuple[int, int], ...]
"""First and last-but-one place on each axis."""

_MOST_BOXES = 1024


class Affine(Protocol):
    """`start + sum(steps[axis] * i[axis])` over the axes of `shape`."""

    shape: tuple[int, ...]
    steps: tuple[int, ...]
    start: int

    def __getitem__(self, key: Any) -> Affine:
        """Return the mask with new axes and parts of axes."""

    def __mul__(self, factor: int) -> Any:
        """Multiply by a whole number."""


class _Joined:
    """Holds what masks of both kinds have in common: `|`."""

    __slots__ = ()

    def __or__(self, other: Any) -> Any:
        if isinstance(other, (Mask, Either)):
            return Either((self, other))
        return True if bool(other) else self

    __ror__ = __or__


class Either(_Joined):
    """Holds where any of several masks holds."""

    __slots__ = ("masks",)

    def __init__(self, masks: tuple[Any, ...]) -> None:
        self.masks = masks

    def __and__(self, other: Any) -> Any:
        if isinstance(other, (Mask, Either)):
            return Either(tuple(one & other for one in self.masks))
        return self if bool(other) else False

    __rand__ = __and__

    def __bool__(self) -> bool:
        raise invalid("a mask differs from element to element; it cannot steer Python (use | for 'or')")


class Mask(_Joined):
    """All of `conditions` are at least zero."""

    __slots__ = ("conditions",)

    def __init__(self, conditions: tuple[Affine, ...]) -> None:
        self.conditions = conditions

    def __getitem__(self, key: Any) -> Mask:
        """Return new axes and parts of axes, as of the compared indices."""
        return Mask(tuple(index[key] for index in self.conditions))

    def __iter__(self) -> Any:
        raise invalid("a mask differs from element to element; a loop cannot go through it")

    def __and__(self, other: Any) -> Any:
        if isinstance(other, Mask):
            return Mask(self.conditions + other.conditions)
        if isinstance(other, Either):
            return Either(tuple(self & one for one in other.masks))
        return self if bool(other) else False

    __rand__ = __and__

    def __invert__(self) -> Any:
        opposites = tuple(Mask((condition * -1 - 1,)) for condition in self.conditions)
        return opposites[0] if len(opposites) == 1 else Either(opposites)

    def __bool__(self) -> bool:
        raise invalid("a mask differs from element to element; it cannot steer Python (use & for 'and')")


def whole(shape: tuple[int, ...]) -> Box:
    """Return the box that covers all of a shape."""
    return tuple((0, size) for size in shape)


def boxes(mask: Any, shape: tuple[int, ...]) -> list[Box]:
    """Return where `mask` holds in a tile of `shape`: disjoint boxes, none for an operation that is not to happen."""
    if mask is None or mask is True:
        return [whole(shape)]
    if isinstance(mask, Either):
        return _any(mask, shape)
    if not isinstance(mask, Mask):
        if not isinstance(mask, int) and getattr(mask, "shape", ()) != ():
            raise invalid(f"a mask is a comparison of index expressions, not a tensor of {list(mask.shape)}")
        return [whole(shape)] if bool(mask) else []
    rank = len(shape)
    conditions = []
    for index in mask.conditions:
        sizes = (1,) * (rank - len(index.shape)) + index.shape
        if len(sizes) > rank or any(size not in (1, of) for size, of in zip(sizes, shape)):
            raise invalid(f"a mask of shape {list(index.shape)} does not go with a tile of {list(shape)}")
        steps = (0,) * (rank - len(index.steps)) + index.steps
        conditions.append((tuple(step if size > 1 else 0 for step, size in zip(steps, sizes)), index.start))
    found = _cut(whole(shape), conditions)
    return _bounded(found)


def _bounded(found: list[Box]) -> list[Box]:
    if len(found) > _MOST_BOXES:
        raise not_modelled(f"a mask of {len(found)} boxes")
    return found


def _any(mask: Either, shape: tuple[int, ...]) -> list[Box]:
    """Return the boxes of each mask without what those of the masks before it cover; one that holds everywhere is enough."""
    parts = [boxes(one, shape) for one in mask.masks]
    if [whole(shape)] in parts:
        return [whole(shape)]
    found: list[Box] = []
    for rest in parts:
        for taken in found:
            rest = [piece for box in rest for piece in _without(box, taken)]
        found = found + rest
    return _bounded(found)


def _without(box: Box, taken: Box) -> list[Box]:
    """Return what is left of `box` outside of `taken`: below and above it on each axis in turn."""
    common = tuple((max(first, start), min(stop, end)) for (first, stop), (start, end) in zip(box, taken))
    if any(first >= stop for first, stop in common):
        return [box]
    left = []
    for axis, (first, stop) in enumerate(common):
        before, after = common[:axis], box[axis + 1 :]
        sides = ((box[axis][0], first), (stop, box[axis][1]))
        left += [(*before, side, *after) for side in sides if side[0] < side[1]]
    return left


def _cut(box: Box, conditions: list[tuple[tuple[int, ...], int]]) -> list[Box]:
    """Return the parts of `box` where `start + steps . place` is at least zero for all of the conditions."""
    open_ones = []
    for steps, start in conditions:
        least, most = _range(box, steps, start)
        if most < 0:
            return []
        if least >= 0:
            continue
        axes = [axis for axis, step in enumerate(steps) if step and box[axis][1] - box[axis][0] > 1]
        if len(axes) > 1:
            open_ones.append((steps, start))
            continue
        box = _shortened(box, axes[0], steps, start)
    if not open_ones:
        return [box]
    steps = open_ones[0][0]
    axis = max((at for at in range(len(box)) if steps[at]), key=lambda at: abs(steps[at]))
    found: list[Box] = []
    for first, stop in _slabs(box, axis, open_ones[0]):
        found += _cut((*box[:axis], (first, stop), *box[axis + 1 :]), open_ones)
    return found


def _range(box: Box, steps: tuple[int, ...], start: int) -> tuple[int, int]:
    least = most = start
    for (first, stop), step in zip(box, steps):
        ends = (step * first, step * (stop - 1))
        least += min(ends)
        most += max(ends)
    return least, most


def _shortened(box: Box, axis: int, steps: tuple[int, ...], start: int) -> Box:
    """Return the interval on which a condition holds that depends on one axis alone."""
    first, stop = box[axis]
    rest = start + sum(step * place[0] for at, (step, place) in enumerate(zip(steps, box)) if at != axis)
    step = steps[axis]
    if step > 0:
        first = max(first, -(rest // step))
    else:
        stop = min(stop, rest // -step + 1)
    return (*box[:axis], (first, stop), *box[axis + 1 :])


def _slabs(box: Box, axis: int, condition: tuple[tuple[int, ...], int]) -> list[tuple[int, int]]:
    """Return `axis` cut so that the condition holds everywhere, nowhere, or a slab is one place thick."""
    slabs: list[tuple[int, int]] = []
    held = False
    for place in range(*box[axis]):
        least, _ = _range((*box[:axis], (place, place + 1), *box[axis + 1 :]), *condition)
        if least >= 0 and held:
            slabs[-1] = (slabs[-1][0], place + 1)
        else:
            slabs.append((place, place + 1))
        held = least >= 0
    return slabs
