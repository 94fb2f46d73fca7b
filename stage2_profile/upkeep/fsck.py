"""Compares every file of a store against its checksum: what is damaged, what is missing, what nobody recorded."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from neff_bench.neffs.aids import read_aid
from neff_bench.neffs.bundle import LOCK, MANIFEST, PROFILES, files_below, files_of, found_files, read_bundle
from neff_bench.neffs.checksums import FileSum, Unsealed, wrong_content, wrong_size
from neff_bench.neffs.errors import BundleError, StoreError
from neff_bench.neffs.store import OWN, Store
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.errors import RunDamaged
from neff_bench.system.lock import is_held, locked
from neff_bench.terminal.streams import notice

Problem = Literal["damaged", "missing", "surplus", "unreadable"]
_OF_A_VIEW = re.compile(r"(?P<kind>summary|view|session|profile)-(?P<number>[1-9][0-9]{0,5})[.-]")


@dataclass(frozen=True)
class Finding:
    """One file that is not as it was written. `case` and `run`: None where it belongs to none; `file`: its path in the store."""

    case: str | None
    run: str | None
    file: str
    problem: Problem
    what: str


@dataclass
class Examined:
    """Holds what was looked at. `unverified`: bundles and runs of older versions, which have no checksums."""

    bundles: int = 0
    runs: int = 0
    unverified: int = 0
    findings: list[Finding] = field(default_factory=list)


def examine(store: Path, only: str | None = None) -> Examined:
    """Compare every file of a store, or of its case `only`. Raises `StoreError` when there is no store."""
    done = Examined()
    if only is None:
        done.findings += _beside_the_bundles(store)
    for name in [only] if only is not None else Store(store).names():
        done.bundles += 1
        try:
            done.findings += _bundle(store, name, done)
            for path in reversed(runs.run_directories(store / name)):
                done.runs += 1
                done.findings += _run(store, name, path, done)
        except OSError as error:
            where = os.path.relpath(error.filename or store / name, store)
            done.findings.append(Finding(name, None, where, "unreadable", error.strerror or str(error)))
    return done


def certain(
    store: Path, findings: Sequence[Finding], repair: Callable[[list[Finding]], None] | None = None
) -> list[Finding]:
    """Return the findings that a second look finds too, while no other command works on the case; `repair` is called with those of a case
    before another command may. What a live command is about to write, move or record is no finding. A case that stays in use is
    named on standard error."""
    found: list[Finding] = []
    live_since = _live_since(store)
    for case in dict.fromkeys(finding.case for finding in findings):
        may_repair = repair is not None
        with ExitStack() as held:
            try:
                if case is not None:
                    _hold(held, store, case)
            except BlockingIOError:
                notice(f"{case}: another command works on it now; look again when it is done")
                continue
            except (OSError, StoreError) as error:
                # Who may not lock here may not look under the lock: the second look has to do.
                if repair is not None:
                    notice(f"{case}: not repaired: {error}")
                may_repair = False
            again = set(examine(store, case).findings if case is not None else _beside_the_bundles(store))
            mine = [
                one for one in findings if one.case == case and one in again and not _is_new(store, one, live_since)
            ]
            found += mine
            if repair is not None and may_repair and mine:
                repair(mine)
    return found


def _live_since(store: Path) -> float:
    """Return when the oldest lock was taken that a process holds in the store; infinity where there is none."""
    taken = math.inf
    for lock in (*store.glob(f"{OWN}/*/*.lock"), *store.glob(f"*/{PROFILES}/{LOCK}")):
        try:
            if is_held(lock):
                taken = min(taken, lock.lstat().st_mtime)
        except OSError:
            pass  # it was given back
    return taken


def _is_new(store: Path, finding: Finding, live_since: float) -> bool:
    """Return whether it is a file that a live command may have written and not recorded yet."""
    try:
        return finding.problem == "surplus" and (store / finding.file).lstat().st_mtime >= live_since
    except OSError:
        return False


def _hold(stack: ExitStack, store: Path, case: str) -> None:
    """Let no other command work on the case. Raises `BlockingIOError` when one does."""
    profiles = store / case / PROFILES
    stack.enter_context(Store(store).lock(case, _give_up))
    if profiles.is_dir():
        stack.enter_context(locked(profiles / LOCK, _give_up))


def _give_up() -> None:
    raise BlockingIOError


def _beside_the_bundles(store: Path) -> Iterator[Finding]:
    for name in sorted(os.listdir(store)):
        if name != OWN and (name.startswith(".") or not (store / name).is_dir()):
            yield Finding(None, None, name, "surplus", "not a bundle")
    for path in sorted((store / OWN).glob("[!.]*.json")):
        try:
            read_aid(store, path.name)
        except (OSError, Unsealed) as error:
            yield Finding(None, None, f"{OWN}/{path.name}", "damaged", str(error))


def _bundle(store: Path, name: str, done: Examined) -> Iterator[Finding]:
    path = store / name
    try:
        bundle = read_bundle(path)
    except BundleError as error:
        problem: Problem = "damaged" if _exists(path / MANIFEST) else "missing"
        yield Finding(name, None, f"{name}/{MANIFEST}", problem, error.what)
        return
    done.unverified += not bundle.verified
    expected = files_of(bundle.manifest)
    found = found_files(path) if bundle.verified else ()
    yield from _compared(path, expected, found, name, None, name)
    # What a live or a killed process works on begins with a dot.
    for other in sorted(os.listdir(path / PROFILES)) if (path / PROFILES).is_dir() else ():
        if not other.startswith(".") and runs.order(other) is None:
            yield Finding(name, None, f"{name}/{PROFILES}/{other}", "surplus", "not a run")


def _run(store: Path, case: str, path: Path, done: Examined) -> Iterator[Finding]:
    where = f"{case}/{PROFILES}/{path.name}"
    try:
        run = runs.read_run(path)
    except RunDamaged as error:
        problem: Problem = "damaged" if _exists(path / runs.RECORD) else "missing"
        yield Finding(case, path.name, f"{where}/{runs.RECORD}", problem, error.what)
        return
    done.unverified += not run.verified
    expected = run.files if run.verified else {name: FileSum(None, None) for name in runs.named_files(run)}
    found = files_below(path, without=(runs.RECORD,)) if run.verified else ()
    yield from _compared(
        path, expected, [name for name in found if not _may_be_left(name, run)], case, path.name, where
    )


def _may_be_left(name: str, run: runs.Run) -> bool:
    """Return whether a killed command leaves such a file: one that it had not written whole, which the next profile or gc removes, or
    one of a view that is still to be made, which the next profile writes anew."""
    if name.startswith(".") and "/" not in name:
        return True
    of_a_view = _OF_A_VIEW.match(name)
    if of_a_view is None or int(of_a_view["number"]) > len(run.executions):
        return False
    execution = run.executions[int(of_a_view["number"]) - 1]
    made = {"profile": execution.detail, "session": execution.session}.get(of_a_view["kind"], execution.summary)
    return made is None


def _compared(
    path: Path, expected: dict[str, FileSum], found: Iterable[str], case: str, run: str | None, where: str
) -> Iterator[Finding]:
    """Yield the files that are not as expected, and those that were found and not expected."""
    for name, sums in expected.items():
        one = {name: sums}
        wrong = wrong_size(path, one) or (wrong_content(path, one) if sums.sha256 is not None else None)
        if wrong is not None:
            problem: Problem = "damaged" if _exists(path / name) else "missing"
            yield Finding(case, run, f"{where}/{name}", problem, wrong)
    for name in sorted({*found} - {*expected}):
        yield Finding(case, run, f"{where}/{name}", "surplus", "not recorded when the directory was written")


def _exists(path: Path) -> bool:
    """Return whether something is there. Raises `OSError` where that cannot be seen."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
