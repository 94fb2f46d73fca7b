"""Says what the builder tells a worker process."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import orjson

from neff_bench.neffs.case import Case
from neff_bench.stage1_generate.options import Options


@dataclass(frozen=True)
class Job:
    """One case to build in the worker's current directory.

    `key`: of the case. `nkilib`: folder to put on `sys.path`, or None. `options`: those of the call. `folder`: what the files
    of `case.own` are relative to, None for a built-in kernel.
    """

    case: Case
    key: str
    toolchain: Literal["sim", "neuron"]
    nkilib: str | None = None
    options: Options = field(default_factory=Options)
    folder: str | None = None


def encode(job: Job) -> bytes:
    """Return the job as one line."""
    return orjson.dumps(job, default=str)


def _path(kind: type[Any], value: Any) -> Any:
    return Path(value) if kind is Path else value


_DECODER = msgspec.json.Decoder(Job, dec_hook=_path)
"""Made once: the warm parent hands it on to its workers."""


def decode(line: bytes) -> Job:
    """Return the job that a line says."""
    return _DECODER.decode(line)
