"""From a program to machine instructions: one columnar list for each physical core.

`nc_matmul` becomes LDWEIGHTS and MATMUL (float32: two pairs of two passes each), a change of activation function an
ACT_TABLE_LOAD, a DMA a trigger on the issuing engine and packets on the DMA engines, and every wait for a second
semaphore an EVENT_SEMAPHORE of its own, as in real profiles. The fixed instructions around a kernel are in
`simulator.overheads`.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from simulator.chips import Chip, chip_for
from simulator.costs import POINTERS, activation_table, columns, engine_cost
from simulator.dependencies import Edge, find_edges, item_bytes
from simulator.opcodes import OPCODES
from simulator.program import ENGINES, Access, Instruction, Program
from simulator.transfers import Transfer, is_transfer, transfer_of, trigger_engine

if TYPE_CHECKING:
    import numpy as np

TENSOR, SCALAR, GPSIMD, VECTOR, SYNC = range(5)
"""Engine indices, as in NTFF files."""

STORES, QUEUES = 5, 6
"""Stores whose engine the compiler chooses do not hold up that engine's other instructions: a compiler orders the engine's
list by its own schedule, so they form a queue of their own that shares the engine."""

EVENT_SEMAPHORE_NS = (52.0, 40.0, 45.0, 54.0, 30.0)
"""EVENT_SEMAPHORE that need not wait, for each engine: NTFF of github allenkchau/trainium-kernel-fusion @d709ddf1."""

_EVENT_SEMAPHORE = OPCODES["EVENT_SEMAPHORE"]


@dataclass(frozen=True)
class Code:
    """Machine instructions of one core, in program order. Every array has one element per instruction, except
    `waits` (indices of instructions, all before the waiting one), cut up by `wait_start` of length n + 1.

    engine: index of `ENGINES`. queue: what keeps program order: the engine, or STORES. opcode: byte. origin: index into `Program.cores[core]`.
    interval_ns: time until the engine can start its next instruction; latency_ns: start to result.
    pe_ns: what LDWEIGHTS and MATMUL hold the PE at full clock; the schedule throttles it and adds their latency. transfer: index into `transfers`, or -1.
    meeting: number of the core_barrier or sendrecv that both cores enter together, or -1.
    flops: 2 x rows x columns x moving; transpose: a PE transpose. sbuf_*, psum_*: bytes per partition that engines move.
    """

    engine: np.ndarray
    queue: np.ndarray
    opcode: np.ndarray
    origin: np.ndarray
    interval_ns: np.ndarray
    latency_ns: np.ndarray
    pe_ns: np.ndarray
    transfer: np.ndarray
    meeting: np.ndarray
    flops: np.ndarray
    transpose: np.ndarray
    sbuf_read: np.ndarray
    sbuf_write: np.ndarray
    psum_read: np.ndarray
    psum_write: np.ndarray
    psum_read_sbuf_write: np.ndarray
    wait_start: np.ndarray
    waits: np.ndarray
    transfers: tuple[Transfer, ...]

    def __len__(self) -> int:
        return len(self.engine)


_UNCOUNTED = {"tensor_tensor", "memset"}
"""Real profiles count no on-chip bytes for these (sbuf_read_bytes and sbuf_write_bytes of nki-library's mlp on trn2)."""
_INTEGERS = {"engine", "queue", "opcode", "origin", "transfer", "meeting", "wait_start", "waits"}
_COLUMNS = tuple(f.name for f in fields(Code) if f.name not in ("transfers", "waits", "wait_start"))
_TRANSFER = _COLUMNS.index("transfer")
_COUNTS = {"flops", "sbuf_read", "sbuf_write", "psum_read", "psum_write", "psum_read_sbuf_write"}


def _dtype(column: str) -> str:
    if column == "transpose":
        return "bool"
    return "int64" if column in _COUNTS else "int32" if column in _INTEGERS else "float64"


def assemble(program: Program, chip: Chip | None = None) -> tuple[Code, ...]:
    """Machine code of each core. `chip`: constants to use instead of the target's own. Raises SimulatorError."""
    chip = chip or chip_for(program.target)
    # Nothing here is cyclic, and looking for cycles among a million new tuples costs a third of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return tuple(_Assembler(program, core, chip).run() for core in range(len(program.cores)))
    finally:
        if collecting:
            gc.enable()


class _Assembler:
    """Builds one core's columns as plain lists, appended to side by side."""

    def __init__(self, program: Program, core: int, chip: Chip) -> None:
        self.program = program
        self.chip = chip
        self.instructions = program.cores[core]
        self.rows: list[tuple] = []
        """One tuple for each machine instruction, in the order of `_COLUMNS`."""
        self.wait_start = [0]
        self.waits: list[int] = []
        self.transfers: list[Transfer] = []
        self.shapes: dict[tuple, Transfer] = {}
        self.last: list[int] = []
        """Machine index of the last machine instruction of each program instruction."""
        self.stream: list[int] = []
        """What completes in order, for each machine instruction: its engine, or 8 (16 for STORES) + the DMA queue."""
        self.seen: dict[tuple[int, int], int] = {}
        """The last instruction of a stream that an engine has waited for."""
        self.table: str | None = None
        self.meetings = 0

    def run(self) -> Code:
        import numpy as np

        edges = find_edges(self.program, self.instructions)
        for index, instruction in enumerate(self.instructions):
            self._lower(index, instruction, edges[index])
            self.last.append(len(self.stream) - 1)
        self._final_waits()
        columns_ = zip(*self.rows, strict=True) if self.rows else [()] * len(_COLUMNS)
        arrays: Any = {
            name: np.array(values, dtype=_dtype(name)) for name, values in zip(_COLUMNS, columns_, strict=True)
        }
        return Code(
            **arrays,
            wait_start=np.array(self.wait_start, dtype=np.int64),
            waits=np.array(self.waits, dtype=np.int32),
            transfers=tuple(self.transfers),
        )

    def _emit(
        self, engine: int, opcode: int, origin: int, waits: list[int], interval_ns: float, latency_ns: float,
        queue: int | None = None, **more,
    ) -> None:  # fmt: skip
        queue = engine if queue is None else queue
        waits = self._unseen(waits, queue)
        for before in waits[:-1]:
            ns = EVENT_SEMAPHORE_NS[engine]
            self._append(engine, _EVENT_SEMAPHORE, origin, [before], ns, ns, queue)
        self._append(engine, opcode, origin, waits[-1:], interval_ns, latency_ns, queue, **more)

    def _unseen(self, waits: list[int], queue: int) -> list[int]:
        """Without what the queue has waited for before: streams complete in order, and so does the queue."""
        left = []
        for before in waits:
            key = (queue, self.stream[before])
            if before > self.seen.get(key, -1):
                self.seen[key] = before
                left.append(before)
        return left

    def _append(
        self, engine, opcode, origin, waits, interval_ns, latency_ns, queue=None, pe_ns=0.0, transfer=-1, meeting=-1, flops=0,
        transpose=False, sbuf_read=0, sbuf_write=0, psum_read=0, psum_write=0, psum_read_sbuf_write=0,
    ) -> None:  # fmt: skip
        queue = engine if queue is None else queue
        self.rows.append((
            engine, queue, opcode, origin, interval_ns, latency_ns, pe_ns, transfer, meeting, flops, transpose, sbuf_read,
            sbuf_write, psum_read, psum_write, psum_read_sbuf_write,
        ))  # fmt: skip
        self.waits += waits
        self.wait_start.append(len(self.waits))
        self.stream.append(engine if transfer < 0 else 8 * (1 + (queue == STORES)) + self.transfers[transfer].queue)

    def _waits(self, edges: set[Edge], engine: int, dma: bool) -> list[int]:
        """The last instruction to wait for in each stream, in order. An engine never waits for its own earlier reads
        and writes; PE accumulates in PSUM without waiting for itself."""
        latest: dict[int, int] = {}
        for before, kind, _ in edges:
            machine = self.last[before]
            stream = self.stream[machine]
            if stream == engine and not dma and (kind != "raw" or engine == TENSOR):
                continue
            if machine > latest.get(stream, -1):
                latest[stream] = machine
        return sorted(latest.values())

    def _lower(self, index: int, instruction: Instruction, edges: set[Edge]) -> None:
        engine = ENGINES.index(instruction.engine)
        op = instruction.op
        if op == "core_barrier":
            waits = self._waits(edges, engine, dma=False)
            self._emit(engine, OPCODES["CORE_BARRIER"], index, waits, self.chip.barrier_ns, self.chip.barrier_ns,
                       meeting=self._next_meeting())  # fmt: skip
        elif is_transfer(instruction):
            self._transfer(index, instruction, edges)
        elif op in ("nc_matmul", "nc_matmul_mx"):
            self._matmul(index, instruction, edges)
        elif op == "nc_transpose" and engine == TENSOR:
            self._pe_transpose(index, instruction, edges)
        else:
            self._engine_op(index, instruction, engine, edges)

    def _next_meeting(self) -> int:
        self.meetings += 1
        return self.meetings - 1

    def _transfer(self, index: int, instruction: Instruction, edges: set[Edge]) -> None:
        engine, chosen = trigger_engine(instruction, self.program)
        queue = STORES if chosen and self._writes_hbm(instruction) else engine
        transfer = self._transfer_of(instruction, engine)
        self.transfers.append(transfer)
        issue = visible = self.chip.dma_issue_ns
        if transfer.software:
            issue, visible = self.chip.software_dma_issue_ns, self.chip.software_dma_instruction_ns
        elif transfer.static:
            issue = visible = self.chip.static_dma_issue_ns
        opcode = {"dma_transpose": "DMA_TRANSPOSE2D", "dma_compute": "DMA_COMPUTE", "sendrecv": "SENDRECV"}.get(
            instruction.op, "DMA_DIRECT2D"
        )
        meeting = self._next_meeting() if instruction.op == "sendrecv" and self.program.lnc > 1 else -1
        self._emit(engine, OPCODES[opcode], index, self._waits(edges, engine, dma=True), issue, visible, queue,
                   transfer=len(self.transfers) - 1, meeting=meeting)  # fmt: skip

    def _transfer_of(self, instruction: Instruction, engine: int) -> Transfer:
        """`transfer_of`, once for all DMAs of the same shape."""
        buffers = self.program.buffers
        key = (
            engine,
            instruction.attributes.get("dge_mode"),
            *[(access.pattern, access.dtype, buffers[access.buffer].memory) for access in instruction.reads.values()],
            "to",
            *[(access.pattern, access.dtype, buffers[access.buffer].memory) for access in instruction.writes.values()],
        )
        transfer = self.shapes.get(key)
        if transfer is None:
            transfer = self.shapes[key] = transfer_of(instruction, self.program, engine)
        return transfer

    def _writes_hbm(self, instruction: Instruction) -> bool:
        return any(self.program.buffers[access.buffer].memory == "hbm" for access in instruction.writes.values())

    def _engine_op(self, index: int, instruction: Instruction, engine: int, edges: set[Edge]) -> None:
        if engine == SCALAR and instruction.op in ("activation", "activation_reduce", "activate2"):
            table = activation_table(str(instruction.attributes.get("op", "none")), self.table)
            if table is not None:
                load = self.chip.activation_table_load_ns
                self._append(SCALAR, OPCODES["ACT_TABLE_LOAD"], index, [], load, load)
                self.table = table
        opcode, interval, latency = engine_cost(instruction, self.program, self.chip)
        moved = {
            (memory, side): 0 if instruction.op in _UNCOUNTED else self._on_chip_bytes(operands, memory)
            for memory in ("sbuf", "psum")
            for side, operands in (("read", instruction.reads), ("write", instruction.writes))
        }
        self._emit(engine, opcode, index, self._waits(edges, engine, dma=False), interval, latency,
                   sbuf_read=moved["sbuf", "read"], sbuf_write=moved["sbuf", "write"],
                   psum_read=moved["psum", "read"], psum_write=moved["psum", "write"],
                   psum_read_sbuf_write=moved["sbuf", "write"] if moved["psum", "read"] else 0)  # fmt: skip

    def _on_chip_bytes(self, operands: dict[str, Access], memory: str) -> int:
        """Bytes per partition of the operands that lie in `memory`. Per-partition scalars (bias, scale) are pointers in
        the instruction and real profiles do not count them."""
        buffers = self.program.buffers
        return sum(
            columns(access) * item_bytes(access.dtype)
            for name, access in operands.items()
            if name not in POINTERS and buffers[access.buffer].memory == memory
        )

    def _matmul(self, index: int, instruction: Instruction, edges: set[Edge]) -> None:
        """Contraction over the partitions (twice as many rows in `double_row`, four times in MX mode)."""
        stationary, moving = instruction.reads["stationary"], instruction.reads["moving"]
        packing = 1
        if instruction.attributes.get("perf_mode", "none").startswith("double_row"):
            packing = 2
        rows, cols, n = stationary.pattern[0][1] * packing, columns(stationary) // packing, columns(moving) // packing
        if instruction.op == "nc_matmul_mx":
            rows *= 4
        transpose = bool(instruction.attributes.get("is_transpose", False))
        wide = "float32" in (stationary.dtype, moving.dtype)
        load = {edge for edge in edges if edge.operand in ("stationary", "stationary_scale")}
        self._pe(index, rows, cols, n, load, edges - load, instruction.writes["dst"], transpose,
                 repeats=2 if wide and not transpose else 1, passes=2 if wide else 1,
                 weight_bytes=columns(stationary) * item_bytes(stationary.dtype),
                 moving_bytes=columns(moving) * item_bytes(moving.dtype))  # fmt: skip

    def _pe_transpose(self, index: int, instruction: Instruction, edges: set[Edge]) -> None:
        """The data is loaded as weights and an identity moves through it."""
        data = instruction.reads["data"]
        rows, cols = data.pattern[0][1], columns(data)
        load = {edge for edge in edges if edge.operand == "data"}
        self._pe(index, rows, cols, rows, load, edges - load, instruction.writes["dst"], True,
                 repeats=1, passes=2 if data.dtype == "float32" else 1,
                 weight_bytes=cols * item_bytes(data.dtype), moving_bytes=rows * item_bytes(data.dtype))  # fmt: skip

    def _pe(
        self, index: int, rows: int, cols: int, n: int, load: set[Edge], stream: set[Edge], dst: Access,
        transpose: bool, repeats: int, passes: int, weight_bytes: int, moving_bytes: int,
    ) -> None:  # fmt: skip
        chip = self.chip
        load_ns = chip.load_weights_cycles * passes / chip.pe_clock_ghz
        stream_ns = passes * (max(min(chip.minimum_cycles, cols), n) + chip.pe_overhead_cycles) / chip.pe_clock_ghz
        written = columns(dst) * item_bytes(dst.dtype)
        load_waits, stream_waits = self._waits(load, TENSOR, dma=False), self._waits(stream, TENSOR, dma=False)
        for _ in range(repeats):
            # Weights load behind the running matmul, so LDWEIGHTS holds the array for no time of its own.
            self._emit(TENSOR, OPCODES["LDWEIGHTS"], index, load_waits, 0.0, chip.load_weights_ns, pe_ns=load_ns,
                       sbuf_read=weight_bytes)  # fmt: skip
            self._emit(TENSOR, OPCODES["MATMUL"], index, stream_waits, 0.0, 0.0,
                       pe_ns=stream_ns, flops=2 * rows * cols * n, transpose=transpose, sbuf_read=moving_bytes,
                       psum_write=written)  # fmt: skip
            load_waits = stream_waits = []

    def _final_waits(self) -> None:
        """A kernel ends when its last DMA on each queue has landed: the issuing engine waits for it."""
        last = {self.stream[i]: i for i, row in enumerate(self.rows) if row[_TRANSFER] >= 0}
        for machine in sorted(set(last.values()) - set(self.waits)):
            engine, _, _, origin, *_ = self.rows[machine]
            ns = EVENT_SEMAPHORE_NS[engine]
            self._append(engine, _EVENT_SEMAPHORE, origin, [machine], ns, ns)
