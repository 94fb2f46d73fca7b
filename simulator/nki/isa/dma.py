"""Data movement by DMA (AWS docs, nki.isa.dma_copy, dma_transpose, dma_compute)."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.dtypes import SIZE_BYTES
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import dge_mode as dge_enum
from neff_bench.simulator.recording.enums import engine as engine_enum
from neff_bench.simulator.recording.enums import oob_mode as oob_enum
from neff_bench.simulator.recording.enums import word
from neff_bench.simulator.recording.operators import op_name
from neff_bench.simulator.recording.recorder import NkiInstruction, invalid, recorder
from neff_bench.simulator.recording.tensor import NkiTensor, access

_UNKNOWN_DGE = dge_enum.unknown
_UNKNOWN = engine_enum.unknown
_ERROR = oob_enum.error
_TRANSPOSES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
_QUEUE_ENGINES = ("sync", "scalar", "gpsimd", "vector", "tensor")


def dma_copy(
    dst: NkiTensor,
    src: NkiTensor,
    priority: int | None = None,
    oob_mode: Any = _ERROR,
    dge_mode: Any = _UNKNOWN_DGE,
    engine: Any = _UNKNOWN,
    name: str | None = None,
) -> NkiInstruction:
    """`dst` = `src`, element by element in row-major order of the two patterns; HBM or SBUF on both sides."""
    now = recorder()
    _check_memory("dma_copy", dst=dst, src=src)
    if dst.shape != src.shape and dst.size != src.size:
        raise invalid(f"dma_copy: {src.size} elements into {dst.size}: {src!r} to {dst!r}")
    attributes: dict[str, Any] = {}
    queue = _queue("dma_copy", dst, src, priority, oob_mode, dge_mode, engine, attributes)
    return now.emit("dma_copy", queue, {"dst": access(dst)}, {"src": access(src)}, attributes)


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
    """The engine whose queue issues the transfer: SP unless the kernel says otherwise, GpSimd for software DGE.

    An engine that the kernel names is an attribute too: without it, the choice was ours.
    """
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


def dma_transpose(
    dst: NkiTensor,
    src: NkiTensor,
    axes: Any = None,
    priority: int | None = None,
    dge_mode: Any = _UNKNOWN_DGE,
    oob_mode: Any = _ERROR,
    name: str | None = None,
) -> NkiInstruction:
    """`dst` = `src` with dimensions permuted: (1, 0), (2, 1, 0) or (3, 1, 2, 0). `axes` is recorded as a list."""
    now = recorder()
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
    return now.emit("dma_transpose", queue, {"dst": access(dst)}, {"src": access(src)}, attributes)


def dma_compute(
    dst: NkiTensor,
    srcs: list[NkiTensor],
    reduce_op: Any = None,
    scales: Any = None,
    unique_indices: bool = True,
    oob_mode: Any = _ERROR,
    name: str | None = None,
) -> NkiInstruction:
    """`dst` = sum of `srcs`, in float32 inside the DMA engines. Sources are recorded as src0, src1, ...

    Before dialect 0.3, `scales` came before `reduce_op`; a list in the place of the operator tells the two apart.
    """
    now = recorder()
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
        reads[f"src{place}"] = access(src)
    attributes: dict[str, Any] = {"reduce_op": "add"}
    if scales is not None and any(scale != 1.0 for scale in scales):
        attributes["scales"] = [float(scale) for scale in scales]
    queue = "sync"
    for src in srcs:
        if _queue("dma_compute", dst, src, None, oob_mode, _UNKNOWN_DGE, _UNKNOWN, attributes) != "sync":
            queue = "gpsimd"
    return now.emit("dma_compute", queue, {"dst": access(dst)}, reads, attributes)  # type: ignore[arg-type]
