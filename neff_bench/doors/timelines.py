"""Reads the timelines of the files that a user names: traces, profiles and Parquet directories, with their NEFF, and bundles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.errors import WrongCall

if TYPE_CHECKING:
    from neff_bench.parsers.event_rows import Timeline

NO_WAITS = (
    "a trace does not say what waits for what, so there is no critical path and less advice;"
    " the JSON that AWS's profiler makes of it says it, and view reads that too"
)


def read_timelines(files: Sequence[Path], linked: bool) -> list[Timeline]:
    """Return one for each file that is no NEFF. `linked`: with what depends on what. Raises `WrongCall`, `ParseError` and `ProfileError`."""
    from neff_bench.neffs.bundle import MANIFEST
    from neff_bench.parsers.kinds import kind_of

    bundles = [path for path in files if (path / MANIFEST).is_file()]
    neffs = [path for path in files if path not in bundles and kind_of(path) == "neff"]
    profiles = [path for path in files if path not in neffs]
    if len(neffs) > 1 or not profiles:
        found = f"{len(neffs)} NEFFs and {len(profiles)} other files"
        raise WrongCall(f"{found}; expected one trace, profile or bundle or more, and at most one NEFF")
    neff = neffs[0] if neffs else None
    return [of_bundle(path, linked) if path in bundles else of_file(path, neff, linked) for path in profiles]


def of_file(path: Path, neff: Path | None, linked: bool) -> Timeline:
    """Return the timeline of a trace or a profile. A simulated trace with its NEFF has all that the simulator knows. Raises `ParseError`."""
    from neff_bench.parsers.event_tables import read_timeline
    from neff_bench.parsers.kinds import kind_of

    timeline = read_timeline(path, neff, linked=linked)
    if kind_of(path) != "ntff":
        return timeline
    if timeline.simulated:
        return timeline if neff is None else _simulated_again(timeline, path, neff, linked)
    return replace(timeline, notes=(*timeline.notes, NO_WAITS)) if linked else timeline


def _simulated_again(timeline: Timeline, trace: Path, neff: Path, linked: bool) -> Timeline:
    """Return the simulator's own profile of a trace; the trace as it is, with a note, where its model is another one."""
    from neff_bench.simulator.commands.view import load_profile
    from neff_bench.simulator.errors import SimulatorError
    from neff_bench.simulator.files.in_process import shown, unlinked, with_sensitivities
    from neff_bench.simulator.timing.counters import summarise

    try:
        found = load_profile(str(neff), str(trace))
    except SimulatorError as error:
        note = f"without names and source lines: {error}"
        return replace(timeline, notes=(*timeline.notes, note))
    program = found.neff.program
    summary = summarise(program, found.schedule, found.timeline, found.core_ids)
    whole = shown(str(trace), program, found.schedule, found.timeline, summary)
    return with_sensitivities(whole, program, found.schedule) if linked else unlinked(whole)


def of_bundle(path: Path, linked: bool) -> Timeline:
    """Return the timeline of the newest good run of a bundle: its whole profile where there is one, else the last trace of its slowest rank. Raises `ProfileError`, `BundleError`, `ParseError`."""
    from neff_bench.neffs.bundle import read_bundle
    from neff_bench.stage2_profile.capture.runs import best_run, check_file
    from neff_bench.stage2_profile.errors import ProfileError
    from neff_bench.stage2_profile.metrics.by_rank import shown_execution

    bundle = read_bundle(path)
    best = best_run(path, bundle.manifest.neff_sha256, traced=True)
    if best.found is None or not best.found[1].executions:
        raise ProfileError("; ".join((f"{path}: the bundle has no run with a trace; profile it first", *best.damaged)))
    directory, run = best.found
    last = run.executions[shown_execution(directory, run) or 0]
    name = last.detail or last.ntff
    check_file(directory, run, name)
    return of_file(directory / name, bundle.neff_path, linked)
