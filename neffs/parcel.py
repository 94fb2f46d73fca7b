"""Packs a bundle as bytes, for hosts that share no file system: an uncompressed tar of plain files with their checksums."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from neff_bench.neffs.bundle import MANIFEST, PROFILES, Bundle, files_below, files_of, found_files, read_bundle
from neff_bench.neffs.checksums import wrong_file
from neff_bench.neffs.errors import BundleError
from neff_bench.neffs.store import Store
from neff_bench.system.cluster import host


def pack_bundle(path: Path) -> bytes:
    """Return a bundle with its runs, without what is unfinished in it. Raises `OSError`."""
    try:
        runs = sorted(name for name in os.listdir(path / PROFILES) if not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        runs = []
    of_runs = [file for run in runs for file in files_below(path, f"{PROFILES}/{run}")]
    return pack(path, [MANIFEST, *found_files(path), *of_runs])


def unpack_bundle(data: bytes, path: Path) -> Bundle:
    """Write a packed bundle into the empty directory `path`. Raises `BundleError` when a file differs from its checksum; `runs.adopt` compares the runs."""
    unpack(data, path)
    bundle = read_bundle(path)
    wrong = wrong_file(path, files_of(bundle.manifest))
    if wrong is None and not bundle.verified:
        wrong = f"{MANIFEST} has no checksum"
    if wrong is not None:
        raise BundleError(path, f"damaged on its way: {wrong}")
    return bundle


def pack(path: Path, names: Iterable[str]) -> bytes:
    """Pack these plain files of a directory. Raises `BundleError` for anything else, and `OSError`."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in names:
            if (path / name).is_symlink() or not (path / name).is_file():
                raise BundleError(path, f"{name} is not a plain file")
            tar.add(path / name, name, recursive=False)
    return made.getvalue()


def unpack(data: bytes, path: Path) -> None:
    """Write the files of a packed directory below `path`. Raises `BundleError` for what `pack` does not make."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for member in tar:
                parts = member.name.split("/")
                content = tar.extractfile(member) if member.isreg() else None
                if content is None or "" in parts or ".." in parts or "." in parts:
                    raise BundleError(path, f"damaged on its way: {member.name!r} is not a file inside it")
                (path / member.name).parent.mkdir(parents=True, exist_ok=True)
                (path / member.name).write_bytes(content.read())
    except tarfile.TarError as error:
        raise BundleError(path, f"damaged on its way: {error}") from None


@dataclass(frozen=True)
class Shared:
    """The path of a store on a file system that all hosts share. `probe`: a directory in it that only those who share it see."""

    path: Path
    probe: Path

    def unseen(self) -> str | None:
        """Return why this host cannot work in the store, None when it can."""
        if self.probe.is_dir():
            return None
        return f"{host()} does not see {self.path}; --shared-store is for stores on a file system that all hosts share"


@contextmanager
def shared(path: Path) -> Iterator[Shared]:
    """Let other hosts work in a store; nothing that a lost host left in it remains at the end."""
    store = Store(path.resolve())
    with store.scratch("shared") as probe:
        yield Shared(store.path, probe)
    store.sweep()


@cache
def workplace() -> Store:
    """Return where a worker of a cluster keeps what it works on: a store of this user on the host's own disk, in which everything is
    in staging. What a killed worker left there goes with the first call of the next one."""
    store = Store(Path(tempfile.gettempdir()) / f"neff-bench-ray-{os.geteuid()}")
    store.create()
    store.sweep()
    return store
