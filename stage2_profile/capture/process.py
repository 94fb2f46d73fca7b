"""Runs a program with a time limit, bounded output, and no survivors: cold under a leash, or warm."""

from __future__ import annotations

import os
import selectors
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from neff_bench.system.endings import ending
from neff_bench.system.leashed import Leashed
from neff_bench.system.warm import WarmParent

LOG_LIMIT_BYTES = 512 * 1024
GRACE_S = 5.0
_POLL_S = 0.02
DRAIN_S = 1.0
"""How long output is still read after the program ended: a daemon that kept the pipe open cannot hold us longer."""


@dataclass(frozen=True)
class Finished:
    """`exit_code`: 128 + n when signal n ended it. `stdout`, `stderr`: at most the limit; a cut says how much is missing."""

    exit_code: int
    seconds: float
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    stopped: bool = False
    overflowed: bool = False

    @property
    def log(self) -> str:
        """Both streams as text."""
        return (self.stdout + self.stderr).decode("utf-8", "replace")


@dataclass(frozen=True)
class Limits:
    """When a program is ended: at its time limit, at `stop`, or where it prints more than `stdout_limit`. None keeps the head and tail of
    standard output, as of standard error; a number keeps all of it. `grace_s`: how long the program may then clean up."""

    timeout_s: float
    stop: threading.Event = field(default_factory=threading.Event)
    stdout_limit: int | None = None
    grace_s: float = GRACE_S


class Bounded:
    """The first and the last half of `limit` bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self.half = limit // 2
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take in more output; the middle of too much is dropped."""
        self.total += len(data)
        room = self.half - len(self.head)
        self.head += data[:room]
        self.tail += data[room:] if room < len(data) else b""
        if len(self.tail) > 2 * self.half:
            del self.tail[: -self.half]

    def bytes(self) -> bytes:
        """Return what was kept, with a line that says how much is missing."""
        tail = self.tail[-self.half :]
        missing = self.total - len(self.head) - len(tail)
        return bytes(self.head + (f"\n[... {missing} bytes left out ...]\n".encode() if missing else b"") + tail)


def run(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    limits: Limits,
    hold: Sequence[int] = (),
    warm: WarmParent | None = None,
) -> Finished:
    """Run a program to its end or its limits.

    `hold`: file descriptors (locks) that stay open until the last process is gone. `warm`: the parent to fork our own programs from.
    """
    stdout_limit, grace_s = limits.stdout_limit, limits.grace_s
    started = time.monotonic()
    forked = warm and warm.start(argv, cwd=cwd, environment=env, hold=hold, grace_s=grace_s)
    process = forked or Leashed(argv, cwd=cwd, environment=env, hold=hold, grace_s=grace_s)
    out, err = Bounded(2 * stdout_limit if stdout_limit else LOG_LIMIT_BYTES), Bounded(LOG_LIMIT_BYTES)
    timed_out = stopped = overflowed = False
    end, drained = started + limits.timeout_s, 0.0
    with closing(process), selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, out)
        if process.stderr is not None:
            selector.register(process.stderr, selectors.EVENT_READ, err)
        while True:
            if process.poll() is not None:
                # What it printed last may still lie in the pipes.
                drained = drained or time.monotonic() + DRAIN_S
                if not selector.get_map() or time.monotonic() >= drained:
                    break
            for key, _ in selector.select(0.1 if selector.get_map() else 0):
                data = os.read(key.fd, 1 << 16)
                if data:
                    key.data.add(data)
                else:
                    selector.unregister(key.fileobj)
            if not selector.get_map():
                process.wait(_POLL_S)
            if not (timed_out or stopped or overflowed):
                timed_out = time.monotonic() > end
                stopped = limits.stop.is_set()
                overflowed = stdout_limit is not None and out.total > stdout_limit
                if timed_out or stopped or overflowed:
                    process.end()
        code = process.poll() or 0
    code = code if code >= 0 else 128 - code
    return Finished(code, time.monotonic() - started, out.bytes(), err.bytes(), timed_out, stopped, overflowed)


def describe_exit(done: Finished, timeout_s: float) -> str:
    """Return how a program ended, in words for a row's reason."""
    if done.timed_out:
        return f"no answer in {timeout_s:g} s, ended"
    if done.stopped:
        return "interrupted"
    if done.overflowed:
        return "printed more than the limit, ended"
    is_signal = done.exit_code - 128 in set(signal.Signals)
    return ending(128 - done.exit_code if is_signal else done.exit_code)
