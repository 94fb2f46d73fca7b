"""Provides instructions of the older dialect that move data: by DMA, between partitions, between cores."""

from __future__ import annotations

from typing import Any

import msgspec

from neff_bench.simulator.nki import isa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.beta import masked, psum
from neff_bench.simulator.nki.beta.arguments import destination, named_operands, reduction, tile_operand, views_of
from neff_bench.simulator.nki.beta.tile import Tile, result
from neff_bench.simulator.recording.operator_names import op_name
from neff_bench.simulator.recording.recorder import invalid, not_modelled, recorder
from neff_bench.simulator.recording.tensor import NkiTensor


def dma_copy(*, dst: Tile, src: Any, mask: Any = None, dst_rmw_op: Any = None, **options: Any) -> None:
    """Compute `dst` = `src` by DMA, or `dst` = `dst` op `src` with `dst_rmw_op`, which is add."""
    if dst_rmw_op is not None and op_name(reduction(dst_rmw_op)) != "add":
        raise invalid(f"dma_copy: dst_rmw_op must be add, not {op_name(dst_rmw_op)}")
    given = named_operands((), (), options)

    def transfer(parts: dict[str, Any]) -> None:
        isa.dma_copy(parts["dst"].place(), parts["src"].read(), **given)
        if dst_rmw_op is not None:
            steps = recorder().written()
            attributes, reads = steps[-1].attributes, steps[-1].reads
            steps[-1] = msgspec.structs.replace(
                steps[-1],
                attributes={**attributes, "dst_rmw_op": "add"},
                reads={**reads, "dst": steps[-1].writes["dst"]},
            )

    operands = {"dst": dst, "src": src}
    tile_operand(operands, "src", "dma_copy")
    masked.each(mask, tile_operand(operands, "dst", "dma_copy").shape, operands, transfer)


def dma_transpose(src: Tile, *, axes: Any = None, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """Return a new tile with the dimensions of `src` permuted, by DMA."""
    if mask is not None:
        raise not_modelled("dma_transpose with a mask")
    given = views_of(named_operands((), (), options))
    order = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}.get(src.ndim, ()) if axes is None else tuple(axes)

    def compute() -> NkiTensor:
        view = src.read()
        made = destination(given, tuple(view.shape[at] for at in order), view.dtype if dtype is None else dtype)
        isa.dma_transpose(made, view, axes=order, **given)
        return made

    return result(compute)


def nc_stream_shuffle(src: Tile, dst: Tile, shuffle_mask: Any, *, mask: Any = None, dtype: Any = None) -> None:
    """Partition i of each 32 of `dst` = partition shuffle_mask[i] of `src`."""
    if mask is not None:
        raise not_modelled("nc_stream_shuffle with a mask")
    isa.nc_stream_shuffle(dst.place(), src.read(), shuffle_mask)


def sendrecv(*, src: Tile, dst: Tile, **options: Any) -> None:
    """Send `src` to the other core and receive its tile into `dst`."""
    isa.sendrecv(src.read(), dst.place(), **options)


def core_barrier(data: Any, cores: Any, **options: Any) -> None:
    """Wait until every core of `cores` is here."""
    isa.core_barrier(data.share() if isinstance(data, Tile) else data, cores, **options)


def atomic_rmw(dst: Tile, value: Any, op: Any, *, mask: Any = None) -> None:
    """Compute `dst` = `dst` op `value` in HBM, for rows that a tile of indices names."""
    dma_copy(dst=dst, src=value, dst_rmw_op=op, mask=mask)


def tensor_copy_dynamic_src(src: Tile, *, mask: Any = None, dtype: Any = None, engine: Any = None) -> Tile:
    """Return a copy of what `src`, which a tile of one element indexes, holds at run time."""
    if mask is not None:
        raise not_modelled("tensor_copy_dynamic_src with a mask")
    return result(lambda: _copied(src.read(), dtype, engine))


def tensor_copy_dynamic_dst(*, dst: Tile, src: Tile, mask: Any = None, dtype: Any = None, engine: Any = None) -> None:
    """Copy `src` to where `dst`, which a tile of one element indexes, is at run time."""
    if mask is not None:
        raise not_modelled("tensor_copy_dynamic_dst with a mask")
    isa.tensor_copy(dst.place(), src.read(), **({} if engine is None else {"engine": engine}))


def _copied(view: NkiTensor, dtype: Any, engine: Any) -> NkiTensor:
    made = destination({}, view.shape, view.dtype if dtype is None else dtype)
    isa.tensor_copy(made, view, **({} if engine is None else {"engine": engine}))
    return made


def in_sbuf(view: NkiTensor) -> NkiTensor:
    """Return the view for an engine that reads SBUF only: a copy of what lies in PSUM."""
    if view.storage.memory == "sbuf":
        return view
    made = nl.ndarray(view.shape, view.dtype)
    isa.tensor_copy(made, view)
    return made


def engine_operand(tile: Tile) -> NkiTensor:
    """Return the view for the Tensor Engine, which reads SBUF: a product or transposition that no tile was given for is copied."""
    view = tile.read()
    return view if psum.was_asked(view) else in_sbuf(view)
