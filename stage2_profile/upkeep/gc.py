"""Remove old runs of a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from neff_bench.neffs.bundle import read_bundle
from neff_bench.neffs.errors import BundleError
from neff_bench.neffs.store import Store
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.errors import RunDamaged


@dataclass(frozen=True)
class Removed:
    """A run that was removed, or would be. `bytes`: of all its files."""

    case: str
    run: str
    bytes: int


def collect(store: Path, keep: int, only: str | None = None, *, dry_run: bool = False) -> Iterator[Removed]:
    """Remove all but the newest `keep` runs of each case; the runs that its row shows, by a profiler and by nrtpy, always stay, and so do damaged runs and
    those of a case that another process profiles now. Raises `StoreError` when there is no store."""
    for name in [only] if only is not None else Store(store).names():
        path = store / name
        if not runs.run_directories(path):
            continue
        with runs.locked(path) as held:
            if held is None:
                continue
            try:
                bundle = read_bundle(path)
            except BundleError:
                continue
            sha256 = bundle.manifest.neff_sha256
            best = [runs.best_run(bundle.path, sha256, traced=traced).found for traced in (True, False)]
            shown = [found[0] for found in best if found is not None]
            readable = [path for path in runs.run_directories(bundle.path) if _is_readable(path)]
            for path in reversed(readable[keep:]):
                if path in shown:
                    continue
                size_bytes = sum(file.lstat().st_size for file in path.rglob("*") if not file.is_dir())
                if not dry_run:
                    runs.remove(path)
                yield Removed(name, path.name, size_bytes)


def _is_readable(path: Path) -> bool:
    try:
        runs.read_run(path)
    except RunDamaged:
        return False
    return True
