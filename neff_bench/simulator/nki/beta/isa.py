"""Provides `neuronxcc.nki.isa`: instructions that return their result instead of taking a destination, and take masks."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import prod
from typing import Any

from neff_bench.simulator.nki import isa, names
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.beta import masked, psum
from neff_bench.simulator.nki.beta.arguments import (
    ORDER,
    WIDTHS,
    destination,
    named_operands,
    reduction,
    tile_operand,
    views_of,
)
from neff_bench.simulator.nki.beta.index import Index, padded, whole_numbers
from neff_bench.simulator.nki.beta.mask import Box, Mask, boxes, whole
from neff_bench.simulator.nki.beta.precision import highest
from neff_bench.simulator.nki.beta.products import nc_matmul, nc_transpose
from neff_bench.simulator.nki.beta.tile import Tile, plain, result
from neff_bench.simulator.nki.beta.transfers import (
    core_barrier,
    dma_copy,
    dma_transpose,
    in_sbuf,
    nc_stream_shuffle,
    sendrecv,
    tensor_copy_dynamic_dst,
    tensor_copy_dynamic_src,
)
from neff_bench.simulator.nki.beta.views import of_one_rank
from neff_bench.simulator.nki.language.broadcasting import operand
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.recorder import invalid, not_modelled
from neff_bench.simulator.recording.tensor import NkiTensor

__all__ = [
    "core_barrier",
    "dma_copy",
    "dma_transpose",
    "nc_matmul",
    "nc_stream_shuffle",
    "nc_transpose",
    "sendrecv",
    "tensor_copy_dynamic_dst",
    "tensor_copy_dynamic_src",
]


def _elementwise(name: str) -> Any:
    instruction, order = getattr(isa, name), ORDER[name]
    key = next(at for at in order if at in ("data", "data0", "data1", "src", "on_true_tile"))

    def returning(*args: Any, dtype: Any = None, mask: Any = None, **options: Any) -> Tile:
        operands = named_operands(order, args, options)
        first = tile_operand(operands, key, name)
        tiles = [operands[at] for at in ("data1", "data2", "operand1", key) if isinstance(operands.get(at), Tile)]
        shape = _broadcast(operands, first) if name == "tensor_tensor" else first.shape
        kind = (highest(tile.dtype for tile in tiles) if len(tiles) > 1 else first.dtype) if dtype is None else dtype

        def compute(parts: dict[str, Any]) -> NkiTensor:
            given = views_of(parts)
            if name == "tensor_tensor":
                _spread(given)
            like = max((given[at] for at in (key, "data2") if isinstance(given.get(at), NkiTensor)), key=_free)
            made = destination(given, like.shape, kind)
            instruction(made, **given)
            return made

        if name in _OF_A_ROW or "reduce_res" in operands:
            _once(mask, shape, list(range(1, len(shape))))
        return masked.under(mask, shape, operands, compute, dtype=kind)

    return returning


_OF_A_ROW = frozenset({"activation_reduce", "tensor_scalar_reduce", "tensor_tensor_scan"})
"""Instructions that take a row of the tile as one."""


def _free(view: NkiTensor) -> int:
    return prod(view.shape[1:])


def _broadcast(operands: dict[str, Any], first: Tile) -> tuple[int, ...]:
    second = operands.get("data2")
    if not isinstance(second, Tile):
        return first.shape
    if second.ndim != first.ndim:
        return second.shape if prod(first.shape[1:]) == 1 else first.shape
    return tuple(max(pair) for pair in zip(first.shape, second.shape))


def _spread(given: dict[str, Any]) -> None:
    """Give both operands of `tensor_tensor` one shape: dimensions of size one are repeated."""
    first, second = given["data1"], given.get("data2")
    if not isinstance(second, NkiTensor) or first.shape == second.shape:
        return
    first, second = of_one_rank(first, second)
    if first.ndim == second.ndim:
        shape = tuple(max(pair) for pair in zip(first.shape, second.shape))
        given["data1"], given["data2"] = operand(first, shape), operand(second, shape)


def _narrow(name: str) -> Any:
    instruction = getattr(isa, name)
    order, width = WIDTHS[name]

    def returning(*args: Any, dtype: Any = None, mask: Any = None, **options: Any) -> Tile:
        operands = named_operands(order, args, options)
        data = tile_operand(operands, order[0], name)
        kind = data.dtype if dtype is None else dtype

        def compute(parts: dict[str, Any]) -> NkiTensor:
            given = views_of(parts)
            made = destination(given, (given[order[0]].shape[0], width), kind)
            instruction(made, **given)
            return made

        _once(mask, data.shape, list(range(1, data.ndim)))
        return masked.under(mask, data.shape, operands, compute, lambda box: (box[0], (0, width)), kind)

    return returning


def tensor_reduce(
    op: Any, data: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, negate: bool = False, **options: Any
) -> Tile:
    """Return the reduction over any free axes, which the result does not have unless fewer than two would be left."""
    axes = check.free_axes("nisa.tensor_reduce", tile_operand({"data": data}, "data", "tensor_reduce"), axis)
    kept = [at for at in range(data.ndim) if at not in axes]
    drops = not options.pop("keepdims", False)
    kind = data.dtype if dtype is None else dtype

    def compute(parts: dict[str, Any]) -> NkiTensor:
        view = parts["data"].read()
        made = nl.ndarray(tuple(stop - first for first, stop in project(whole(view.shape))), kind)
        last = list(range(len(kept), view.ndim))
        isa.tensor_reduce(made, reduction(op), view.permute([*kept, *axes]), last, negate=negate, **options)
        return made

    def project(box: Box) -> Box:
        return reduced_box(box, axes, drops)

    _once(mask, data.shape, axes)
    return masked.under(mask, data.shape, {"data": data}, compute, project, kind)


def reduced_box(box: Box, axes: list[int], drops: bool) -> Box:
    """Return where the reduction of `box` lies. A tile has two dimensions at least."""
    if not drops:
        return tuple((0, 1) if at in axes else place for at, place in enumerate(box))
    left = tuple(place for at, place in enumerate(box) if at not in axes)
    return left if len(left) > 1 else (*left, (0, 1))


def _once(mask: Any, shape: tuple[int, ...], axes: list[int]) -> None:
    """Check that a reduced element lies in one box: two would have to be combined."""
    if isinstance(mask, Mask):
        kept = [tuple(place for at, place in enumerate(box) if at not in axes) for box in boxes(mask, shape)]
        if any(_overlap(one, other) for one, other in combinations(kept, 2)):
            raise not_modelled("a reduction under a mask that is no box")


def _overlap(one: Box, other: Box) -> bool:
    return all(first < last and start < stop for (first, stop), (start, last) in zip(one, other))


def tensor_partition_reduce(op: Any, data: Tile, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """Return the reduction over the partitions, [1, ...]."""

    def compute(parts: dict[str, Any]) -> NkiTensor:
        view = parts["data"].read()
        made = nl.ndarray((1, *view.shape[1:]), view.dtype if dtype is None else dtype)
        isa.tensor_partition_reduce(made, reduction(op), view, **options)
        return made

    _once(mask, data.shape, [0])
    return masked.under(mask, data.shape, {"data": data}, compute, lambda box: ((0, 1), *box[1:]), data.dtype)


def memset(shape: Any, value: Any, dtype: Any, *, mask: Any = None, **options: Any) -> Tile:
    """Return a new tile with `value` in every element."""
    sizes = tuple(map(int, shape))

    def compute(parts: dict[str, Any]) -> NkiTensor:
        made = nl.ndarray(parts["tile"].shape, dtype)
        isa.memset(made, value, **named_operands((), (), options))
        return made

    return masked.under(mask, sizes, {"tile": Tile(nl.ndarray(sizes, dtype))}, compute, dtype=dtype)


def tensor_scalar_cumulative(*, dst: Tile, src: Tile, mask: Any = None, **options: Any) -> None:
    """Compute `dst`[i] = op1(op0(`src`[i], imm0), `dst`[i - 1]) along the free dimensions."""
    if mask is not None:
        raise not_modelled("tensor_scalar_cumulative with a mask")
    isa.tensor_scalar_cumulative(dst.place(), src.read(), **views_of(named_operands((), (), options)))


def tensor_copy_predicated(*, src: Any, dst: Tile, predicate: Tile, mask: Any = None, **options: Any) -> None:
    """Compute `dst` = `src` where `predicate` holds."""
    options.pop("dtype", None)
    psum.settle(dst.own())
    psum.wrote(dst.own())
    masked.each(
        mask,
        dst.shape,
        {"dst": dst, "src": src, "predicate": predicate},
        lambda parts: isa.tensor_copy_predicated(
            parts["dst"].place(), plain(parts["src"]), parts["predicate"].read(), **named_operands((), (), options)
        ),
    )


def select_reduce(
    *, dst: Tile, predicate: Tile, on_true: Tile, on_false: Any, mask: Any = None, **options: Any
) -> None:
    """Compute `dst` = `on_true` where `predicate` holds, else `on_false`."""
    if mask is not None:
        raise not_modelled("select_reduce with a mask")
    options.pop("dtype", None)
    psum.wrote(dst.own())
    isa.select_reduce(
        dst.place(), predicate.read(), on_true.read(), plain(on_false), **views_of(named_operands((), (), options))
    )


def nc_find_index8(*, data: Tile, vals: Tile, mask: Any = None, dtype: Any = None) -> Tile:
    """Return the positions of the eight `vals` of each partition in `data`, [P, 8]."""

    def compute(parts: dict[str, Any]) -> NkiTensor:
        made = nl.ndarray((parts["data"].shape[0], 8), "uint32" if dtype is None else dtype)
        isa.nc_find_index8(made, parts["data"].read(), parts["vals"].read())
        return made

    if mask is not None:
        raise not_modelled("nc_find_index8 with a mask")
    return result(lambda: compute({"data": data, "vals": vals}))


def local_gather(
    src_buffer: Tile,
    index: Tile,
    num_elem_per_idx: int = 1,
    num_valid_indices: int | None = None,
    *,
    mask: Any = None,
) -> Tile:
    """Return the elements of `src_buffer` at the positions that each group of 16 partitions of `index` names."""
    if mask is not None:
        raise not_modelled("local_gather with a mask")

    def compute() -> NkiTensor:
        source, places = src_buffer.read(), index.read()
        valid = check.free(places) * 16 if num_valid_indices is None else int(num_valid_indices)
        made = nl.ndarray((source.shape[0], valid * num_elem_per_idx), source.dtype)
        isa.local_gather(made, source, places, num_elem_per_idx, num_valid_indices)
        return made

    return result(compute)


def sequence_bounds(*, segment_ids: Tile, dtype: Any = None) -> Tile:
    """Start and end of the segment of each element, [1, 2, N]."""

    def compute() -> NkiTensor:
        view = segment_ids.read()
        made = nl.ndarray((1, 2, check.free(view)), view.dtype if dtype is None else dtype)
        isa.sequence_bounds(made, view)
        return made

    return result(compute)


def iota(expr: Any, dtype: Any, *, mask: Any = None) -> Tile:
    """Return the values of an affine index expression. A number, such as the program's, is one of one element."""
    if not isinstance(expr, Index):
        (start,) = whole_numbers("iota: expr, where it is no index expression,", (expr,))
        expr = Index((1, 1), (0, 0), start)

    def compute() -> NkiTensor:
        made = nl.ndarray(expr.shape, dtype)
        pattern = [[step, size] for step, size in zip(expr.steps[1:], expr.shape[1:])] or [[0, 1]]
        isa.iota(made, pattern, expr.start, expr.steps[0])
        return made

    if mask is not None:
        raise not_modelled("iota with a mask")
    return result(compute)


def affine_select(pred: Mask, on_true_tile: Tile, on_false_value: Any, *, mask: Any = None, dtype: Any = None) -> Tile:
    """Return `on_true_tile` where the affine comparisons hold, one instruction for each, else `on_false_value`."""
    if not isinstance(pred, Mask):
        raise invalid("affine_select: pred must be a comparison of index expressions")
    value = float(on_false_value)
    kind = on_true_tile.dtype if dtype is None else dtype

    def compute(parts: dict[str, Any]) -> NkiTensor:
        view = in_sbuf(parts["on_true_tile"].read())
        made = nl.ndarray(view.shape, kind)
        for condition in pred.conditions:
            steps = padded(condition.steps, view.ndim)
            sizes = padded(condition.shape, view.ndim)
            steps = tuple(step if size > 1 else 0 for step, size in zip(steps, sizes))
            pattern = [[step, size] for step, size in zip(steps[1:], view.shape[1:])]
            isa.affine_select(made, pattern, steps[0], view, value, cmp_op="greater_equal", offset=condition.start)
            view = made
        return made

    if mask is not None and boxes(mask, on_true_tile.shape) not in ([], [whole(on_true_tile.shape)]):
        raise not_modelled("affine_select with a mask of a part of the tile")
    return masked.under(mask, on_true_tile.shape, {"on_true_tile": on_true_tile}, compute, dtype=kind)


@lru_cache(maxsize=256)
def __getattr__(name: str) -> Any:
    if name in ORDER:
        return _elementwise(name)
    if name in WIDTHS:
        return _narrow(name)
    found = vars(isa).get(name)
    if found is not None and (isinstance(found, type) or not callable(found) or name in ("get_nc_version",)):
        return found
    raise names.missing("neuronxcc.nki.isa", name)
