"""Implements `view`: a NEFF and its trace to a profile.

The trace holds the times and the NEFF the machine code, so nothing is simulated again. `view` refuses a trace of another program,
and one of another version of the timing model, whose intervals and overheads it does not know.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neff_bench.chips import Chip
from neff_bench.installation import pip_install
from neff_bench.parsers.formats.profile import PARQUET_KEYS, parquet_table
from neff_bench.simulator.chips import chip_for, what_if
from neff_bench.simulator.compiler.code.assembler import assemble
from neff_bench.simulator.errors import ViewError
from neff_bench.simulator.files.neff import NeffContent, read_neff_content
from neff_bench.simulator.files.ntff import TraceHead, read_head
from neff_bench.simulator.files.profile import full_profile, profile_id, summary_text
from neff_bench.simulator.files.times import decode_times
from neff_bench.simulator.timing.counters import summarise
from neff_bench.simulator.timing.model import model_name
from neff_bench.simulator.timing.schedule import Schedule, schedule
from neff_bench.simulator.timing.timeline import Timeline, timeline_of
from neff_bench.system.files import write_whole


@dataclass(frozen=True)
class Profile:
    """A program with its simulated times, and the numbers of the physical cores it ran on."""

    neff: NeffContent
    schedule: Schedule
    timeline: Timeline
    core_ids: tuple[int, ...]


def load_profile(neff_path: str, session: str | None, changes: Sequence[str] = ()) -> Profile:
    """Compute the profile. `session`: the trace that must belong to the NEFF; None to do without. `changes`: what-if constants."""
    neff = read_neff_content(neff_path)
    chip = chip_for(neff.program.target)
    for change in changes:
        chip = what_if(chip, change)
    if session is None:
        timed = schedule(neff.program, chip, None if changes else neff.codes)
        return Profile(neff, timed, timeline_of(timed), tuple(range(neff.program.lnc)))
    head = _head_of(session, neff, chip)
    if changes:
        timed = schedule(neff.program, chip, first_execution=head.first_execution)
    else:
        timed = decode_times(head.schedule, neff.codes or assemble(neff.program, chip), chip, head.first_execution)
    return Profile(neff, timed, timeline_of(timed), head.core_ids)


def _head_of(session: str, neff: NeffContent, chip: Chip) -> TraceHead:
    head = read_head(session)
    if head.uuid != neff.uuid:
        raise ViewError(
            f"the trace belongs to another NEFF: uuid {head.uuid.hex()}, expected {neff.uuid.hex()}", session
        )
    model = model_name(chip.name)
    if head.model != model:
        raise ViewError(
            f"captured by timing model {head.model} of neuron-sim {head.simulator_version},"
            f" this one is {model}: capture again",
            session,
        )
    return head


def summary_record(profile: Profile) -> dict[str, dict[str, Any]]:
    """Return what `summary-json` prints: the summary under the profile's id."""
    return {
        profile_id(profile.neff): summarise(profile.neff.program, profile.schedule, profile.timeline, profile.core_ids)
    }


def summary_lines(profile: Profile) -> str:
    """Return what `summary-text` prints."""
    [(key, summary)] = summary_record(profile).items()
    return summary_text(key, summary)


def tables_of(profile: Profile, neff_name: str, ntff_name: str) -> dict[str, Any]:
    """Return all tables of the profile, by name."""
    return full_profile(profile.neff, profile.schedule, profile.timeline, profile.core_ids, neff_name, ntff_name)


def write_json(profile: Profile, neff_name: str, ntff_name: str, path: str) -> None:
    """Write the full profile as one JSON file at `path`. Raises ViewError when it cannot be written."""
    import orjson

    data = orjson.dumps(tables_of(profile, neff_name, ntff_name))
    try:
        write_whole(path, data)
    except OSError as error:
        raise ViewError(f"cannot write: {error.strerror}", path) from None


def write_parquet(profile: Profile, neff_name: str, ntff_name: str, directory: str) -> None:
    """Write one <Table>.parquet for each table that has rows, named as in the schema of neuron-explorer."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ViewError(f"parquet needs pyarrow: {pip_install('parquet')}, or --output-format json") from None
    tables = tables_of(profile, neff_name, ntff_name)
    os.makedirs(directory, exist_ok=True)
    for name, rows in tables.items():
        if not rows:
            continue
        records = [{PARQUET_KEYS.get(key, key): value for key, value in row.items()} for row in rows]
        # pyarrow takes the columns of the first record alone.
        columns = {
            key: [record.get(key) for record in records] for key in dict.fromkeys(key for r in records for key in r)
        }
        pq.write_table(pa.table(columns), os.path.join(directory, f"{parquet_table(name)}.parquet"))
