"""Keeps a directory of bundles that several processes use at once.

    STORE/<case name>/           bundles
    STORE/.store/staging/<id>/   bundles being written; <id>.lock beside each is held by its writer
    STORE/.store/locks/          one lock per case being built

Only the owner of the directory (or root) writes to it; links in it are refused. Whoever may read it, may read it.

A bundle is written in staging, fsynced and renamed, so it is there whole or not at all; a replaced one is exchanged in
one step. What a killed writer left in staging is removed by the next `sweep`, because nobody holds its lock.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from neff_bench.neffs.bundle import LOCK, PROFILES, Bundle, read_bundle, record_files
from neff_bench.neffs.case import check_name
from neff_bench.neffs.errors import BundleError, StoreError
from neff_bench.system.exchange import aside, exchange
from neff_bench.system.files import sync
from neff_bench.system.lock import locked, try_lock, unlock

OWN = ".store"
"""The directory in which a store keeps its own files."""


class Store:
    """The store at `path`; nothing is created before the first `create`, `publish` or `lock`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._staging = path / OWN / "staging"
        self._locks = path / OWN / "locks"

    def create(self) -> None:
        """Make the directory. Raises `StoreError` when that cannot be done."""
        self._make(self._staging)
        self._make(self._locks)

    def names(self) -> list[str]:
        """Return the sorted names of the directories that should be bundles. Raises `StoreError` when there is no store."""
        try:
            with os.scandir(self.path) as entries:
                return sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))
        except FileNotFoundError:
            raise StoreError(self.path, "no such directory; generate-neffs makes one") from None
        except NotADirectoryError:
            raise StoreError(self.path, "not a directory") from None
        except OSError as error:
            raise StoreError(self.path, f"cannot list it: {error.strerror}") from None

    def bundles(self) -> Iterator[Bundle | BundleError]:
        """Yield every directory as a bundle, or as the error that says why it is none; sorted by name."""
        for name in self.names():
            try:
                yield read_bundle(self.path / name)
            except BundleError as error:
                yield error

    def find(self, name: str) -> Bundle | None:
        """Return the bundle, None when there is none under that name. Raises `BundleError` when it is damaged."""
        path = self.path / check_name(name)
        return read_bundle(path) if path.exists() else None

    def lock(self, name: str, waiting: Callable[[], None] = lambda: None) -> AbstractContextManager[None]:
        """Hold the case for this process; see `neff_bench.system.lock.locked`."""
        self._make(self._locks)
        return locked(self._locks / f"{check_name(name)}.lock", waiting)

    @contextmanager
    def scratch(self, name: str) -> Iterator[Path]:
        """Yield an empty directory on the store's disk, gone at the end; `sweep` removes it when this process is killed."""
        self._make(self._staging)
        staging, lock_path, descriptor = self._claim(check_name(name))
        try:
            self._make(staging)
            yield staging
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            shutil.rmtree(aside(staging), ignore_errors=True)
            unlock(lock_path, descriptor)

    def publish(self, name: str, fill: Callable[[Path], None], waiting: Callable[[], None] = lambda: None) -> Path:
        """Let `fill` write into an empty directory, then make it the bundle `name`; returns its path. Raises `StoreError`, `BundleError`.

        An older one is replaced when nobody profiles it any more (`waiting` is called until then, and may raise to give up), and keeps its profiles when the NEFF
        is the same. When `fill` raises, the store is as before.
        """
        final = self.path / check_name(name)
        with self.scratch(name) as staging:
            fill(staging)
            try:
                _remove_hidden(staging)
                record_files(staging)
                with _unprofiled(final, waiting):
                    _keep_profiles(final, staging)
                    _sync_tree(staging)
                    _replace(staging, final)
                    sync(self.path)
            except OSError as error:
                raise StoreError(final, f"cannot publish: {error.strerror}") from None
        return final

    def sweep(self) -> int:
        """Remove what killed writers left behind; returns how many unfinished bundles that were. Raises `StoreError`."""
        check_own(self.path)
        removed = 0
        for lock_path in _listed(self._staging, ".lock"):
            descriptor = try_lock(lock_path)
            if descriptor is not None:
                self._clear(lock_path.with_suffix(""))
                unlock(lock_path, descriptor)
                removed += 1
        for lock_path in _listed(self._locks, ".lock"):
            descriptor = try_lock(lock_path)
            if descriptor is not None:
                unlock(lock_path, descriptor)
        return removed

    def _claim(self, name: str) -> tuple[Path, Path, int]:
        while True:
            staging = self._staging / f"{name}-{os.getpid()}-{secrets.token_hex(4)}"
            lock_path = staging.with_name(staging.name + ".lock")
            descriptor = try_lock(lock_path)
            if descriptor is not None:
                return staging, lock_path, descriptor

    def _clear(self, staging: Path) -> None:
        moved_aside = aside(staging)
        final = self.path / staging.name.rsplit("-", 2)[0]
        if moved_aside.is_dir() and not final.exists():
            os.rename(moved_aside, final)
        shutil.rmtree(staging, ignore_errors=True)
        shutil.rmtree(moved_aside, ignore_errors=True)

    def _check_owner(self) -> None:
        """Refuse a directory that somebody else made (in a shared /tmp, say): it may be a trap. Raises `StoreError`, or `OSError` when
        there is none."""
        for status in (os.stat(self.path, follow_symlinks=False), os.stat(self.path)):
            if os.geteuid() not in (0, status.st_uid) and status.st_uid != 0:
                raise StoreError(self.path, f"belongs to another user (uid {status.st_uid}); choose another directory")

    def _make(self, directory: Path) -> None:
        try:
            if self.path.exists():
                self._check_owner()
            check_own(self.path)
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(self.path, f"cannot write to it: {error.strerror}") from None


def check_own(store: Path) -> None:
    """Refuse links, which would lead what a store writes to somewhere else. Raises `StoreError`."""
    for directory in (store / OWN, *(store / OWN / name for name in ("staging", "locks", "aside", "arrays"))):
        if directory.is_symlink():
            raise StoreError(directory, "a symbolic link; a store holds only real directories")


@contextmanager
def _unprofiled(bundle: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the profiles of a bundle, where there is one, until it is replaced. Who waits for them finds the new bundle."""
    if not bundle.is_dir():
        yield
        return
    (bundle / PROFILES).mkdir(exist_ok=True)
    with locked(bundle / PROFILES / LOCK, waiting):
        yield


def _replace(staging: Path, final: Path) -> None:
    try:
        os.rename(staging, final)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        exchange(staging, final)


def _keep_profiles(old: Path, new: Path) -> None:
    """Copy the profiles of a bundle into the one that replaces it, where that has the same NEFF or the older one cannot be read."""
    if not (old / PROFILES).is_dir():
        return
    after = read_bundle(new).manifest.neff_sha256
    try:
        before = read_bundle(old).manifest.neff_sha256
    except BundleError:
        before = after
    if after is None or before != after:
        return
    copy_finished(old / PROFILES, new / PROFILES, old / PROFILES)


def copy_finished(source: Path, target: Path, profiles: Path) -> None:
    """Copy a directory of a bundle but for what is unfinished in its profiles, which begins with a dot there."""

    def unfinished(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if folder == str(profiles) and name.startswith(".")]

    shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True, ignore=unfinished)


def _remove_hidden(directory: Path) -> None:
    """Remove files whose names begin with a dot: a tool has begun to write them and not finished."""
    for path in directory.rglob(".*"):
        if path.is_symlink() or path.is_file():
            path.unlink()


def _sync_tree(directory: Path) -> None:
    for parent, _, files in os.walk(directory):
        for file in files:
            sync(Path(parent, file))
        sync(Path(parent))


def _listed(directory: Path, suffix: str) -> list[Path]:
    try:
        return [path for path in directory.iterdir() if path.suffix == suffix]
    except FileNotFoundError:
        return []
