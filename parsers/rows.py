"""Turns trace records into rows: columns of instructions, semaphore updates and DMA packets, each still on the clock that wrote it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from neff_bench.chips.engines import ENGINES
from neff_bench.parsers.container import Container, Section
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.formats import ntff as layout
from neff_bench.parsers.formats.neff import INSTRUCTION_BYTES
from neff_bench.parsers.formats.ntff import DMA, INSTRUCTION, PC_MASK, SEMAPHORE, UNIT_OF_KIND, WRITERS
from neff_bench.parsers.records import pair_fifo

if TYPE_CHECKING:
    from numpy.typing import NDArray

RECORD = np.dtype(layout.RECORD)
OUTSIDE = "instruction records of the runtime's loader"
"""They lie outside of the loaded streams and belong to no execution."""
PIECE_BYTES = 1 << 20
TICKS_MAX = 1 << 62


@dataclass(frozen=True, eq=False)
class RawInstructions:
    """Paired rows (n,) before any clock is known. `marker`: byte 36 of the instruction."""

    core: NDArray[np.uint8]
    engine: NDArray[np.uint8]
    pc: NDArray[np.int32]
    opcode: NDArray[np.uint8]
    marker: NDArray[np.uint8]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    wait: NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class RawSemaphores:
    """Updates (n,) in file order."""

    core: NDArray[np.uint8]
    word: NDArray[np.uint32]
    writer: NDArray[np.uint8]
    value: NDArray[np.uint32]
    ticks: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RawDma:
    """Packets (n,), start to read done. `done`, `done_core` (m,): write-done records, which belong to no row."""

    core: NDArray[np.uint8]
    engine: NDArray[np.uint8]
    queue: NDArray[np.uint8]
    bytes: NDArray[np.int32]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    done_core: NDArray[np.uint8]
    done: NDArray[np.int64]


class Columns(NamedTuple):
    """Records (n,) by field; `ticks` is signed and counts from the start of the execution where the file tells it."""

    word: Any
    detail: Any
    ticks: Any

    def where(self, chosen: Any) -> Columns:
        """Return the chosen rows of every column."""
        return Columns(*(column[chosen] for column in self))


def check_records(container: Container) -> None:
    """Look for damage, once and before memory is spent on what is sound. Raises ParseError for the first record that no trace holds: a tag
    without its top bit, a time 53 days from the execution."""
    start = container.window[0] if container.window else 0
    for section in filter(is_decoded, container.sections):
        for at, part in _pieces(section):
            ticks = (part["ticks"] - np.uint64(start)).view(np.int64)
            wrong = (part["word"] < 0x8000_0000) | (ticks > TICKS_MAX) | (ticks < (-TICKS_MAX if start else 0))
            if wrong.any():
                offset = section.records.offset + (at + int(wrong.argmax())) * RECORD.itemsize
                raise ParseError(
                    container.path, offset, f"no trace record of kind {section.kind}: bad tag or timestamp"
                )


def _pieces(section: Section) -> Iterator[tuple[int, Any]]:
    """Yield the records, so many at a time that their memory is used again; each piece with the number of its first one."""
    for at in range(0, section.records.size_bytes, PIECE_BYTES):
        yield at // RECORD.itemsize, np.frombuffer(section.records.read(at, PIECE_BYTES), RECORD)


def is_decoded(section: Section) -> bool:
    """Return whether the section is of a kind that this reader knows."""
    return UNIT_OF_KIND.get(section.kind) == section.unit


def sections_of(container: Container, kind: int) -> Iterator[tuple[int, Columns]]:
    """Yield physical core and records of each section of a kind, one at a time."""
    dtypes = (np.uint32, np.uint32, np.int64)
    for core, columns in _decoded(container, kind, dtypes, lambda _, records: records):
        yield core, Columns(*columns)


def _decoded(
    container: Container, kind: int, dtypes: Sequence[Any], decode: Callable[[int, Columns], Sequence[Any]]
) -> Iterator[tuple[int, list[Any]]]:
    """Yield physical core and columns of each section of a kind, one at a time. `decode`: the columns of some records of a core; it gets so few at
    a time that they and all that it makes of them stay in the processor's caches."""
    start = container.window[0] if container.window else 0
    for section in container.sections:
        if section.kind == kind and is_decoded(section):
            columns = [np.empty(section.records.size_bytes // RECORD.itemsize, dtype) for dtype in dtypes]
            filled = 0
            for _, part in _pieces(section):
                ticks = (part["ticks"] - np.uint64(start)).view(np.int64)
                made = decode(section.core, Columns(part["word"], part["detail"], ticks))
                end = filled + len(made[0])
                for column, values in zip(columns, made, strict=True):
                    column[filled:end] = values
                filled = end
            yield section.core, [column[:filled] for column in columns]


@dataclass(frozen=True, eq=False)
class _Slots:
    """All instruction streams end to end. Per core and writer tag: first slot, address of it modulo 2^21, number of slots."""

    opcode: Any
    marker: Any
    engine: Any
    pc: Any
    first: Mapping[int, Any]
    base: Mapping[int, Any]
    length: Mapping[int, Any]


def _slots(container: Container) -> _Slots:
    cores = {stream.core for stream in container.streams} | {section.core for section in container.sections}
    first, base, length = ({core: np.zeros(WRITERS, np.int32) for core in cores} for _ in range(3))
    codes, engines, pcs, total = [], [], [], 0
    for stream in container.streams:
        slots = np.frombuffer(stream.read(), np.uint8).reshape(-1, INSTRUCTION_BYTES)
        codes.append(slots[:, (0, layout.MARKER_BYTE)])
        engines.append(np.full(len(slots), stream.engine, np.uint8))
        pcs.append(np.arange(len(slots), dtype=np.int32))
        writer = stream.engine + 1
        first[stream.core][writer], length[stream.core][writer] = total, len(slots)
        base[stream.core][writer] = (stream.address >> 6) & PC_MASK
        total += len(slots)
    code = np.concatenate(codes) if codes else np.zeros((0, 2), np.uint8)
    return _Slots(code[:, 0], code[:, 1], join(engines, np.uint8), join(pcs, np.int32), first, base, length)


def join(parts: list[Any], dtype: Any) -> Any:
    """Return one array of several, also of none."""
    if len(parts) == 1:
        return parts[0].astype(dtype, copy=False)
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype)


def decode_instructions(container: Container, undecoded: Counter[str]) -> RawInstructions:
    """Return the begins and ends paired, with the instruction that each names."""
    slots = _slots(container)
    columns: list[tuple[Any, ...]] = []

    def decode(core: int, records: Columns) -> tuple[Any, ...]:
        tag = (records.word >> 24).astype(np.intp)
        writer, kind = (tag >> 2) & (WRITERS - 1), tag & 3
        pc = ((records.word & PC_MASK).view(np.int32) - slots.base[core][writer]) & PC_MASK
        decoded = pc < slots.length[core][writer]
        decoded &= kind <= layout.END
        if not decoded.all():
            _count_undecoded(tag[~decoded], undecoded)
            records, pc, writer, kind = records.where(decoded), pc[decoded], writer[decoded], kind[decoded]
        return pc + slots.first[core][writer], kind == layout.END, records.detail >> 16, records.ticks

    for core, found in _decoded(container, INSTRUCTION, (np.int32, np.bool_, np.uint16, np.int64), decode):
        slot, is_end, wait, ticks = found
        row, begins, _, begin_ticks, end_ticks = pair_fifo(slot, ticks, is_end, len(slots.opcode))
        columns.append(
            (
                np.full(len(row), core, np.uint8),
                slots.engine[row],
                slots.pc[row],
                slots.opcode[row],
                slots.marker[row],
                begin_ticks,
                end_ticks,
                wait[begins],
            )
        )
    dtypes = (np.uint8, np.uint8, np.int32, np.uint8, np.uint8, np.int64, np.int64, np.uint16)
    return RawInstructions(*stack(columns, dtypes))


def stack(columns: list[tuple[Any, ...]], dtypes: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the columns of all sections, end to end."""
    for index, dtype in enumerate(dtypes):
        yield join([column[index] for column in columns], dtype)


def _count_undecoded(tags: Any, undecoded: Counter[str]) -> None:
    """Loader instructions carry an engine's tag and an address outside of the streams; other tags are named by number."""
    for tag, count in enumerate(np.bincount(tags, minlength=256).tolist()):
        if count and tag & 3 <= layout.END and 0 < (tag >> 2) & (WRITERS - 1) <= len(ENGINES):
            undecoded[OUTSIDE] += count
        elif count:
            undecoded[f"instruction records with tag 0x{tag:02x}"] += count


def decode_semaphores(container: Container) -> RawSemaphores:
    """Update as they stand."""
    columns = []
    for core, records in sections_of(container, SEMAPHORE):
        word, detail, ticks = records
        writer = ((word >> 26) & (WRITERS - 1)).astype(np.uint8)
        columns.append((np.full(len(word), core, np.uint8), word, writer, detail, ticks))
    return RawSemaphores(*stack(columns, (np.uint8, np.uint32, np.uint8, np.uint32, np.int64)))


def decode_dma(container: Container, undecoded: Counter[str]) -> RawDma:
    """Return the starts paired with their read done."""
    columns, done = [], []

    def decode(core: int, records: Columns) -> tuple[Any, ...]:
        kind = (records.detail & 15).astype(np.uint8)
        counts = np.bincount(kind, minlength=16)
        for unknown in set(np.flatnonzero(counts).tolist()) - {
            layout.DMA_START,
            layout.DMA_READ_DONE,
            layout.DMA_WRITE_DONE,
        }:
            undecoded[f"DMA records of type {unknown}"] += int(counts[unknown])
        done.append(
            (np.full(counts[layout.DMA_WRITE_DONE], core, np.uint8), records.ticks[kind == layout.DMA_WRITE_DONE])
        )
        chosen = (kind == layout.DMA_START) | (kind == layout.DMA_READ_DONE)
        (word, detail, ticks), kind = records.where(chosen), kind[chosen]
        queue = (((word >> 24) & (WRITERS - 1)) << 4 | (detail >> 4) & 15).view(np.int32)
        return queue, kind == layout.DMA_READ_DONE, word & layout.SIZE_MASK, ticks

    for core, (queue, is_end, size, ticks) in _decoded(
        container, DMA, (np.int32, np.bool_, np.int32, np.int64), decode
    ):
        which, _, ends, begin_ticks, end_ticks = pair_fifo(queue, ticks, is_end, WRITERS * 16)
        columns.append(
            (
                np.full(len(which), core, np.uint8),
                ((which >> 4) & layout.DMA_ENGINE_MASK).astype(np.uint8),
                (which & 15).astype(np.uint8),
                size[ends],
                begin_ticks,
                end_ticks,
            )
        )
    packets = stack(columns, (np.uint8, np.uint8, np.uint8, np.int32, np.int64, np.int64))
    return RawDma(*packets, *stack(done, (np.uint8, np.int64)))
