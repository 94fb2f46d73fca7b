"""Reads the summaries of a run, rank by rank: what each execution took, and which rank was the slowest."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.parsers.errors import ParseError
from neff_bench.stage2_profile.capture import runs

if TYPE_CHECKING:
    from neff_bench.parsers.summary import Summary


def read_summaries(path: Path, record: runs.Run, rank: int | None = None) -> list[Summary]:
    """Return the summaries of every profiled execution of a rank of a run; without a number, of its slowest rank. Raises `RunDamaged` and `ParseError`."""
    found = _by_rank(path, record)
    return found.get(slowest(totals_s(found)) if rank is None else rank, [])


def shown_execution(path: Path, record: runs.Run) -> int | None:
    """Return which of the executions stands for the run: the last one of the slowest rank. None for a run without traces. Raises as
    `read_summaries`."""
    ranks = [execution.rank for execution in record.executions]
    chosen = slowest(totals_s(_by_rank(path, record))) if len(set(ranks)) > 1 else None
    places = [place for place, rank in enumerate(ranks) if chosen in (None, rank)]
    return places[-1] if places else None


def totals_s(summaries: Mapping[int, Sequence[Summary]]) -> dict[int, float]:
    """Return the median total time of each rank that has one."""
    known = {
        rank: [each.total_time_s for each in found if each.total_time_s is not None]
        for rank, found in summaries.items()
    }
    return {rank: statistics.median(totals) for rank, totals in known.items() if totals}


def slowest(totals: Mapping[int, float]) -> int:
    """Return the rank of the largest total, the first of equals; 0 for none."""
    return max(sorted(totals), key=totals.__getitem__, default=0)


def read_summary(path: Path, record: runs.Run, file: str) -> Summary:
    """Return one summary of a run. Raises `RunDamaged` and `ParseError`."""
    from neff_bench.parsers import profile_json

    data = runs.read_file(path, record, file)
    try:
        return profile_json.read_summary(data, only=True)
    except ParseError as error:
        raise ParseError(file, error.offset, error.what) from None


def _by_rank(path: Path, record: runs.Run) -> dict[int, list[Summary]]:
    timings = {rank: left.timing for rank, left in enumerate(record.by_rank) if left.timing is not None}
    if timings:
        return {rank: _timed(path, record, file) for rank, file in timings.items()}
    found: dict[int, list[Summary]] = {}
    for execution in record.executions:
        if execution.summary is not None:
            found.setdefault(execution.rank, []).append(read_summary(path, record, execution.summary))
    return found


def _timed(path: Path, record: runs.Run, file: str) -> list[Summary]:
    """Return a summary of every execution that nrtpy timed: the time alone."""
    from neff_bench.parsers.summary import Summary
    from neff_bench.stage2_profile.capture.nrtpy import read_times

    try:
        times = read_times(runs.read_file(path, record, file))
    except ValueError as error:
        raise ParseError(file, None, str(error)) from None
    return [Summary(total_time_s=duration_ms / 1e3) for duration_ms in times.durations_ms]
