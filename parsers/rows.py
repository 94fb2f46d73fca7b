"""Turns trace records into rows: columns of instructions, semaphore updates and DMA packets, each still on the clock that wrote it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from neff_bench.chips.engines import ENGINES
from neff_bench.parsers.container import Container, Section
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.formats import ntff as layout
from neff_bench.parsers.formats.neff import INSTRUCTION_BYTES
from neff_bench.parsers.formats.ntff import DMA, INSTRUCTION, PC_MASK, UNIT_OF_KIND, WRITERS
from neff_bench.parsers.records import pair_fifo

if TYPE_CHECKING:
    from numpy.typing import NDArray

RECORD = np.dtype(layout.RECORD)
OUTSIDE = "instruction records of the runtime's loader"
"""They lie outside of the loaded streams and belong to no execution."""
PIECE_BYTES = 1 << 20
TICKS_MAX = 1 << 62
TAGGED = layout.TAG << 24
DMA_TYPES = (layout.DMA_START, layout.DMA_READ_DONE, layout.DMA_WRITE_DONE)
Row = TypeVar("Row")


class RawInstructions(NamedTuple):
    """Paired rows (n,) of a core before any clock is known. `marker`: byte 36 of the instruction."""

    engine: NDArray[np.uint8]
    pc: NDArray[np.int32]
    opcode: NDArray[np.uint8]
    marker: NDArray[np.uint8]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    wait: NDArray[np.uint16]


class RawDma(NamedTuple):
    """Packets (n,) of a core, start to read done. `done` (m,): times of write-done records, which belong to no row; none where the window is known."""

    engine: NDArray[np.uint8]
    queue: NDArray[np.uint8]
    bytes: NDArray[np.int32]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    done: NDArray[np.int64]


class Records(NamedTuple):
    """Records (n,) by field; `ticks` is signed and counts from the start of the execution where the file tells it."""

    word: NDArray[np.uint32]
    detail: NDArray[np.uint32]
    ticks: NDArray[np.int64]

    @property
    def writer(self) -> NDArray[np.uint8]:
        """Tag of who wrote each record."""
        return (self.word >> 26 & (WRITERS - 1)).astype(np.uint8)


def is_decoded(section: Section) -> bool:
    """Return whether the section is of a kind that this reader knows."""
    return UNIT_OF_KIND.get(section.kind) == section.unit


def records_of(container: Container, kind: int) -> Mapping[int, Records]:
    """Return the records of a kind by physical core."""
    dtypes = (np.uint32, np.uint32, np.int64)
    return _by_core(Records, dtypes, _decoded(container, kind, dtypes, lambda _, records: records))


def _by_core(kind: Callable[..., Row], dtypes: Sequence[Any], sections: Iterable[tuple[int, Any]]) -> dict[int, Row]:
    """Return the columns of all sections of a core, end to end."""
    found: dict[int, list[Any]] = {}
    for core, columns in sections:
        found.setdefault(core, []).append(columns)
    return {core: kind(*stack(found[core], dtypes)) for core in sorted(found)}


def _decoded(
    container: Container, kind: int, dtypes: Sequence[Any], decode: Callable[[int, Records], Sequence[Any]]
) -> Iterator[tuple[int, list[Any]]]:
    """Yield physical core and columns of each section of a kind, one at a time. `decode`: the columns, each of any length, of some records of a core; it
    gets so few at a time that they and all that it makes of them stay in the processor's caches. Raises ParseError for a record that no trace holds."""
    for section in container.sections:
        if section.kind == kind and is_decoded(section):
            columns = [np.empty(section.records.size_bytes // RECORD.itemsize, dtype) for dtype in dtypes]
            filled = [0] * len(columns)
            for records in _pieces(container, section):
                for number, values in enumerate(decode(section.core, records)):
                    start, filled[number] = filled[number], filled[number] + len(values)
                    columns[number][start : filled[number]] = values
            yield section.core, [column[:length] for column, length in zip(columns, filled, strict=True)]


def _pieces(container: Container, section: Section) -> Iterator[Records]:
    """Yield the records, so many at a time that their memory is used again. Raises ParseError for one that no trace holds: a tag without its top bit, a
    time 53 days from the execution."""
    start = container.window[0] if container.window else 0
    earliest = -TICKS_MAX if start else 0
    for at in range(0, section.records.size_bytes, PIECE_BYTES):
        part = np.frombuffer(section.records.read(at, PIECE_BYTES), RECORD)
        word, detail = part["word"].copy(), part["detail"].copy()  # numpy is slow with fields that lie apart
        ticks = (part["ticks"] - np.uint64(start)).view(np.int64)
        if word.min() < TAGGED or ticks.max() > TICKS_MAX or ticks.min() < earliest:
            wrong = (word < TAGGED) | (ticks > TICKS_MAX) | (ticks < earliest)
            offset = section.records.offset + at + int(wrong.argmax()) * RECORD.itemsize
            raise ParseError(container.path, offset, f"no trace record of kind {section.kind}: bad tag or timestamp")
        yield Records(word, detail, ticks)


class _Slots(NamedTuple):
    """All instruction streams end to end. Per core and tag of a record: first slot, address of it modulo 2^21, number of slots."""

    opcode: Any
    marker: Any
    engine: Any
    pc: Any
    first: Mapping[int, Any]
    base: Mapping[int, Any]
    length: Mapping[int, Any]


def _slots(container: Container) -> _Slots:
    cores = {stream.core for stream in container.streams} | {section.core for section in container.sections}
    first, base, length = ({core: np.zeros(256, np.uint32) for core in cores} for _ in range(3))
    codes, engines, pcs, total = [], [], [], 0
    for stream in container.streams:
        slots = np.frombuffer(stream.read(), np.uint8).reshape(-1, INSTRUCTION_BYTES)
        codes.append(slots[:, (0, layout.MARKER_BYTE)])
        engines.append(np.full(len(slots), stream.engine, np.uint8))
        pcs.append(np.arange(len(slots), dtype=np.int32))
        tags = layout.TAG | (stream.engine + 1) << 2 | np.array([layout.BEGIN, layout.END])
        first[stream.core][tags], length[stream.core][tags] = total, len(slots)
        base[stream.core][tags] = (stream.address >> 6) & PC_MASK
        total += len(slots)
    code = np.concatenate(codes) if codes else np.zeros((0, 2), np.uint8)
    return _Slots(code[:, 0], code[:, 1], join(engines, np.uint8), join(pcs, np.int32), first, base, length)


def stack(columns: list[Any], dtypes: Sequence[Any]) -> Iterator[Any]:
    """Yield the columns of all sections, end to end."""
    for index, dtype in enumerate(dtypes):
        yield join([column[index] for column in columns], dtype)


def join(parts: list[Any], dtype: Any) -> Any:
    """Return one array of several, also of none."""
    if len(parts) == 1:
        return parts[0].astype(dtype, copy=False)
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype)


def decode_instructions(container: Container, undecoded: Counter[str]) -> Mapping[int, RawInstructions]:
    """Return the begins and ends of each core paired, with the instruction that each names."""
    slots = _slots(container)
    groups = len(slots.opcode)

    def decode(core: int, records: Records) -> Sequence[Any]:
        tag = (records.word >> 24).astype(np.intp)
        pc = (records.word - slots.base[core].take(tag)) & PC_MASK
        decoded = pc < slots.length[core].take(tag)
        if not decoded.all():
            _count_undecoded(tag[~decoded], undecoded)
        slot, is_end = pc + slots.first[core].take(tag), (tag & layout.END) != 0
        begins, ends = np.flatnonzero(decoded & ~is_end), np.flatnonzero(decoded & is_end)
        wait, ticks = records.detail >> 16, records.ticks
        return slot.take(begins), ticks.take(begins), wait.take(begins), slot.take(ends), ticks.take(ends)

    def paired() -> Iterator[tuple[int, Sequence[Any]]]:
        number = np.min_scalar_type(groups)
        for core, found in _decoded(container, INSTRUCTION, (number, np.int64, np.uint16, number, np.int64), decode):
            begin_group, begin_ticks, wait, end_group, end_ticks = found
            pairs = pair_fifo(begin_group, begin_ticks, end_group, end_ticks, groups)
            row = pairs.group.astype(np.intp)
            of_slot = (column.take(row) for column in (slots.engine, slots.pc, slots.opcode, slots.marker))
            yield core, (*of_slot, pairs.begin_ticks, pairs.end_ticks, wait.take(pairs.begins))

    dtypes = (np.uint8, np.int32, np.uint8, np.uint8, np.int64, np.int64, np.uint16)
    return _by_core(RawInstructions, dtypes, paired())


def _count_undecoded(tags: Any, undecoded: Counter[str]) -> None:
    """Loader instructions carry an engine's tag and an address outside of the streams; other tags are named by number."""
    for tag, count in enumerate(np.bincount(tags, minlength=256).tolist()):
        if count and tag & 3 <= layout.END and 0 < (tag >> 2) & (WRITERS - 1) <= len(ENGINES):
            undecoded[OUTSIDE] += count
        elif count:
            undecoded[f"instruction records with tag 0x{tag:02x}"] += count


def decode_dma(container: Container, undecoded: Counter[str]) -> Mapping[int, RawDma]:
    """Return the starts of each core paired with their read done."""

    def decode(_: int, records: Records) -> Sequence[Any]:
        word, detail, ticks = records
        kind = (detail & 15).astype(np.uint8)
        begins, ends, written = (np.flatnonzero(kind == one) for one in DMA_TYPES)
        if len(begins) + len(ends) + len(written) < len(kind):
            for unknown in sorted({*kind.tolist()} - {*DMA_TYPES}):
                undecoded[f"DMA records of type {unknown}"] += int(np.count_nonzero(kind == unknown))
        # A clock is found by the write-done records; a window says it.
        done = ticks.take(written) if container.window is None else ticks[:0]
        queue = (word >> 20) & (WRITERS - 1 << 4) | (detail >> 4) & 15
        size = word.take(ends) & layout.SIZE_MASK
        return queue.take(begins), ticks.take(begins), queue.take(ends), ticks.take(ends), size, done

    def paired() -> Iterator[tuple[int, Sequence[Any]]]:
        dtypes = (np.uint16, np.int64, np.uint16, np.int64, np.int32, np.int64)
        for core, found in _decoded(container, DMA, dtypes, decode):
            begin_group, begin_ticks, end_group, end_ticks, size, done = found
            pairs = pair_fifo(begin_group, begin_ticks, end_group, end_ticks, WRITERS * 16)
            engine, queue = (pairs.group >> 4) & layout.DMA_ENGINE_MASK, pairs.group & 15
            yield core, (engine, queue, size.take(pairs.ends), pairs.begin_ticks, pairs.end_ticks, done)

    return _by_core(RawDma, (np.uint8, np.uint8, np.int32, np.int64, np.int64, np.int64), paired())
