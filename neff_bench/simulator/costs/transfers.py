"""Says what one `dma_copy`, `dma_transpose`, `dma_compute` or `sendrecv` moves, and in which packets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from neff_bench.chips import Chip
from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.program import ENGINES, PARTITIONS, Instruction, Program, first_partition

if TYPE_CHECKING:
    import numpy as np

_SCALAR, _GPSIMD, _SYNC = ENGINES.index("scalar"), ENGINES.index("gpsimd"), ENGINES.index("sync")
MAX_PACKET_BYTES = 4096
"""The largest packet of data."""

PORTS = 16
"""Ports of SBUF, one for each DMA engine, with PARTITIONS / PORTS partitions behind each."""

SEMAPHORE_PACKET_BYTES = 4
SEMAPHORE_PACKET_NS = 7.0
"""Each DMA engine ends its share of a DMA with a 4-byte packet of 7 ns that bumps the semaphore (trn2, trn1 and inf2 traces)."""

QUEUE_NAMES = {
    1: "qScalarDynamicHW",
    2: "qGpSimdDynamic",
    3: "qVectorDynamicHW",
    4: "qSyncDynamicHW",
    0: "qTensorDynamicHW",
    5: "qCollectives",
}
"""By the index of the issuing engine; Sync, Scalar and GpSimd occur in real profiles. The last one is ours: what the cores for
collective communication move."""

COLLECTIVES = 5
"""Queue of collectives."""

QUEUES = 2 * len(QUEUE_NAMES)
"""The queues of a core: what an engine starts with descriptors made at run time, and what it starts with those made at compile time, goes through
one queue each (qSPDynamicHW, qPoolDynamic and qSPIO0, qPoolIO0 of trn2 traces)."""


_OF_HOST = "input", "output"

DGE_DISABLED = "disabled"
"""`dge_mode` of a DMA whose descriptors the compiler made because of `--disable-dge`, and not because its kernel says so."""

_MOVED = "hbm", "", "sbuf", "", "psum", ""
"""Where the bytes of a memory are in a `Transfer`: those read, and behind them those written."""


class Transfer(NamedTuple):
    """`packets` packets of `packet_bytes` each (the last may be shorter), spread over the DMA engines.

    queue: index of the issuing engine. software: descriptors made by GpSimd; static: made at compile time, else by hardware. dge_disabled: static because of a flag.
    first_port, ports: of SBUF that it goes through. elements: runs of a packet that are contiguous on both sides. rows: rows that a packet gathers on its way to HBM. converts: the dtype changes on the way; `bytes` are those written.
    transposes: rows become columns on the way. gathers: its rows are read from addresses of their own, which GpSimd reads from SBUF.
    hbm_*, sbuf_*, psum_*: bytes that this DMA reads from and writes to that memory. latency_ns: what it takes before its first packet beyond
    the start of any DMA. bandwidth: bytes/ns of the link that it goes through, on all DMA engines together; 0 where there is none.
    """

    queue: int
    packets: int
    packet_bytes: int
    bytes: int
    hbm_read: int
    hbm_write: int
    sbuf_read: int
    sbuf_write: int
    psum_read: int
    psum_write: int
    software: bool = False
    static: bool = False
    rows: int = 1
    converts: bool = False
    transposes: bool = False
    first_port: int = 0
    ports: int = PORTS
    elements: int = 1
    latency_ns: float = 0.0
    bandwidth: float = 0.0
    dge_disabled: bool = False
    gathers: bool = False


class Transfers(Sequence[Transfer]):
    """The transfers of a core, most of which are equal. kinds: the different ones. which: by transfer, its index into `kinds`."""

    def __init__(self, kinds: Sequence[Transfer], which: np.ndarray) -> None:
        self.kinds = tuple(kinds)
        self.which = which.astype("int64", copy=False)  # an empty list has floats

    def column(self, value: Callable[[Transfer], Any], dtype: str = "int64") -> np.ndarray:
        """Return a value of each transfer, computed once for each kind."""
        import numpy as np

        found: np.ndarray = np.array([value(kind) for kind in self.kinds], dtype)[self.which]
        return found

    @cached_property
    def used(self) -> tuple[tuple[Transfer, int], ...]:
        """The kinds that occur, and how often each does."""
        import numpy as np

        counts = np.bincount(self.which, minlength=len(self.kinds)).tolist()
        return tuple((kind, count) for kind, count in zip(self.kinds, counts, strict=True) if count)

    def total(self, field: str) -> int:
        """Return the sum of a field over all transfers."""
        return sum(getattr(kind, field) * count for kind, count in self.used)

    def __len__(self) -> int:
        return len(self.which)

    @overload
    def __getitem__(self, at: int) -> Transfer: ...
    @overload
    def __getitem__(self, at: slice) -> Transfers: ...
    def __getitem__(self, at: int | slice) -> Transfer | Transfers:
        return Transfers(self.kinds, self.which[at]) if isinstance(at, slice) else self.kinds[self.which[at]]

    def __iter__(self) -> Iterator[Transfer]:
        return map(self.kinds.__getitem__, self.which.tolist())


def transfers_of(given: Iterable[Transfer]) -> Transfers:
    """Return the transfers one by one as those of a core."""
    import numpy as np

    numbers: dict[Transfer, int] = {}
    which = np.array([numbers.setdefault(transfer, len(numbers)) for transfer in given], np.int64)
    return Transfers(tuple(numbers), which)


def trigger_engine(instruction: Instruction, program: Program) -> int:
    """Return the index of the engine that triggers a DMA.

    Where the kernel leaves it open: inputs and outputs by software descriptors on GpSimd; internal HBM is read on Sync and written on Scalar.
    """
    if not _is_open(instruction):
        return ENGINES.index(instruction.engine)
    if instruction.op == "sendrecv":
        return _SYNC
    buffers = program.buffers
    for operands in (instruction.reads, instruction.writes):
        for access in operands.values():
            if buffers[access.buffer].kind in _OF_HOST:
                return _GPSIMD
    stores = any([buffers[access.buffer].memory == "hbm" for access in instruction.writes.values()])
    return _SCALAR if stores else _SYNC


def _is_open(instruction: Instruction) -> bool:
    """Return whether the kernel leaves open who triggers a DMA."""
    attributes = instruction.attributes
    return instruction.engine == "sync" and "dge_mode" not in attributes and "engine" not in attributes


def transfer_of(instruction: Instruction, program: Program, engine: int) -> Transfer:
    """Return the bytes by memory and the packets of a DMA.

    A packet of a hardware descriptor, or of one made at compile time, is a run that is contiguous on both sides. A packet of a software
    descriptor, or of a weight of an HLO graph, holds rows of all partitions of a DMA engine, wherever they lie in HBM
    (docs/model.md, Evidence)."""
    dge_disabled = instruction.attributes.get("dge_mode") == DGE_DISABLED
    static = dge_disabled or instruction.attributes.get("dge_mode") == "none"
    software = engine == _GPSIMD and not static
    joins = software or (static and program.from_hlo)
    converts = instruction.op == "dma_copy" and instruction.reads["src"].dtype != instruction.writes["dst"].dtype
    moved = [0] * len(_MOVED)
    total = [0, 0]
    element, row = MAX_PACKET_BYTES, 0
    for side, operands in enumerate((instruction.reads, instruction.writes)):
        for access in operands.values():
            memory = program.buffers[access.buffer].memory
            size = SIZE_BYTES[access.dtype]
            count_bytes = access.elements * size
            moved[_MOVED.index(memory) + side] += count_bytes
            total[side] += count_bytes
            if converts:
                # Packets are counted by what is written.
                size = SIZE_BYTES[instruction.writes["dst"].dtype]
            contiguous = _run(access.pattern if memory == "hbm" else access.pattern[1:]) * size
            element = min(element, contiguous)
            if memory != "hbm":
                row = contiguous
    moves = total[1] if converts else max(total)
    first_port, ports = _ports(instruction, program) if static or software else (0, PORTS)
    packet = element
    if joins and not converts:
        # Rows that change their dtype are not joined (trn2: 512 packets of 256 bytes; inf2: 128 of 1 KiB).
        packet = min(max(moves // ports, 1), MAX_PACKET_BYTES)
    hbm_read, hbm_write, sbuf_read, sbuf_write, psum_read, psum_write = moved
    return Transfer(
        engine, max(-(-moves // packet), 1), min(packet, max(moves, 1)), moves,
        hbm_read, hbm_write, sbuf_read, sbuf_write, psum_read, psum_write,
        software, static, max(packet // row, 1) if joins and row and hbm_write else 1, converts,
        instruction.op == "dma_transpose", first_port, ports, max(packet // element, 1), dge_disabled=dge_disabled,
        gathers=hbm_read > 0 and any(part.index.elements > 1 for access in instruction.reads.values() for part in access.dynamic),
    )  # fmt: skip


def _ports(instruction: Instruction, program: Program) -> tuple[int, int]:
    """Return the first port and the number of ports of the side that touches fewer partitions of SBUF; all ports where none is touched.

    A descriptor that is made at compile time, or by GpSimd, belongs to the DMA engine of its port (AWS docs nki/get-started/about/nki-dma-overview.rst).
    How hardware spreads its own over fewer partitions no trace shows: over all DMA engines here.
    """
    found = (0, PORTS)
    for access in (*instruction.writes.values(), *instruction.reads.values()):
        buffer = program.buffers[access.buffer]
        if buffer.memory == "sbuf":
            behind = PARTITIONS // PORTS
            row = max(buffer.row_bytes // SIZE_BYTES[access.dtype], 1)
            step, count = access.pattern[0]
            first = first_partition(access, buffer)
            last = min(first + (count - 1) * max(step // row, 1), PARTITIONS - 1)
            ports = last // behind - first // behind + 1
            if ports < found[1]:
                found = (first // behind, ports)
    return found


def queue_of(transfer: Transfer) -> int:
    """Return the number of its queue, below `QUEUES`."""
    return transfer.queue + (len(QUEUE_NAMES) if transfer.static else 0)


def start_ns(transfer: Transfer, chip: Chip) -> float:
    """Return the time from when the engine can issue the DMA to its first packet. GpSimd writes its descriptors before it triggers."""
    if transfer.static:
        return chip.static_dma_start_ns + transfer.latency_ns
    if transfer.software:
        return chip.software_dma_prepare_ns + chip.software_dma_start_ns
    return chip.dma_start_ns


def is_by_element(transfer: Transfer, chip: Chip) -> bool:
    """Return whether its runs are so short that their number counts and not their bytes."""
    return (
        transfer.elements * chip.dma_element_ns > chip.dma_packet_ns + transfer.packet_bytes / chip.dma_engine_bandwidth
    )


def packet_ns(transfer: Transfer, chip: Chip) -> float:
    """Return the spacing of its packets on one DMA engine."""
    rows = (transfer.rows - 1) * chip.dma_row_ns
    bandwidth = chip.dma_engine_bandwidth
    if transfer.bandwidth:
        bandwidth = min(bandwidth, transfer.bandwidth / chip.dma_engines)
    spacing = chip.dma_packet_ns + transfer.packet_bytes / bandwidth + rows
    if transfer.transposes:
        from_hbm = transfer.hbm_read or transfer.hbm_write
        spacing /= chip.dma_transpose_hbm_rate if from_hbm else chip.dma_transpose_sbuf_rate
    else:
        run_ns = chip.dma_gathered_row_ns if transfer.gathers else chip.dma_element_ns
        spacing = max(spacing, transfer.elements * run_ns)
    return spacing * chip.dma_convert_factor if transfer.converts else spacing


def _run(pattern: Sequence[tuple[int, int]]) -> int:
    """Return the elements of the longest contiguous run of `(step, size)` pairs, innermost last."""
    run = 1
    for step, size in reversed(pattern):
        if size == 1:
            continue
        if step != run:
            break
        run *= size
    return run
