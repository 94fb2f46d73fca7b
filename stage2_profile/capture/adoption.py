"""Runs that another host made of a bundle, taken over into the bundle that is here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from neff_bench.neffs.bundle import PROFILES
from neff_bench.stage2_profile.capture.runs import (
    RECORD,
    WORK,
    check_file,
    order,
    publish,
    read_run,
    run_directories,
    write_run,
)
from neff_bench.system.files import sync


def unadopted(bundle: Path, before: Mapping[str, bytes]) -> list[str]:
    """Return the names of the runs that are not as `records` found them."""
    return [name for name, record in records(bundle).items() if before.get(name) != record]


def records(bundle: Path) -> dict[str, bytes]:
    """Return the content of `run.json` of each run, by name."""
    return {path.name: (path / RECORD).read_bytes() for path in run_directories(bundle)}


def adopt(bundle: Path, arrived: Path) -> None:
    """Publish runs of this bundle that another host made, under their own names: new ones whole, and what was added to one that is here, its
    record last. `arrived`: a directory on the same disk with a directory for each. Call it under the lock. Raises `RunDamaged` before anything is published."""
    found = [(arrived / name, read_run(arrived / name)) for name in sorted(os.listdir(arrived), key=order)]  # type: ignore[arg-type]
    for path, run in found:
        for name in run.files:
            check_file(path, run, name)
    for path, run in found:
        final = bundle / PROFILES / path.name
        if not final.exists():
            (path / RECORD).unlink()  # it is written anew, and is no file of the run
            publish(path.rename(final.with_name(f"{WORK}{path.name}")), run)
            continue
        for name in run.files:
            sync(path / name)
            os.replace(path / name, final / name)
        write_run(final, run)
