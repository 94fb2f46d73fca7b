"""The timeline of a recorded program in this process: what the reader of its profile's JSON gives, with no JSON in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from neff_bench.parsers.event_rows import LinkedDmaRow, LinkedInstructionRow, SemaphoreRow, UsageRow
from neff_bench.parsers.event_rows import Timeline as Shown
from neff_bench.simulator.files.profile import event_tables
from neff_bench.simulator.program import Program
from neff_bench.simulator.timing.schedule import Schedule
from neff_bench.simulator.timing.timeline import Timeline


def shown(name: str, program: Program, schedule: Schedule, timeline: Timeline, summary: Mapping[str, Any]) -> Shown:
    """Return the linked timeline of a program. `name`: what stands for the path of a file. It has no sensitivities, which take the longest."""
    tables = event_tables(program, schedule, timeline)
    return Shown(
        name,
        True,
        dict(summary),
        msgspec.convert(tables["instruction"], list[LinkedInstructionRow]),
        msgspec.convert(tables["dma"], list[LinkedDmaRow]),
        msgspec.convert(tables["semaphore_update"], list[SemaphoreRow]),
        usage=msgspec.convert(tables["instruction_usage"], list[UsageRow]),
    )
