"""Keeps sealed documents that a store keeps for itself in STORE/.store. They are aids: without one, or with a damaged one, everything
is found anew."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from neff_bench.neffs.checksums import Unsealed, check_seal, plain_status, seal
from neff_bench.neffs.store import OWN
from neff_bench.system.decoding import decoder
from neff_bench.system.files import write_whole

T = TypeVar("T")
SETTLED_NS = 1_000_000_000
"""A file that was written less than so long ago could change once more within the resolution of the clock."""
_ENCODER = msgspec.json.Encoder()


class Document(msgspec.Struct, Generic[T]):
    """`maker`: what the entries depend on beside their keys, such as the code that made them."""

    maker: str
    entries: dict[str, T]


class Aid(Generic[T]):
    """What is known by key, of type `kind`: the entries that earlier calls left in a file of the store at `store`, and the new ones. Entries of
    another `maker` do not count. Its methods may be called by several threads."""

    def __init__(self, store: Path, name: str, kind: Any, maker: str = "") -> None:
        self._store, self._name, self._maker = store, name, maker
        self._decoder: msgspec.json.Decoder[Document[T]] = decoder(Document[kind])
        self._known = self._read()
        self._new: dict[str, T] = {}

    def find(self, key: str) -> T | None:
        """Return the entry, None when it has to be found anew."""
        return self._new.get(key, self._known.get(key))

    def keep(self, key: str, entry: T) -> None:
        """Remember what was found."""
        if self.find(key) != entry:
            self._new[key] = entry

    def save(self, lives: Callable[[str], bool] = lambda key: True) -> None:
        """Write what was learned, with what others have written since; without the keys that do not live any more."""
        if self._new:
            entries = {key: entry for key, entry in (self._read() | self._new).items() if lives(key)}
            document = msgspec.json.format(_ENCODER.encode(Document(self._maker, entries)), indent=2)
            write_aid(self._store, self._name, document + b"\n")

    def _read(self) -> dict[str, T]:
        try:
            document = self._decoder.decode(read_aid(self._store, self._name))
        except (OSError, Unsealed, msgspec.DecodeError, UnicodeDecodeError):
            return {}
        return document.entries if document.maker == self._maker else {}


def read_aid(store: Path, name: str) -> bytes:
    """Return the document. Raises `OSError`, also for a link, and `Unsealed`."""
    folder = os.open(store / OWN, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    with open(found, "rb") as file:
        document = file.read()
    check_seal(document)
    return document


def write_aid(store: Path, name: str, document: bytes) -> None:
    """Seal and write it. A directory that is no store, is another user's or cannot be written is left as it is."""
    try:
        status = os.lstat(store / OWN)
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
            write_whole(store / OWN / name, seal(document))
    except OSError:
        pass


def stamp(directory: Path, files: Iterable[tuple[str, str]]) -> tuple[str, bool] | None:
    """Return a hash over size, times and inode of files, and over a word beside each, and whether all are settled; None when a file is absent or
    not a plain one."""
    digest, newest_ns, prefix = hashlib.sha256(), 0, os.fspath(directory) + "/"
    try:
        for name, word in files:
            status = plain_status(prefix + name)
            if status is None:
                return None
            newest_ns = max(newest_ns, status.st_mtime_ns, status.st_ctime_ns)
            digest.update(
                f"{name} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino} {word}\n".encode()
            )
    except OSError:
        return None
    return digest.hexdigest(), newest_ns < time.time_ns() - SETTLED_NS
