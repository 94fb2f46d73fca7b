"""What the builder tells a worker process."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from neff_bench.neffs.case import Case


@dataclass(frozen=True)
class Options:
    """How to compile, where it is not part of the case.

    `memory_bytes`: limit of a worker's address space, None for no limit. `verbose`: the compiler's own log level is raised
    and its intermediate files are kept.
    """

    memory_bytes: int | None = None
    verbose: bool = False


def default_memory_bytes(toolchain: str) -> int | None:
    """The limit where the user gives none: 90 % of this host's memory, none for the SDK."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 9 // 10 if toolchain == "sim" else None


@dataclass(frozen=True)
class Job:
    """One case to build in the worker's current directory.

    `key`: of the case. `nkilib`: folder to put on `sys.path`, or None. `folder`: what the files of `case.own` are relative
    to, None for a built-in kernel.
    """

    case: Case
    key: str
    toolchain: Literal["sim", "neuron"]
    nkilib: str | None
    options: Options
    folder: str | None = None
