"""Sets aside what `fsck` found, so that the next generate or profile makes exactly that again.

Nothing is deleted: files move to STORE/.store/aside/<number>/ under their own paths.

- A file of a bundle moves alone: the case is built again, and keeps its profiles when its NEFF comes out the same.
- What a view made (a summary, a session, a whole profile, a log) moves alone: the trace is viewed again.
- A run whose record, trace or output is damaged moves whole: the case is captured again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from neff_bench.neffs.bundle import PROFILES
from neff_bench.neffs.errors import StoreError
from neff_bench.neffs.store import OWN
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.errors import RunDamaged
from neff_bench.stage2_profile.upkeep.fsck import Finding


def repair(store: Path, aside: Path, findings: Sequence[Finding]) -> dict[Finding, str]:
    """Return what was done about each finding of a case, in words; call it while nothing else works on the case. Raises `StoreError` when the
    store cannot be written."""
    done: dict[Finding, str] = {}
    try:
        for finding in findings:
            if finding.run is None:
                done[finding] = _bundle_file(store, aside, finding)
        for run in dict.fromkeys(finding.run for finding in findings if finding.run is not None):
            of_run = [finding for finding in findings if finding.run == run]
            done |= _run(store, aside, str(of_run[0].case), run, of_run)
    except OSError as error:
        raise StoreError(Path(error.filename or store), f"cannot set files aside: {error.strerror}") from None
    return done


def new_aside(store: Path) -> Path:
    """Return a directory for what one call sets aside. Raises `StoreError`."""
    parent = store / OWN / "aside"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        numbers = [int(name) for name in os.listdir(parent) if name.isdecimal()]
        aside = parent / str(max(numbers, default=0) + 1)
        aside.mkdir(exist_ok=True)  # another repair may begin now; no two work on one case
    except OSError as error:
        raise StoreError(store, f"cannot set files aside: {error.strerror}") from None
    return aside


def _move(store: Path, aside: Path, file: str) -> None:
    target = aside / file
    target.parent.mkdir(parents=True, exist_ok=True)
    os.rename(store / file, target)


def _bundle_file(store: Path, aside: Path, finding: Finding) -> str:
    if finding.problem == "missing":
        return "the next generate builds the case again"
    if finding.problem == "unreadable":
        return "left as it is; make it readable"
    _move(store, aside, finding.file)
    if finding.case is None or finding.problem == "surplus":
        return "set aside"
    return "set aside; the next generate builds the case again"


def _run(store: Path, aside: Path, case: str, number: str, findings: Sequence[Finding]) -> dict[Finding, str]:
    directory = store / case / PROFILES / number
    lost = [finding.file.removeprefix(f"{case}/{PROFILES}/{number}/") for finding in findings]
    lost = [name for name, finding in zip(lost, findings) if finding.problem != "surplus"]
    try:
        run = runs.read_run(directory)
    except RunDamaged:
        run = None
    if run is None or set(lost) & {
        *runs.rank_files(run),
        *(execution.ntff for execution in run.executions),
    }:
        _move(store, aside, f"{case}/{PROFILES}/{number}")
        return dict.fromkeys(findings, "the run is set aside; the next profile captures the case again")
    for finding in findings:
        if finding.problem != "missing":
            _move(store, aside, finding.file)
    runs.write_run(directory, without_files(run, lost))
    again = "set aside; the next profile views the trace again"
    return {finding: "set aside" if finding.problem == "surplus" else again for finding in findings}


def without_files(run: runs.Run, lost: Sequence[str]) -> runs.Run:
    """Return the record without what a view made and what is lost; a run that lost a summary or a session counts as captured."""

    def kept(name: str | None) -> str | None:
        return None if any(file == name or file.startswith(f"{name}/") for file in lost) else name

    executions = tuple(
        msgspec.structs.replace(
            execution,
            summary=kept(execution.summary),
            session=kept(execution.session),
            detail=kept(execution.detail),
        )
        for execution in run.executions
    )
    pairs = zip(run.executions, executions)
    again = any((old.summary, old.session) != (new.summary, new.session) for old, new in pairs)
    return msgspec.structs.replace(
        run,
        status="captured" if again and run.status == "viewed" else run.status,
        executions=executions,
        files={name: sums for name, sums in run.files.items() if name not in lost},
    )
