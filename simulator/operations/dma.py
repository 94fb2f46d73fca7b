"""DMA: copies between HBM and SBUF, with conversion, addressing by index, and arithmetic on the way."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from neff_bench.simulator.dtypes import convert, from_float32, to_float32
from neff_bench.simulator.machine import alu
from neff_bench.simulator.machine.addressing import bits, is_gather
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.program import Access

_PERMUTATIONS = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}


def dma_copy(o: Operands) -> None:
    """dst = src through float32 where dtypes differ; with dst_rmw_op, dst = dst op src."""
    update = o.attributes.get("dst_rmw_op")
    if _needs_indices(o, "src", "dst"):
        return _copy_by_index(o, update)
    source = o.raw("src")
    if update:
        current = o.memory.read(o.access("dst"))
        values = to_float32(source).reshape(current.shape)
        o.write("dst", alu.binary(update)(to_float32(current), values))
    else:
        write_converted(o, source)


def write_converted(o: Operands, source: np.ndarray) -> None:
    """Store elements of src in dst: equal dtypes bit by bit, others through float32."""
    target = o.dtype("dst")
    o.write_bits("dst", source if target == o.dtype("src") else convert(source, target))


def dma_transpose(o: Operands) -> None:
    """dst = src with its dimensions permuted; `axes` or the documented permutation of its rank."""
    source = o.access("src")
    axes = o.attributes.get("axes") or _PERMUTATIONS.get(len(source.shape))
    if axes is None or sorted(axes) != list(range(len(source.shape))):
        o.refuse(f"axes {axes} do not permute src {list(source.shape)}")
    if _needs_indices(o, "src", "dst"):
        return _copy_by_index(o, None, tuple(axes))
    write_converted(o, o.raw("src").transpose(axes))


def dma_compute(o: Operands) -> None:
    """dst = the sum of the scaled sources, in float32."""
    op = o.attributes["reduce_op"]
    names = sorted((name for name in o.instruction.reads if name.startswith("src")), key=lambda name: int(name[3:]))
    scales = o.attributes.get("scales") or [1.0] * len(names)
    if len(scales) != len(names) or not names:
        o.refuse(f"{len(names)} sources with {len(scales)} scales")
    sizes = {math.prod(o.shape(name)) for name in (*names, "dst")}
    if len(sizes) > 1:
        o.refuse(f"operands have different numbers of elements: {sorted(sizes)}")
    if _needs_indices(o, *names, "dst"):
        return _compute_by_index(o, op, dict(zip(names, scales, strict=True)))
    values = [
        o.float32(name).reshape(o.shape("dst")) * np.float32(scale) for name, scale in zip(names, scales, strict=True)
    ]
    o.write("dst", reduce(alu.binary(op), values))


def _compute_by_index(o: Operands, op: str, scales: dict[str, float]) -> None:
    """Where rows have their own addresses. With oob_mode "skip", elements with an address outside are left out."""
    target = o.access("dst")
    places = [o.memory.indices(access) for access in (*map(o.access, scales), target)]
    ok = np.all([valid.ravel() for _, valid in places], axis=0)
    if not ok.all() and o.attributes.get("oob_mode", "error") != "skip":
        o.refuse("an index reaches outside its buffer")
    *sources_at, target_at = (at.ravel()[ok] for at, _ in places)
    _check_distinct(o, target, target_at)
    values = [
        to_float32(o.memory.flat(o.access(name))[at]) * np.float32(scale)
        for (name, scale), at in zip(scales.items(), sources_at, strict=True)
    ]
    o.memory.scatter(target, target_at, from_float32(reduce(alu.binary(op), values), target.dtype))


def _needs_indices(o: Operands, *names: str) -> bool:
    """Whether rows have their own addresses, or an address that turns out to be outside is to be skipped."""
    skip = o.attributes.get("oob_mode") == "skip"
    return any(is_gather(access) or (skip and bool(access.dynamic)) for access in map(o.access, names))


def _copy_by_index(o: Operands, update: str | None, axes: tuple[int, ...] | None = None) -> None:
    """Gather or scatter. With oob_mode "skip", elements whose address is outside a buffer are not transferred."""
    source, target = o.access("src"), o.access("dst")
    (source_at, source_ok), (target_at, target_ok) = o.memory.indices(source), o.memory.indices(target)
    if source_at.size != target_at.size:
        o.refuse(f"src has {list(source.shape)} elements, dst {list(target.shape)}")
    if axes is not None:
        source_at, source_ok = source_at.transpose(axes), source_ok.transpose(axes)
    ok = source_ok.ravel() & target_ok.ravel()
    if not ok.all() and o.attributes.get("oob_mode", "error") != "skip":
        at, valid, name = (source_at, source_ok, "src") if not source_ok.all() else (target_at, target_ok, "dst")
        o.refuse(f"{name} index reaches element {int(at[~valid].flat[0])}, outside its buffer")
    source_at, target_at = source_at.ravel()[ok], target_at.ravel()[ok]
    elements = bits(o.memory.flat(source))[source_at].view(o.memory.flat(source).dtype)
    if update:
        _check_distinct(o, target, target_at)
        current = to_float32(o.memory.flat(target)[target_at])
        elements = from_float32(alu.binary(update)(current, to_float32(elements)), target.dtype)
    elif source.dtype != target.dtype:
        elements = convert(elements, target.dtype)
    o.memory.scatter(target, target_at, elements)


def _check_distinct(o: Operands, target: Access, flat: np.ndarray) -> None:
    """Updates of one element by several rows have no documented order."""
    if is_gather(target) and len(np.unique(flat)) < len(flat):
        o.refuse("the indices of dst repeat; the order of the updates is undefined")


OPERATIONS = {"dma_copy": dma_copy, "dma_transpose": dma_transpose, "dma_compute": dma_compute}
