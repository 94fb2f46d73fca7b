"""Implements DMA: copies between HBM and SBUF, with conversion, addressing by index, and arithmetic on the way (AWS docs,
nki.isa.dma_copy, dma_transpose, dma_compute).
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from neff_bench.simulator.costs.triggers import by_dma
from neff_bench.simulator.machine import alu
from neff_bench.simulator.machine.addressing import bits, is_gather
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.numpy_dtypes import SIZE_BYTES, convert, from_float32, to_float32
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.program import Access
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import dge_mode as dge_enum
from neff_bench.simulator.recording.enums import engine as engine_enum
from neff_bench.simulator.recording.enums import oob_mode as oob_enum
from neff_bench.simulator.recording.enums import word
from neff_bench.simulator.recording.operator_names import op_name
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid
from neff_bench.simulator.recording.tensor import NkiTensor

_PERMUTATIONS = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
_UNKNOWN_DGE = dge_enum.unknown
_UNKNOWN = engine_enum.unknown
_ERROR = oob_enum.error
_TRANSPOSES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
_QUEUE_ENGINES = ("sync", "scalar", "gpsimd", "vector", "tensor")


def _dma_copy(o: Operands) -> None:
    """Copy src to dst, through float32 where dtypes differ; with dst_rmw_op, dst becomes dst op src."""
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


@operation(execute=_dma_copy, cost=by_dma, opcode="DMA_DIRECT2D")
def dma_copy(
    dst: NkiTensor,
    src: NkiTensor,
    priority: int | None = None,
    oob_mode: Any = _ERROR,
    dge_mode: Any = _UNKNOWN_DGE,
    engine: Any = _UNKNOWN,
    name: str | None = None,
) -> NkiInstruction:
    """Compute `dst` = `src`, element by element in row-major order of the two patterns; HBM or SBUF on both sides, and `src` in PSUM too, which
    NKI 0.3 and later refuse (a rule of `check`)."""
    check.tensor("dma_copy", "src", src)
    _check_memory("dma_copy", dst=dst)
    if dst.shape != src.shape and dst.size != src.size:
        raise invalid(f"dma_copy: {src.size} elements into {dst.size}: {src!r} to {dst!r}")
    attributes: dict[str, Any] = {}
    queue = _queue("dma_copy", dst, src, priority, oob_mode, dge_mode, engine, attributes)
    return emit("dma_copy", queue, {"dst": dst}, {"src": src}, attributes)


def _dma_transpose(o: Operands) -> None:
    """Copy src to dst with its dimensions permuted by `axes`, or by the documented permutation for its number of dimensions."""
    source = o.access("src")
    axes = o.attributes.get("axes") or _PERMUTATIONS.get(len(source.shape))
    if axes is None or sorted(axes) != list(range(len(source.shape))):
        o.refuse(f"axes {axes} do not permute src {list(source.shape)}")
    if _needs_indices(o, "src", "dst"):
        return _copy_by_index(o, None, tuple(axes))
    # Rows of a large source are far apart, and elements of a column meet in few lines of the cache: the rows are gathered first.
    write_converted(o, np.ascontiguousarray(o.raw("src")).transpose(axes))


@operation(execute=_dma_transpose, cost=by_dma, opcode="DMA_TRANSPOSE2D")
def dma_transpose(
    dst: NkiTensor,
    src: NkiTensor,
    axes: Any = None,
    priority: int | None = None,
    dge_mode: Any = _UNKNOWN_DGE,
    oob_mode: Any = _ERROR,
    name: str | None = None,
) -> NkiInstruction:
    """Compute `dst` = `src` with dimensions permuted: (1, 0), (2, 1, 0) or (3, 1, 2, 0). `axes` is recorded as a list."""
    _check_memory("dma_transpose", dst=dst, src=src)
    order = _TRANSPOSES.get(len(src.shape)) if axes is None else tuple(int(axis) % len(src.shape) for axis in axes)
    if order is None or order != _TRANSPOSES.get(len(src.shape)):
        raise invalid(f"dma_transpose: axes {axes} of {src!r}; supported: (1, 0), (2, 1, 0), (3, 1, 2, 0)")
    if dst.size != src.size:
        raise invalid(f"dma_transpose: {src.size} elements into {dst.size}: {src!r} to {dst!r}")
    if SIZE_BYTES[dst.dtype] != SIZE_BYTES[src.dtype]:
        raise invalid(f"dma_transpose: dst must have the dtype of src: {src!r} to {dst!r}")
    attributes: dict[str, Any] = {"axes": list(order)}
    queue = _queue("dma_transpose", dst, src, priority, oob_mode, dge_mode, _UNKNOWN, attributes)
    return emit("dma_transpose", queue, {"dst": dst}, {"src": src}, attributes)


def _dma_compute(o: Operands) -> None:
    """Write the sum of the scaled sources to dst, made in float32."""
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


@operation(execute=_dma_compute, cost=by_dma, opcode="DMA_COMPUTE")
def dma_compute(
    dst: NkiTensor,
    srcs: list[NkiTensor],
    reduce_op: Any = None,
    scales: Any = None,
    unique_indices: bool = True,
    oob_mode: Any = _ERROR,
    name: str | None = None,
) -> NkiInstruction:
    """Compute `dst` = sum of `srcs`, in float32 inside the DMA engines. Sources are recorded as src0, src1, ...

    Before dialect 0.3, `scales` came before `reduce_op`; a list in the place of the operator tells the two apart.
    """
    if isinstance(reduce_op, (list, tuple)):
        reduce_op, scales = scales, reduce_op
    if op_name(reduce_op) != "add":
        raise invalid(f"dma_compute: reduce_op must be add, not {op_name(reduce_op)}")
    if not 1 <= len(srcs) <= 16:
        raise invalid(f"dma_compute: 1 to 16 sources, not {len(srcs)}")
    reads = {}
    for place, src in enumerate(srcs):
        _check_memory("dma_compute", dst=dst, src=src)
        if src.size != dst.size:
            raise invalid(f"dma_compute: source {place} has {src.size} elements, dst {dst.size}: {src!r}, {dst!r}")
        reads[f"src{place}"] = src
    attributes: dict[str, Any] = {"reduce_op": "add"}
    factors = [float(check.number("dma_compute", "scales", scale)) for scale in scales or ()]
    if any(factor != 1.0 for factor in factors):
        attributes["scales"] = factors
    queue = "sync"
    for src in srcs:
        if _queue("dma_compute", dst, src, None, oob_mode, _UNKNOWN_DGE, _UNKNOWN, attributes) != "sync":
            queue = "gpsimd"
    return emit("dma_compute", queue, {"dst": dst}, reads, attributes)  # type: ignore[arg-type]


def write_converted(o: Operands, source: np.ndarray) -> None:
    """Store elements of src in dst: equal dtypes bit by bit, others through float32."""
    target = o.dtype("dst")
    o.write_bits("dst", source if target == o.dtype("src") else convert(source, target))


def _compute_by_index(o: Operands, op: str, scales: dict[str, float]) -> None:
    """Sum the sources where rows have addresses of their own. With oob_mode "skip", elements with an address outside are left out."""
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
    """Return whether rows have their own addresses, or an address that turns out to be outside is to be skipped."""
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
    """Refuse several rows that update one element: their order is not documented."""
    if is_gather(target) and len(np.unique(flat)) < len(flat):
        o.refuse("the indices of dst repeat; the order of the updates is undefined")


def _check_memory(op: str, **operands: NkiTensor) -> None:
    for key, value in operands.items():
        if type(value) is not NkiTensor:
            check.tensor(op, key, value)
        if value.storage.memory == "psum":
            raise invalid(f"{op}: {key} must be in HBM or SBUF; {value!r} is in PSUM")


def _queue(
    op: str,
    dst: NkiTensor,
    src: NkiTensor,
    priority: Any,
    oob_mode: Any,
    dge_mode: Any,
    engine: Any,
    attributes: dict[str, Any],
) -> Any:
    """Return the engine whose queue issues the transfer: SP unless the kernel says otherwise, which is an attribute too, GpSimd for software DGE."""
    queue = "sync"
    if dst.dynamic or src.dynamic:
        rows = [len(part.index.pattern) and part.index.shape for part in (*dst.dynamic, *src.dynamic)]
        if any(shape and shape[0] > 1 for shape in rows):
            queue = "gpsimd"  # only the software DGE gathers and scatters rows
    if dge_mode is not _UNKNOWN_DGE:
        mode = word(dge_enum, dge_mode)
        if mode == "swdge":
            queue = "gpsimd"
        if mode != "unknown":
            attributes["dge_mode"] = mode
    if engine is not _UNKNOWN:
        queue = check.chosen_engine(op, engine, _QUEUE_ENGINES, queue)
        if word(engine_enum, engine) != "unknown":
            attributes["engine"] = queue
    if oob_mode is not _ERROR and word(oob_enum, oob_mode) != "error":
        attributes["oob_mode"] = word(oob_enum, oob_mode)
    if priority is not None:
        attributes["priority"] = int(priority)
    return queue
