"""Reads event tables of a whole-profile JSON, in whole nanoseconds, and turns the fields that are used into the columns of a trace, in picoseconds."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from neff_bench.chips.engines import ENGINES
from neff_bench.parsers.formats.opcodes import SETUP
from neff_bench.parsers.formats.profile import DMA_ENGINES
from neff_bench.parsers.trace import DmaPackets, Instructions
from neff_bench.system.decoding import prepare

if TYPE_CHECKING:
    from numpy.typing import NDArray

Number = int | float

NANOSECONDS_MAX = (1 << 63) / 1000


class Aggregated(enum.Enum):
    """Decoded to a shared member, where a string would take memory in each of millions of rows."""

    NO = "no"
    YES = "yes"

    @classmethod
    def _missing_(cls, value: object) -> Aggregated:
        return cls.YES


class Semaphore(enum.Enum):
    """Says whether a DMA signals one: `-1` says that it does not."""

    NONE = "-1"
    SOME = "0"

    @classmethod
    def _missing_(cls, value: object) -> Semaphore:
        return cls.SOME


class InstructionRow(msgspec.Struct, gc=False):
    """The fields of an instruction that are used. Times in nanoseconds."""

    timestamp: Number
    duration: Number
    subgroup: str = ""
    opcode: str = ""
    pc: int = -1
    evt_wait_time: Number = 0
    subgraph: str = ""


class DmaRow(msgspec.Struct, gc=False):
    """Engine and queue are digits in quotes in these files; they are read as numbers."""

    timestamp: Number
    duration: Number
    transfer_size: Number = 0
    dma_engine: int = 0
    dma_queue: int = 0
    semaphore_id: Semaphore = Semaphore.NONE
    aggregated: Aggregated = Aggregated.NO


prepare(InstructionRow, DmaRow)


def picoseconds(values: Iterable[Number], count: int) -> NDArray[Any]:
    """Return (count,) int64 from nanoseconds. Raises ValueError for more than the axis holds (106 days)."""
    import numpy as np

    column = np.fromiter(values, np.float64, count)
    if (np.abs(column) >= NANOSECONDS_MAX).any():
        raise ValueError("a time of more than 106 days")
    return np.rint(column * 1000).astype(np.int64)


def instruction_columns(rows: list[InstructionRow]) -> Instructions:
    """Return the streams of a NEFF. `core` is the number of the subgraph; engines that are not one of the five are left out."""
    import numpy as np

    engines: dict[str, int] = {name: index for index, name in enumerate(ENGINES)}
    rows = [row for row in rows if row.subgroup.lower() in engines]
    opcodes: dict[str, int] = {}
    count = len(rows)
    return Instructions(
        core=np.fromiter((_subgraph(row.subgraph) for row in rows), np.uint8, count),
        engine=np.fromiter((engines[row.subgroup.lower()] for row in rows), np.uint8, count),
        pc=np.fromiter((row.pc for row in rows), np.int32, count),
        opcode=np.fromiter((opcodes.setdefault(row.opcode, len(opcodes)) for row in rows), np.int64, count),
        opcode_names=tuple(opcodes),
        begin_ps=picoseconds((row.timestamp for row in rows), count),
        duration_ps=picoseconds((row.duration for row in rows), count),
        wait_ns=np.fromiter((row.evt_wait_time for row in rows), np.int64, count),
    )


def dma_columns(rows: list[DmaRow]) -> DmaPackets:
    """Return DMA packets as columns. `reported`: measured packets; rows that the profiler computed from many (`aggregated`) are not."""
    import numpy as np

    count = len(rows)
    engine = np.fromiter((row.dma_engine for row in rows), np.int64, count)
    return DmaPackets(
        core=(engine // DMA_ENGINES).astype(np.uint8),
        engine=(engine % DMA_ENGINES).astype(np.uint8),
        queue=np.fromiter((row.dma_queue for row in rows), np.int64, count),
        bytes=np.fromiter((row.transfer_size for row in rows), np.int64, count),
        begin_ps=picoseconds((row.timestamp for row in rows), count),
        duration_ps=picoseconds((row.duration for row in rows), count),
        reported=np.fromiter((row.aggregated is Aggregated.NO for row in rows), bool, count),
    )


def work_span(instructions: list[InstructionRow]) -> tuple[Number, Number] | None:
    """Return the first begin and the last end, in ns, of the instructions that do work."""
    work = [row for row in instructions if row.opcode not in SETUP]
    return (min(row.timestamp for row in work), max(row.timestamp + row.duration for row in work)) if work else None


def dma_span(packets: list[DmaRow]) -> tuple[Number, Number] | None:
    """Return the first begin and the last end, in ns, of the DMA rows that signal a semaphore."""
    work = [row for row in packets if row.semaphore_id is not Semaphore.NONE]
    return (min(row.timestamp for row in work), max(row.timestamp + row.duration for row in work)) if work else None


def _subgraph(name: str) -> int:
    digits = name.removeprefix("sg")
    return int(digits) & 0xFF if digits.isdecimal() and len(digits) < 5 else 0
