"""Says how often a compiler ran while something was timed.

Two things are counted, and the larger is told: the compiler's processes, which Python reports to its audit hooks, and the new NEFFs in the compile cache.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlparse

COMPILERS = ("neuronx-cc", "neuron-cc", "walrus_driver")
CACHE = Path("/var/tmp/neuron-compile-cache")
"""Where the SDK has it unless NEURON_COMPILE_CACHE_URL says otherwise."""
_STARTS = ("subprocess.Popen", "os.posix_spawn", "os.exec", "os.spawn", "os.system")

_started = 0
_watching = False


@dataclass(frozen=True)
class Seen:
    """`started`: compilers that this process has started since it counts. `cached`: NEFFs in the compile cache."""

    started: int
    cached: int


def seen() -> Seen:
    """Return what has been seen so far."""
    _watch()
    return Seen(_started, _cached())


def since(before: Seen) -> int:
    """Return the compilations since then."""
    now = seen()
    return max(now.started - before.started, now.cached - before.cached, 0)


def cache_directory() -> Path | None:
    """Return the cache directory of the SDK; None where it is no directory of this host (an S3 bucket, say)."""
    url = os.environ.get("NEURON_COMPILE_CACHE_URL") or os.environ.get("NEURON_CC_CACHE_DIR") or str(CACHE)
    parts = urlparse(url)
    return Path(parts.path) if parts.scheme in ("", "file") else None


def _cached() -> int:
    directory = cache_directory()
    return sum(1 for _ in directory.rglob("*.neff")) if directory is not None and directory.is_dir() else 0


def _watch() -> None:
    """Install the audit hook, once: it stays until the process ends."""
    global _watching
    if not _watching:
        _watching = True
        sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    global _started
    if event in _STARTS and any(_names_compiler(part) for argument in arguments[:2] for part in _parts(argument)):
        _started += 1


def _parts(argument: object) -> list[object]:
    return list(argument[:4]) if isinstance(argument, (list, tuple)) else [argument]


def _names_compiler(part: object) -> bool:
    text = os.fsdecode(part) if isinstance(part, (bytes, os.PathLike)) else str(part)
    return os.path.basename(text.split(" ")[0]) in COMPILERS
