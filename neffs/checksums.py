"""Computes checksums: of the files of a directory, and of the JSON documents that record them.

A sealed document is a JSON object, indented by two, whose last field is the sha256 of every byte before that field.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from neff_bench.neffs.errors import NeffsError

_SEAL = b',\n  "checksum": "%s"\n}\n'
_SEALED = re.compile(re.escape(_SEAL).replace(b"%s", b"([0-9a-f]{64})"))
_SEAL_BYTES = len(_SEAL) - len(b"%s") + 64
_END = b"\n}\n"
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class FileSum:
    """Size and hex sha256 of a file; None stands for what an older version did not record."""

    bytes: int | None
    sha256: str | None


class Unsealed(NeffsError):
    """A document whose checksum is absent (`absent`) or does not fit its content."""

    def __init__(self, what: str, *, absent: bool) -> None:
        super().__init__(what)
        self.absent = absent


def seal(document: bytes) -> bytes:
    """Add the checksum to a JSON object that is indented by two, not empty, and ends with a newline."""
    if not document.endswith(_END):
        raise ValueError("only an indented JSON object that ends with a newline can be sealed")
    body = document[: -len(_END)]
    return body + _SEAL % hashlib.sha256(body).hexdigest().encode()


def check_seal(document: bytes) -> None:
    """Check the seal. Raises `Unsealed` unless the document carries the checksum of its own content."""
    found = _SEALED.fullmatch(document, max(0, len(document) - _SEAL_BYTES))
    if found is None:
        raise Unsealed("it has no checksum", absent=True)
    if hashlib.sha256(document[: found.start()]).hexdigest().encode() != found[1]:
        raise Unsealed("its checksum does not fit its content", absent=False)


def sha256_file(path: Path) -> str:
    """Return the sha256 in hex of a file's contents, read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


@cache
def tree_digest(folder: Path) -> str:
    """Return the sha256 in hex over the names and contents of all Python files below `folder`, as they are when it is asked first."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(folder)} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def sum_file(path: Path) -> FileSum:
    """Return size and sha256 of a file as they are now."""
    return FileSum(path.stat().st_size, sha256_file(path))


def plain_status(path: Path | str) -> os.stat_result | None:
    """Return what the file system says of a plain file; None for a link, a pipe or anything else. Raises `OSError`."""
    status = os.stat(path, follow_symlinks=False)
    return status if stat.S_ISREG(status.st_mode) else None


def wrong_size(directory: Path, files: Mapping[str, FileSum]) -> str | None:
    """Return what is wrong with the files at first sight (one is absent or has another size), None when nothing is."""
    for name, expected in files.items():
        try:
            status = plain_status(directory / name)
        except (FileNotFoundError, NotADirectoryError):
            return f"{name} is missing"
        except OSError as error:
            return f"{name} cannot be read: {error.strerror}"
        if status is None:
            return f"{name} is not a plain file"
        if expected.bytes is not None and status.st_size != expected.bytes:
            return f"{name} has {status.st_size} bytes instead of {expected.bytes}"
    return None


def wrong_file(directory: Path, files: Mapping[str, FileSum]) -> str | None:
    """Return what is wrong with the first of the files that is not as it was recorded, all sizes first; None when all are."""
    return wrong_size(directory, files) or wrong_content(directory, files)


def wrong_content(directory: Path, files: Mapping[str, FileSum]) -> str | None:
    """Return what is wrong with the content of the files, None when every sha256 fits."""
    for name, expected in files.items():
        try:
            found = sha256_file(directory / name)
        except OSError as error:
            return f"{name} cannot be read: {error.strerror}"
        if expected.sha256 is not None and found != expected.sha256:
            return f"{name} was changed after it was written"
    return None
