"""Reads one timeline of an execution, whichever file it came from: tables of instructions, DMA packets and semaphores."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neff_bench.parsers.document import Document
from neff_bench.parsers.errors import ParseError, guarded
from neff_bench.parsers.event_rows import (
    DmaRow,
    InstructionRow,
    LinkedDmaRow,
    LinkedInstructionRow,
    SemaphoreRow,
    SensitivityRow,
    Timeline,
    UsageRow,
)
from neff_bench.parsers.kinds import kind_of
from neff_bench.parsers.parquet_tables import timeline_of_parquet
from neff_bench.parsers.profile_json import summary_of
from neff_bench.parsers.trace_tables import timeline_of_trace

_PLAIN: Mapping[str, type[Any]] = {"instruction": InstructionRow, "dma": DmaRow, "semaphore_update": SemaphoreRow}
_LINKED: Mapping[str, type[Any]] = {**_PLAIN, "instruction": LinkedInstructionRow, "dma": LinkedDmaRow}


@guarded
def read_timeline(path: str | os.PathLike[str], neff: Path | None = None, linked: bool = False) -> Timeline:
    """Return the timeline of a trace (with names from its `neff`), of a whole-profile JSON, or of a Parquet directory. Raises ParseError.

    `linked`: also read what depends on what, and the use of memory, which takes more memory.
    """
    kind = kind_of(path)
    if kind == "ntff":
        return timeline_of_trace(path, neff)
    if kind == "json":
        return timeline_of_json(path, linked)
    if kind == "parquet":
        return timeline_of_parquet(path, linked)
    raise ParseError(
        path, None, f"a {kind} file has no timeline; expected an NTFF, a whole-profile JSON or a Parquet profile"
    )


def timeline_of_json(source: str | os.PathLike[str] | bytes, linked: bool = False) -> Timeline:
    """Return the timeline of a whole-profile JSON, as `read_timeline` has it. Raises ParseError."""
    document = Document(source, _LINKED if linked else {})
    if not document.has("instruction"):
        raise ParseError(document.name, 0, "no instruction table: a summary, not a whole profile")
    summary = document.row("summary")
    simulated = bool(summary_of(document).is_simulation)
    document.keep("instruction", "dma", "semaphore_update", "instruction_usage", "sensitivity")
    usage = document.rows("instruction_usage", UsageRow) if linked else []
    sensitivity = document.rows("sensitivity", SensitivityRow) if linked else []
    rows, kinds = (document.columns, _LINKED) if linked else (document.rows, _PLAIN)
    instructions = rows("instruction", kinds["instruction"])
    document.keep("dma", "semaphore_update")
    dma, semaphores = (rows(name, kinds[name]) for name in ("dma", "semaphore_update"))
    return Timeline(
        document.name, simulated, summary, instructions, dma, semaphores, usage=usage, sensitivity=sensitivity
    )
