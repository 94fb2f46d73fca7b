"""DMA: copies between HBM and SBUF, with conversion, addressing by index, and arithmetic on the way."""

from __future__ import annotations

import numpy as np

from simulator.dtypes import from_float32, to_float32
from simulator.operations import alu
from simulator.operations.memory import bits, is_gather
from simulator.operations.operands import Operands


def dma_copy(o: Operands) -> None:
    """dst = src through float32 where dtypes differ; with dst_rmw_op, dst = dst op src."""
    update = o.attributes.get("dst_rmw_op")
    if is_gather(o.access("src")) or is_gather(o.access("dst")):
        return _copy_by_index(o, update)
    source = o.raw("src")
    if update:
        current = o.memory.read(o.access("dst"))
        values = to_float32(source).reshape(current.shape)
        o.write("dst", alu.binary(update)(to_float32(current), values))
    else:
        write_converted(o, "dst", source)


def write_converted(o: Operands, name: str, source: np.ndarray) -> None:
    """Store elements: equal dtypes bit by bit, others through float32."""
    if o.memory.view(o.access(name)).dtype == source.dtype:
        o.write_bits(name, source)
    else:
        o.write(name, to_float32(source))


def _copy_by_index(o: Operands, update: str | None) -> None:
    """Gather or scatter. With oob_mode "skip", elements whose address is outside a buffer are not transferred."""
    source, target = o.access("src"), o.access("dst")
    (source_at, source_ok), (target_at, target_ok) = o.memory.indices(source), o.memory.indices(target)
    if source_at.size != target_at.size:
        o.refuse(f"src has {list(source.shape)} elements, dst {list(target.shape)}")
    ok = source_ok.ravel() & target_ok.ravel()
    if not ok.all() and o.attributes.get("oob_mode", "error") != "skip":
        at, valid, name = (source_at, source_ok, "src") if not source_ok.all() else (target_at, target_ok, "dst")
        o.refuse(f"{name} index reaches element {int(at[~valid].flat[0])}, outside its buffer")
    source_at, target_at = source_at.ravel()[ok], target_at.ravel()[ok]
    elements = bits(o.memory.flat(source))[source_at].view(o.memory.flat(source).dtype)
    if update:
        current = to_float32(o.memory.flat(target)[target_at])
        elements = from_float32(alu.binary(update)(current, to_float32(elements)), target.dtype)
    elif source.dtype != target.dtype:
        elements = from_float32(to_float32(elements), target.dtype)
    o.memory.scatter(target, target_at, elements)


OPERATIONS = {"dma_copy": dma_copy}
