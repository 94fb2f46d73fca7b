"""Files of one commit of a clone, whatever is checked out there: a figure and its kernel are those of one commit."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
import tempfile
from functools import cache
from pathlib import Path


def data(checkout: Path, commit: str, path: str) -> bytes:
    """The contents of a file. Raises FileNotFoundError where the clone has no such file at that commit."""
    command = ["git", "-C", str(checkout), "cat-file", "blob", f"{commit}:{path}"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise FileNotFoundError(
            f"{checkout}: no {path} at {commit}; it has to be a clone with that commit and its files"
        )
    return done.stdout


@cache
def tree(checkout: Path, commit: str, path: str) -> Path:
    """A directory with what a folder had at that commit. Raises FileNotFoundError where the clone has no such folder there."""
    command = ["git", "-C", str(checkout), "archive", commit, path]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise FileNotFoundError(
            f"{checkout}: no {path} at {commit}; it has to be a clone with that commit and its files"
        )
    place = Path(_folder().name) / f"{checkout.name}-{commit[:12]}"
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(place, filter="data")
    return place / path


def placed(source: str, name: str) -> Path:
    """A file of this text, for what imports kernels from files. It lives as long as this process. name: with its suffix."""
    place = Path(_folder().name) / hashlib.sha256(source.encode()).hexdigest()[:12] / name
    place.parent.mkdir(exist_ok=True)
    place.write_text(source)
    return place


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="correlation-")
