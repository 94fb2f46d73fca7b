"""Keeps the saves of one watch. The newest save wins: a look that is under way is ended when a file changes again."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import msgspec

from neff_bench.doors.subject import Subject
from neff_bench.doors.watch.changes import Changes, changes
from neff_bench.doors.watch.diagnostics import Diagnostic
from neff_bench.doors.watch.drawing import Drawing, Figures
from neff_bench.doors.watch.look import SIZE_BYTES, Told
from neff_bench.errors import NeffBenchError
from neff_bench.stage1_generate.toolchains.compiler_process import python_environment
from neff_bench.system.warm import WarmParent, WarmProcess

KEPT = 8
"""Saves that can still be pinned, beside the one that is."""
_MODULE = "neff_bench.doors.watch.look"
_TOLD = msgspec.msgpack.Decoder(Told)


class LookFailed(NeffBenchError):
    """A process that was to look at a save gave no answer."""


class Save(msgspec.Struct):
    """Holds what is known of a save. `busy`: a look is under way. `broken`: why it has no number."""

    number: int
    at: str
    busy: bool = True
    broken: str | None = None
    rows: list[dict[str, Any]] = []
    figures: dict[str, Figures] = {}
    diagnostics: list[Diagnostic] = []
    page: bytes | None = None
    programs: dict[str, bytes] = {}

    @property
    def good(self) -> bool:
        """Whether it has a picture to show."""
        return self.page is not None


class State(msgspec.Struct):
    """Says what a page shows. `save`: the newest. `numbered`: the one whose rows are shown. `good`: the one whose rows and picture are shown; it is older than `save` while that one is worked
    on or broken; `last`: the good one before it. `since_last`, `since_pinned`: of the rows that are shown."""

    save: int
    at: str
    busy: bool
    broken: str | None
    diagnostics: list[Diagnostic]
    numbered: int | None
    good: int | None
    last: int | None
    pinned: int | None
    rows: list[dict[str, Any]]
    since_last: list[Changes]
    since_pinned: list[Changes]


class Session:
    """Its methods belong to one event loop. `told`: is called whenever the state has changed."""

    def __init__(self, subject: Subject, warm: WarmParent, timeout_s: float, told: Callable[[], None]) -> None:
        self.subject, self.files = subject, {str(path) for path in subject.files}
        self.saves: dict[int, Save] = {}
        self.pinned: int | None = None
        self.began_ns = 0
        self._warm, self._timeout_s, self._changed = warm, timeout_s, told
        self._process: WarmProcess | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def newest(self) -> Save:
        """The last save, broken or not."""
        return self.saves[max(self.saves)]

    def look(self) -> None:
        """Begin a look at the files as they are now; the one under way is ended."""
        self.end()
        self.began_ns = time.time_ns()
        number = max(self.saves, default=0) + 1
        self.saves[number] = Save(number, datetime.now().astimezone().strftime("%H:%M:%S"))
        self._forget()
        threading.Thread(target=self._follow, args=(number,), daemon=True).start()
        self._loop.call_later(self._timeout_s, self._late, number)
        self._changed()

    def end(self) -> None:
        """End the look that is under way."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def pin(self, number: int | None) -> bool:
        """Compare with this save from now on; whether it is there to be pinned."""
        if number is not None and not (number in self.saves and self.saves[number].good):
            return False
        self.pinned = number
        self._changed()
        return True

    def state(self) -> State:
        """Return what there is to show."""
        newest, good = self.newest, self.shown()
        numbered = newest if newest.rows else good
        earlier = [save for number, save in sorted(self.saves.items()) if save.good and good and number < good.number]
        last = earlier[-1] if earlier else None
        return State(
            save=newest.number,
            at=newest.at,
            busy=newest.busy,
            broken=newest.broken,
            diagnostics=newest.diagnostics,
            numbered=numbered.number if numbered else None,
            good=good.number if good else None,
            last=last.number if last else None,
            pinned=self.pinned,
            rows=numbered.rows if numbered else [],
            since_last=_between(last, numbered),
            since_pinned=_between(self.saves.get(self.pinned or 0), numbered),
        )

    def shown(self) -> Save | None:
        """Return the newest save with a picture."""
        return next((save for _, save in sorted(self.saves.items(), reverse=True) if save.good), None)

    def _forget(self) -> None:
        """Let go of old saves, but for the pinned one and the newest good one."""
        good = self.shown()
        for number in sorted(self.saves)[:-KEPT]:
            if number != self.pinned and not (good and number == good.number):
                del self.saves[number]

    def drawing(self, number: int, over: int | None, constants: bool) -> Drawing | None:
        """Return what a picture of a save, over an older one, is made of; None where one of them is not there."""
        saves = [self.saves.get(one) for one in (*((over,) if over else ()), number)]
        known = [save for save in saves if save and save.programs]
        if not known or len(known) < len(saves):
            return None
        title = known[-1].rows[0]["kernel"] or ""
        texts = [{case: one.texts for case, one in save.figures.items()} for save in known]
        return Drawing(title, [save.programs for save in known], texts, constants)

    def draw(self, drawing: Drawing) -> bytes | None:
        """Return the picture, from a process of its own; None where that fails. A thread calls it."""
        try:
            return next((told.page for told in self._asked(drawing, lambda _: None) if told.page), None)
        except LookFailed:
            return None

    def _follow(self, number: int) -> None:
        """Follow a look from its start to its end, in a thread of its own."""
        why = None
        try:
            for told in self._asked(self.subject, lambda process: self._post(self._started, number, process)):
                self._post(self._hear, number, told)
        except LookFailed as error:
            why = str(error)
        self._post(self._ended, number, why)

    def _asked(self, request: Subject | Drawing, started: Callable[[WarmProcess], None]) -> Iterator[Told]:
        """Yield what a process tells that is asked. Raises `LookFailed`."""
        process = self._warm.start(
            [sys.executable, "-m", _MODULE], cwd=Path.cwd(), environment=python_environment(), stdin=True
        )
        if process is None or process.stdin is None or process.stderr is None:
            raise LookFailed("the process that looks cannot be started; start neff-bench watch again")
        started(process)
        threading.Thread(target=_pass_on, args=(process.stderr,), daemon=True).start()
        try:
            process.stdin.write(msgspec.msgpack.encode(request))
            process.stdin.close()
            yield from _messages(process.stdout)
        except (OSError, ValueError, msgspec.MsgspecError):
            pass  # it was ended
        finally:
            code = process.wait()
        if code:
            raise LookFailed(f"the look ended with exit code {code}")

    def _post(self, call: Callable[..., None], *values: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *values)
        except RuntimeError:
            pass  # the loop is closed: watch has ended

    def _started(self, number: int, process: WarmProcess) -> None:
        if number == self.newest.number and self.newest.busy:
            self._process = process
        else:
            process.end()

    def _hear(self, number: int, told: Told) -> None:
        save = self.newest
        if number != save.number:
            return
        for field in ("rows", "figures", "page", "programs", "diagnostics", "broken"):
            if getattr(told, field) is not None:
                setattr(save, field, getattr(told, field))
        if told.files is not None:
            # What a broken file imports is not known: what was followed stays so.
            self.files = {*told.files, *(self.files if save.broken else ())}
        self._changed()

    def _late(self, number: int) -> None:
        if number == self.newest.number and self.newest.busy:
            self.end()
            self._ended(number, f"took longer than {self._timeout_s:g} s")

    def _ended(self, number: int, why: str | None) -> None:
        save = self.newest
        if number != save.number or not save.busy:
            return
        save.busy, self._process = False, None
        if why is not None and save.broken is None:
            save.broken = why
            save.diagnostics = [*save.diagnostics, Diagnostic(self.subject.file, 0, "error", why)]
        self._changed()


def _between(before: Save | None, after: Save | None) -> list[Changes]:
    if before is None or after is None or before is after:
        return []
    return changes((before.rows, before.figures), (after.rows, after.figures))


def _messages(stream: IO[bytes]) -> Iterator[Told]:
    while size := stream.read(SIZE_BYTES):
        yield _TOLD.decode(stream.read(int.from_bytes(size, "big")))


def _pass_on(stream: IO[bytes]) -> None:
    """Write what a kernel prints to standard error."""
    try:
        for line in stream:
            sys.stderr.write(line.decode(errors="replace"))
            sys.stderr.flush()
    except (OSError, ValueError):
        pass
