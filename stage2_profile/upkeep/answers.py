"""Says what `neff-bench fsck`, `neff-bench gc` and `neff-bench merge` do once their options are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, get_args

from neff_bench.errors import WrongCall
from neff_bench.neffs.bundle import MANIFEST
from neff_bench.neffs.errors import NeffsError, StoreError
from neff_bench.neffs.store import OWN, Store, check_own
from neff_bench.stage2_profile.capture.safety import check_store as check_owner
from neff_bench.stage2_profile.errors import ProfileError
from neff_bench.stage2_profile.upkeep.fsck import Examined, Finding, Problem, certain, examine
from neff_bench.stage2_profile.upkeep.gc import Left, Removed, collect
from neff_bench.stage2_profile.upkeep.merge import GOOD, Merged, merge
from neff_bench.stage2_profile.upkeep.repair import new_aside, repair
from neff_bench.terminal.answer import NONE, Answer, Column, Grid, many
from neff_bench.terminal.output import write_answer
from neff_bench.terminal.streams import error


def check_store(directory: Path, repairs: bool, format_: str, output: Path | None) -> int:
    """Examine a store and print what is wrong; returns the exit code. Raises `WrongCall` and `ProfileError`."""
    store, only = _store_of(directory)
    examined = examine(store, only)
    examined.findings = certain(store, examined.findings)
    done: dict[Finding, str] = {}
    if repairs and examined.findings:
        check_owner(store)
        try:
            aside = new_aside(store)
            examined.findings = certain(
                store, examined.findings, lambda found: done.update(repair(store, aside, found))
            )
        except NeffsError as wrong:
            raise ProfileError(str(wrong)) from None
    write_answer(_fsck_answer(examined, done), format_, output)
    return 1 if examined.findings else 0


def remove_runs(directory: Path, keep: int, dry_run: bool, format_: str, output: Path | None) -> int:
    """Remove old runs and print them; returns the exit code. Raises `WrongCall` and `ProfileError`."""
    store, only = _store_of(directory)
    if not dry_run:
        check_owner(store)
    done = list(collect(store, keep, only, dry_run=dry_run))
    removed = [one for one in done if isinstance(one, Removed)]
    total_bytes = sum(run.bytes for run in removed)
    said = "would be removed" if dry_run else "removed"
    cases = len({run.case for run in removed})
    grid = Grid(
        (Column("case", wraps=True), Column("run"), Column("bytes", right=True)),
        [[run.case, run.run, str(run.bytes)] for run in removed],
        [f"{many(len(removed), 'run')} of {many(cases, 'case')} {said}: {many(total_bytes, 'byte')}."],
    )
    write_answer(_answer(removed, Removed, grid), format_, output)
    left = [one for one in done if isinstance(one, Left)]
    for one in left:
        error(f"{one.case}: {one.reason}; its runs are left as they are")
    return 1 if left else 0


def merge_stores(into: Path, sources: tuple[Path, ...], format_: str, output: Path | None) -> int:
    """Copy what `into` lacks and print it; returns the exit code. Raises `WrongCall` and `ProfileError`."""
    stores = [_whole_store(source) for source in sources]
    if into.exists():
        check_owner(into)
    try:
        merged = list(merge(Store(into), stores))
    except NeffsError as wrong:
        raise ProfileError(str(wrong)) from None
    bad = [one for one in merged if one.done not in GOOD]
    kinds = [one.done for one in merged]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)) or "nothing to merge"
    columns = (Column("case"), Column("from", wraps=True), Column("problem"), Column("what", wraps=True))
    lines = [[one.case, one.source, one.done, one.reason or NONE] for one in bad]
    write_answer(_answer(merged, Merged, Grid(columns, lines, [f"{into}: {counts}."])), format_, output)
    return 1 if bad else 0


def _answer(found: Sequence[Any], kind: type[Any], grid: Grid) -> Answer:
    return Answer([asdict(one) for one in found], [field.name for field in fields(kind)], [grid])


def _whole_store(directory: Path) -> Path:
    store, only = _store_of(directory)
    if only is not None:
        raise WrongCall(f"{directory}: one bundle; expected a store")
    return store


def _store_of(directory: Path) -> tuple[Path, str | None]:
    """Return the store, and the case when `directory` is one bundle. Raises `WrongCall` when it is neither."""
    if (directory / MANIFEST).is_file():
        directory = directory.resolve()
        return directory.parent, directory.name
    try:
        names = Store(directory).names()
        check_own(directory)
    except StoreError as wrong:
        raise WrongCall(str(wrong)) from None
    if (directory / OWN).is_dir() or any((directory / name / MANIFEST).exists() for name in names):
        return directory, None
    raise WrongCall(f"{directory}: not a store; expected a directory that generate-neffs wrote")


def _fsck_answer(examined: Examined, done: dict[Finding, str]) -> Answer:
    records = [{**asdict(finding), "done": done.get(finding)} for finding in examined.findings]
    lines = [[finding.problem, finding.file, finding.what, done.get(finding, NONE)] for finding in examined.findings]
    notes = [f"{examined.bundles} bundles and {examined.runs} runs examined: {_count(examined)}."]
    if examined.unverified:
        notes.append(f"{examined.unverified} of them are of an older version and have no checksums: not verified.")
    columns = (Column("problem"), Column("file", wraps=True), Column("what", wraps=True), Column("done", wraps=True))
    grid = Grid(columns, lines, notes)
    if not done:
        grid = grid.shown()
    return Answer(records, [*(field.name for field in fields(Finding)), "done"], [grid])


def _count(examined: Examined) -> str:
    if not examined.findings:
        return "every file is as it was written"
    kinds = [finding.problem for finding in examined.findings]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in get_args(Problem) if kind in kinds)
