"""Starts a program, with a time limit, bounded output, and no survivors (see leash.py)."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LEASH = Path(__file__).with_name("leash.py")
LOG_LIMIT_BYTES = 512 * 1024
GRACE_S = 5.0
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
        """What was kept, with a line that says how much is missing."""
        tail = self.tail[-self.half :]
        missing = self.total - len(self.head) - len(tail)
        return bytes(self.head + (f"\n[... {missing} bytes left out ...]\n".encode() if missing else b"") + tail)


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float,
    stop: threading.Event,
    stdout_limit: int | None = None,
    hold: Sequence[int] = (),
    grace_s: float = GRACE_S,
) -> Finished:
    """Run a program to its end, its time limit or `stop`.

    `stdout_limit`: None keeps the head and tail of standard output, as of standard error; a number keeps all of it and
    ends a program that prints more. `hold`: file descriptors (locks) that stay open until the last process is gone.
    `grace_s`: how long a program that is to be ended may clean up.
    """
    life_read, life_write = os.pipe()
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(LEASH), str(life_read), str(grace_s), *argv],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(life_read, *hold),
            start_new_session=True,
        )
    except BaseException:
        os.close(life_write)
        raise
    finally:
        os.close(life_read)
    out, err = Bounded(2 * stdout_limit if stdout_limit else LOG_LIMIT_BYTES), Bounded(LOG_LIMIT_BYTES)
    timed_out = stopped = overflowed = False
    end, drained = started + timeout_s, 0.0
    with process, selectors.DefaultSelector() as selector:
        try:
            for pipe, sink in ((process.stdout, out), (process.stderr, err)):
                if pipe is not None:
                    selector.register(pipe, selectors.EVENT_READ, sink)
            while process.poll() is None or (selector.get_map() and time.monotonic() < drained):
                for key, _ in selector.select(0.1 if selector.get_map() else 0.02):
                    data = os.read(key.fd, 1 << 16)
                    if data:
                        key.data.add(data)
                    else:
                        selector.unregister(key.fileobj)
                if life_write >= 0:
                    timed_out = time.monotonic() > end
                    stopped = stop.is_set()
                    overflowed = stdout_limit is not None and out.total > stdout_limit
                    if timed_out or stopped or overflowed:
                        os.close(life_write)
                        life_write = -1
                drained = drained or (time.monotonic() + DRAIN_S if process.poll() is not None else 0.0)
        finally:
            if life_write >= 0:
                os.close(life_write)
    return Finished(
        process.returncode, time.monotonic() - started, out.bytes(), err.bytes(), timed_out, stopped, overflowed
    )


def describe_exit(done: Finished, timeout_s: float) -> str:
    """How a program ended, in words for a row's reason."""
    if done.timed_out:
        return f"no answer in {timeout_s:g} s, ended"
    if done.stopped:
        return "interrupted"
    if done.overflowed:
        return "printed more than the limit, ended"
    if done.exit_code > 128:
        try:
            return f"killed by {signal.Signals(done.exit_code - 128).name}"
        except ValueError:
            pass
    return f"exit code {done.exit_code}"
