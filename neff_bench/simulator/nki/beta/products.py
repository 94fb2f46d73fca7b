"""Says what the Tensor Engine does in the old dialect: products and transpositions, and transpositions on Vector (AWS docs,
nki.isa.nc_matmul and nki.isa.nc_transpose, SDK 2.26)."""

from __future__ import annotations

from math import prod
from typing import Any

from neff_bench.simulator.nki import isa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.beta import masked
from neff_bench.simulator.nki.beta.arguments import named_operands, views_of
from neff_bench.simulator.nki.beta.mask import Mask, boxes, whole
from neff_bench.simulator.nki.beta.tile import Tile, result
from neff_bench.simulator.nki.beta.transfers import engine_operand
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import matmul_perf_mode, word
from neff_bench.simulator.recording.recorder import invalid, not_modelled
from neff_bench.simulator.recording.tensor import NkiTensor

_SQUARE = 32
"""Rows and columns that one instruction of Vector transposes (AWS docs, nki.isa.nc_transpose)."""


def nc_matmul(stationary: Tile, moving: Tile, *, mask: Any = None, **options: Any) -> Tile:
    """Return `stationary`.T @ `moving` in PSUM. A mask restricts the axis of its own size: contraction, rows or columns."""
    deep = 2 if word(matmul_perf_mode, options.get("perf_mode") or "none") == "double_row" else 1
    rows, columns = prod(stationary.shape[1:]) // deep, prod(moving.shape[1:]) // deep
    given = views_of(named_operands((), (), options))

    def product(left: Tile, right: Tile) -> NkiTensor:
        first, second = engine_operand(left), engine_operand(right)
        made = nl.ndarray((check.free(first) // deep, check.free(second) // deep), "float32", nl.psum)
        isa.nc_matmul(made, first, second, accumulate=False, **given)
        return made

    if not isinstance(mask, Mask):
        if mask is None or bool(mask):
            return result(lambda: product(stationary, moving))
        return Tile(nl.ndarray((rows, columns), "float32", nl.psum), only=[])
    domain = tuple(max(sizes) for sizes in zip(*(_padded(index.shape) for index in mask.conditions)))
    if (domain[1] not in (1, columns) and domain[1] != rows) or domain[1] == rows == columns:
        raise not_modelled(f"a mask of {list(domain)} on a product of {stationary!r} and {moving!r}")
    of_moving = domain[1] == columns or domain[1] == 1
    shape = (moving.shape[0], columns if of_moving else rows)
    found = boxes(mask, shape)
    if len(found) != 1:
        if found:
            raise not_modelled("a product under a mask that is no box")
        return Tile(nl.ndarray((rows, columns), "float32", nl.psum), only=[])
    contracted, wide = found[0]
    left = _cut(stationary, contracted, None if of_moving else wide)
    right = _cut(moving, contracted, wide if of_moving else None)
    place = ((0, rows), wide) if of_moving else (wide, (0, columns))
    return masked.filled((rows, columns), place, lambda: product(left, right))


def _padded(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1,) * (2 - len(shape)) + shape


def _cut(tile: Tile, deep: tuple[int, int], wide: tuple[int, int] | None) -> Tile:
    if tile.ndim != 2 and wide is not None:
        raise not_modelled(f"a product under a mask with an operand of {tile.ndim} dimensions")
    return tile.within((deep, *(whole(tile.shape)[1:] if wide is None else (wide,))))


def nc_transpose(data: Tile, *, mask: Any = None, dtype: Any = None, engine: Any = None, **options: Any) -> Tile:
    """Return the transposed tile: in PSUM, or in SBUF where Vector computes it."""

    def compute(parts: dict[str, Any]) -> NkiTensor:
        asked = getattr(engine, "name", engine)
        on_vector = asked == "vector"
        small = max(parts["data"].shape[0], prod(parts["data"].shape[1:])) <= 32  # Vector can, and reads PSUM
        on_tensor = asked == "tensor" or not (on_vector or small)
        view = engine_operand(parts["data"]) if on_tensor else parts["data"].read()
        shape = (check.free(view), view.shape[0])
        made = nl.ndarray(shape, view.dtype if dtype is None else dtype, nl.sbuf if on_vector else nl.psum)
        given = {} if engine is None else {"engine": engine}
        if on_vector and not small:
            _transpose_squares(made, view, {**given, **options})
        else:
            isa.nc_transpose(made, view, **given, **options)
        return made

    return masked.under(mask, data.shape, {"data": data}, compute, lambda box: (box[1], box[0]), data.dtype)


def _transpose_squares(made: NkiTensor, view: NkiTensor, options: dict[str, Any]) -> None:
    """Transpose on Vector, one square after the other. AWS documents one square; its compiler takes 128 x 128, and on trn2 that is
    right and as slow as 16 of them (docs/model.md, Evidence)."""
    if view.ndim != 2 or max(view.shape) > 128:
        raise invalid(f"nc_transpose: on vector at most 128 x 128: {view!r}")
    rows, columns = view.shape
    for row in range(0, rows, _SQUARE):
        for column in range(0, columns, _SQUARE):
            across, down = (row, min(rows, row + _SQUARE)), (column, min(columns, column + _SQUARE))
            isa.nc_transpose(made.slice(0, *down).slice(1, *across), view.slice(0, *across).slice(1, *down), **options)
