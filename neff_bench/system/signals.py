"""Handles SIGINT, SIGTERM and SIGHUP: work is ended in order, and the exit code is 128 plus the number of the signal.

In `ending_raises` the first signal raises `Ended` wherever the main thread is. In `stoppable` it only sets an event, so that children are ended, locks are
given back and the answer so far is printed. A second Ctrl-C ends the process at once, in both.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_S = 0.1
"""A Ctrl-C that comes sooner after another is the same one, sent to the process and to its group."""


class Ended(KeyboardInterrupt):
    """A signal asked the command to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Stop(threading.Event):
    """Set by the first signal; `number` is its number, None before."""

    number: int | None = None

    def exit_code(self, otherwise: int) -> int:
        """Return 128 plus the number of the signal that came, `otherwise` when none did."""
        return otherwise if self.number is None else 128 + self.number

    @property
    def name(self) -> str:
        """Name of the signal, empty when none has come."""
        return signal.Signals(self.number).name if self.number else ""


@contextmanager
def ending_raises() -> Iterator[None]:
    """Raise `Ended` in the main thread at the first signal."""

    def end(number: int) -> None:
        raise Ended(number)

    with _handled(end):
        yield


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Yield an event that the first signal sets."""
    stop = Stop()

    def end(number: int) -> None:
        stop.number = number
        stop.set()

    with _handled(end):
        yield stop


@contextmanager
def _handled(first: Callable[[int], None]) -> Iterator[None]:
    """Handle SIGNALS until the end of the block. A signal that was ignored when the command started (nohup) stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: float | None = None

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal came
        now = time.monotonic()
        if came is None:
            came = now
            first(number)
        elif number == signal.SIGINT and now - came > _AGAIN_S:
            os._exit(128 + number)

    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, handle)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
