"""Makes one store out of several: shards that were built or profiled apart, put together."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from neff_bench.neffs.bundle import PROFILES, Bundle, files_of
from neff_bench.neffs.checksums import wrong_file
from neff_bench.neffs.errors import BundleError
from neff_bench.neffs.store import Store, copy_finished
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.errors import RunDamaged

Done = Literal["copied", "runs added", "kept", "another build", "damaged", "busy", "unreadable"]
GOOD = ("copied", "runs added", "kept")


@dataclass(frozen=True)
class Merged:
    """Holds what became of one case of one source. `reason`: for what is not in `GOOD`."""

    case: str
    source: str
    done: Done
    reason: str | None = None


def merge(into: Store, sources: Iterable[Path]) -> Iterator[Merged]:
    """Copy what `into` lacks: cases, and runs of cases that it has, each file compared with its checksum first. Raises `StoreError`.

    Nothing that it has is replaced but a case that failed.
    """
    into.create()
    for source in sources:
        for found in Store(source).bundles():
            if isinstance(found, BundleError):
                yield Merged(found.name, str(source), "damaged", found.what)
                continue
            try:
                with into.lock(found.name):
                    done = _merge_one(into, source, found)
            except OSError as error:
                reason = f"{error.filename or found.path}: {error.strerror or error}"
                done = Merged(found.name, str(source), "unreadable", reason)
            yield done


def _merge_one(into: Store, source: Path, bundle: Bundle) -> Merged:
    wrong = wrong_file(bundle.path, files_of(bundle.manifest))
    if wrong is not None:
        return Merged(bundle.name, str(source), "damaged", wrong)
    try:
        ours = into.find(bundle.name)
    except BundleError:
        ours = None
    if ours is None or (ours.manifest.status == "failed" and bundle.manifest.status == "built"):
        into.publish(bundle.name, lambda made: copy_finished(bundle.path, made, bundle.path / PROFILES))
        return Merged(bundle.name, str(source), "copied")
    if bundle.manifest.status == "failed":
        return Merged(bundle.name, str(source), "kept")
    if ours.manifest.neff_sha256 != bundle.manifest.neff_sha256:
        reason = f"{into.path} has the case with another NEFF, which stays; build both with the same versions"
        return Merged(bundle.name, str(source), "another build", reason)
    return _add_runs(ours, source, bundle)


def _add_runs(ours: Bundle, source: Path, theirs: Bundle) -> Merged:
    """Publish copies of the good runs that we lack, oldest first, after our own."""
    with runs.locked(ours.path) as descriptor:
        if descriptor is None:
            return Merged(ours.name, str(source), "busy", "its profiles are in use; merge again")
        known = {_identity(run): run for _, run in runs.readable(ours.path)}
        added, series = 0, {}
        for path, run in reversed(list(runs.readable(theirs.path))):
            if _identity(run) in known:
                series[run.series] = known[_identity(run)].series
                continue
            if run.status == "failed":
                continue
            try:
                for name in run.files:
                    runs.check_file(path, run, name)
            except RunDamaged as error:
                return Merged(ours.name, str(source), "damaged", str(error))
            work = runs.new_work(ours.path)
            shutil.copytree(path, work, dirs_exist_ok=True, symlinks=True, ignore=shutil.ignore_patterns(runs.RECORD))
            if run.series is not None:  # its number there may be that of another series here
                here = series.setdefault(run.series, work.name.removeprefix(runs.WORK))
                run = msgspec.structs.replace(run, series=here)
            runs.publish(work, run)
            added += 1
    return Merged(ours.name, str(source), "runs added" if added else "kept")


def _identity(run: runs.Run) -> tuple[object, ...]:
    """Return what tells one run from another, wherever it lies: captures of one second may have equal files, so the time counts microseconds."""
    return (run.created, *sorted((name, file.sha256) for name, file in run.files.items()))
