"""Says what a driver takes from a checkout: files of one commit, whatever is checked out there, so that a figure and its kernel are those of one
commit; traces; and kernels, recorded."""

from __future__ import annotations

import contextlib
import hashlib
import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from neff_bench.doors.estimation import record_kernel
from neff_bench.parsers.ntff import read_ntff
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.program import Program

ENGINES = ("tensor", "vector", "scalar")
"""Whose active times are compared."""


def data(checkout: Path, commit: str, path: str) -> bytes:
    """Return the contents of a file. Raises FileNotFoundError where the clone has no such file at that commit."""
    return _git(checkout, commit, path, "cat-file", "blob", f"{commit}:{path}")


@cache
def tree(checkout: Path, commit: str, path: str) -> Path:
    """Return a directory with what a folder had at that commit. Raises FileNotFoundError where the clone has no such folder there."""
    packed = _git(checkout, commit, path, "archive", commit, path)
    place = Path(_folder().name) / f"{checkout.name}-{commit[:12]}"
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(place, filter="data")
    return place / path


def _git(checkout: Path, commit: str, path: str, *words: str) -> bytes:
    """Return what a command prints that reads `path` at `commit`."""
    done = subprocess.run(["git", "-C", str(checkout), *words], capture_output=True, check=False)
    if done.returncode:
        raise FileNotFoundError(
            f"{checkout}: no {path} at {commit}; it has to be a clone with that commit and its files"
        )
    return done.stdout


def placed(contents: str | bytes, name: str) -> Path:
    """Return a file of these contents, for what reads kernels and traces from files. It lives as long as this process. name: with its suffix."""
    data = contents.encode() if isinstance(contents, str) else contents
    place = Path(_folder().name) / hashlib.sha256(data).hexdigest()[:12] / name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(data)
    return place


def present(path: Path) -> Path:
    """Return a file of a checkout as it lies there. Raises FileNotFoundError where it is missing."""
    if not path.is_file():
        raise FileNotFoundError(f"no {path}")
    return path


def built(entry: str, inputs: Mapping[str, tuple[int, ...]], dtype: str, target: str = "trn2", lnc: int = 1) -> Program:
    """Return a kernel of the current dialect whose arguments are tensors of one dtype. entry: file and function. inputs: their shapes, by name."""
    install()
    with silenced():
        return record_kernel(entry, {name: (shape, dtype) for name, shape in inputs.items()}, target, lnc, {})


class Traced(NamedTuple):
    """Total time of a trace, and by engine and "dma" the times in which they were active. family: the chip, None where it is not known."""

    total_us: float
    active_us: dict[str, float]
    family: str | None


def traced(contents: bytes, path: str) -> Traced:
    """Return the times in an NTFF file. Raises ValueError for one without a total time or DMA."""
    trace = read_ntff(placed(contents, path.replace("/", "_")))
    if trace.total_time_ps is None or trace.dma is None:
        raise ValueError(f"{path}: no total time or no DMA in the trace")
    active = {engine: trace.engines[engine].active_time_s * 1e6 for engine in ENGINES}
    return Traced(trace.total_time_ps * 1e-6, {**active, "dma": trace.dma.active_time_s * 1e6}, trace.family)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="correlation-")


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Nothing that a kernel prints while it is traced is seen."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        yield
