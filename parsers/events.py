"""Reads event tables of a whole-profile JSON, in whole nanoseconds, and turns the fields that are used into the columns of a trace, in picoseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from neff_bench.chips.engines import ENGINES
from neff_bench.parsers.event_columns import Coded, coded, field_of, numbered, numbers
from neff_bench.parsers.formats.opcodes import SETUP
from neff_bench.parsers.formats.profile import DMA_ENGINES
from neff_bench.parsers.trace import DmaPackets, Instructions
from neff_bench.system.decoding import prepare

if TYPE_CHECKING:
    from numpy.typing import NDArray

Number = int | float

NANOSECONDS_MAX = (1 << 63) / 1000
NO_SEMAPHORE, MEASURED = "-1", "no"
"""What a DMA row says under `semaphore_id` and `aggregated`."""


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
    semaphore_id: str = NO_SEMAPHORE
    aggregated: str = MEASURED


prepare(InstructionRow, DmaRow)


def instruction_columns(rows: Sequence[InstructionRow]) -> Instructions:
    """Return the streams of a NEFF. `core` is the number of the subgraph; engines that are not one of the five are left out."""
    import numpy as np

    engines = {name: index for index, name in enumerate(ENGINES)}
    engine = _of(coded(rows, ("subgroup",), lambda name: engines.get(name.lower(), -1)), np.int8)
    kept = engine >= 0
    opcode = coded(rows, ("opcode",), str)
    opcodes = numbered(map(opcode.values.__getitem__, opcode.codes[kept].tolist()))
    return Instructions(
        core=_of(coded(rows, ("subgraph",), _subgraph), np.uint8)[kept],
        engine=engine[kept].astype(np.uint8),
        pc=_whole(rows, "pc", np.int32, -1)[kept],
        opcode=opcodes.codes,
        opcode_names=tuple(opcodes.values),
        begin_ps=_picoseconds(rows, "timestamp")[kept],
        duration_ps=_picoseconds(rows, "duration")[kept],
        wait_ns=_whole(rows, "evt_wait_time", np.int64)[kept],
    )


def dma_columns(rows: Sequence[DmaRow]) -> DmaPackets:
    """Return DMA packets as columns. `reported`: measured packets; rows that the profiler computed from many (`aggregated`) are not."""
    import numpy as np

    engine = _whole(rows, "dma_engine", np.int64)
    return DmaPackets(
        core=(engine // DMA_ENGINES).astype(np.uint8),
        engine=(engine % DMA_ENGINES).astype(np.uint8),
        queue=_whole(rows, "dma_queue", np.int64),
        bytes=_whole(rows, "transfer_size", np.int64),
        begin_ps=_picoseconds(rows, "timestamp"),
        duration_ps=_picoseconds(rows, "duration"),
        reported=_of(coded(rows, ("aggregated",), lambda said: said == MEASURED), np.bool_),
    )


def work_span(instructions: Sequence[InstructionRow]) -> tuple[float, float] | None:
    """Return the first begin and the last end, in ns, of the instructions that do work."""
    return _span(instructions, coded(instructions, ("opcode",), lambda name: name not in SETUP))


def dma_span(packets: Sequence[DmaRow]) -> tuple[float, float] | None:
    """Return the first begin and the last end, in ns, of the DMA rows that signal a semaphore."""
    return _span(packets, coded(packets, ("semaphore_id",), lambda name: name != NO_SEMAPHORE))


def _span(rows: Sequence[Any], chosen: Coded) -> tuple[float, float] | None:
    which = _of(chosen, bool)
    begin, duration = (numbers(rows, name)[which] for name in ("timestamp", "duration"))
    return (float(begin.min()), float((begin + duration).max())) if len(begin) else None


def _of(column: Coded, dtype: Any) -> NDArray[Any]:
    """Return the value of each row."""
    import numpy as np

    values: NDArray[Any] = np.array(column.values, dtype)
    found: NDArray[Any] = values[column.codes]
    return found


def _whole(rows: Sequence[Any], name: str, dtype: Any, absent: int = 0) -> NDArray[Any]:
    """Return a field of each row as integers. Raises ValueError for one that they do not hold."""
    import numpy as np

    values: NDArray[Any] = field_of(rows, name, absent, None)
    most = np.iinfo(dtype).max
    if len(values) and max(values.max(), -values.min()) > most:
        raise ValueError(f"{name} of {values.max()}, more than {most}")
    found: NDArray[Any] = values.astype(dtype)
    return found


def _picoseconds(rows: Sequence[Any], name: str) -> NDArray[Any]:
    """Return a field in nanoseconds as (n,) int64. Raises ValueError for more than the axis holds (106 days)."""
    import numpy as np

    column = numbers(rows, name)
    if (np.abs(column) >= NANOSECONDS_MAX).any():
        raise ValueError("a time of more than 106 days")
    rounded: NDArray[Any] = np.rint(column * 1000).astype(np.int64)
    return rounded


def _subgraph(name: str) -> int:
    digits = name.removeprefix("sg")
    return int(digits) & 0xFF if digits.isdecimal() and len(digits) < 5 else 0
