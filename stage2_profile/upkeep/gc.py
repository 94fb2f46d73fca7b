"""Removes old runs of a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from neff_bench.neffs.bundle import read_bundle
from neff_bench.neffs.errors import BundleError
from neff_bench.neffs.store import Store
from neff_bench.stage2_profile.capture import runs


@dataclass(frozen=True)
class Removed:
    """A run that was removed, or would be. `bytes`: of all its files."""

    case: str
    run: str
    bytes: int


@dataclass(frozen=True)
class Left:
    """A case that could not be looked at, and why."""

    case: str
    reason: str


def collect(store: Path, keep: int, only: str | None = None, *, dry_run: bool = False) -> Iterator[Removed | Left]:
    """Remove all but the newest `keep` runs of each case; the runs that its row shows, by a profiler and by nrtpy, always stay, and so do damaged runs and
    those of a case that another process profiles now. Raises `StoreError` when there is no store."""
    for name in [only] if only is not None else Store(store).names():
        try:
            yield from _collect(store / name, keep, dry_run)
        except OSError as error:
            yield Left(name, f"{error.filename or store / name}: {error.strerror or error}")


def _collect(path: Path, keep: int, dry_run: bool) -> Iterator[Removed]:
    """Remove old runs of one case."""
    if not runs.run_directories(path):
        return
    with runs.locked(path) as held:
        if held is None:
            return
        try:
            bundle = read_bundle(path)
        except BundleError:
            return
        sha256 = bundle.manifest.neff_sha256
        best = [runs.best_run(path, sha256, traced=traced).found for traced in (True, False)]
        shown = [found[0] for found in best if found is not None]
        for run, _ in reversed(list(runs.readable(path))[keep:]):
            if run in shown:
                continue
            size_bytes = sum(file.lstat().st_size for file in run.rglob("*") if not file.is_dir())
            if not dry_run:
                runs.remove(run)
            yield Removed(path.name, run.name, size_bytes)
