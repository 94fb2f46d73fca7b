"""Runs one of our modules as a process of its own: a deadline, a bounded log, and nothing left running at the end."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from neff_bench.neffs.bundle import LOG
from neff_bench.stage1_generate.toolchains.compiler_process import python_environment
from neff_bench.system.leashed import Leashed
from neff_bench.system.warm import WarmParent

LOG_BYTES = 16 << 20
"""What a log keeps of a process's output; the rest is counted, not stored."""
_POLL_S = 0.1


def run_module(
    module: str,
    line: bytes,
    directory: Path,
    timeout_s: float,
    go_on: Callable[[], None] = lambda: None,
    warm: WarmParent | None = None,
) -> int | None:
    """Run `python -m module` in `directory` with `line` on its standard input and its output in `compile.log` there. Returns the exit code, minus n when
    signal n ended it; None after `timeout_s`. `go_on` is called while waiting and may raise to end the process. `warm`: the parent to fork it from, None to
    start it cold."""
    argv, environment = [sys.executable, "-m", module], python_environment()
    forked = warm and warm.start(argv, cwd=directory, environment=environment, stdin=True, one_stream=True)
    worker = forked or Leashed(argv, cwd=directory, environment=environment, stdin=True, one_stream=True)
    log = threading.Thread(target=_copy_log, args=(worker.stdout, directory / LOG), daemon=True)
    log.start()
    try:
        with suppress(BrokenPipeError):  # it died at once; the exit code says how
            worker.stdin.write(line + b"\n")  # type: ignore[union-attr]
            worker.stdin.flush()  # type: ignore[union-attr]
        deadline = time.monotonic() + timeout_s
        while (code := worker.wait(min(_POLL_S, max(0.0, deadline - time.monotonic())))) is None:
            go_on()
            if time.monotonic() >= deadline:
                return None
        return code
    # However it ended, no process of it stays.
    finally:
        worker.end()
        worker.wait()
        log.join(timeout=5)
        worker.close()


def _copy_log(source: IO[bytes], path: Path) -> None:
    room = LOG_BYTES
    dropped = 0
    try:
        with path.open("wb") as log:
            while block := source.read1(1 << 16):  # type: ignore[attr-defined]
                log.write(block[:room])
                log.flush()
                dropped += max(0, len(block) - room)
                room = max(0, room - len(block))
            if dropped:
                log.write(f"\n[{dropped} more bytes were not kept]\n".encode())
    except (OSError, ValueError):
        pass  # a full disk or a closed pipe: the process's own end says what happened
