"""Knows which line of a kernel runs, called by which lines: kept by place, since to follow a stack of calls for each instruction takes long."""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import CodeType, FrameType
from typing import TYPE_CHECKING

from neff_bench.simulator.native.recorder import compiled

_RESUMED = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
"""Frames of such code may go on for another caller."""

_Place = tuple[int, int, int]
"""An instruction of a code object, the latter by identity since hashing one walks all of it, and the number of its stack of callers."""


class PlainPlaces:
    """`locate`: the source of a frame that stands at a place for the first time; `sources` keeps it.

    `numbers`: stacks of callers, each by its innermost place; 0 is the empty one. `standing`: the callers that were seen last,
    outermost first, each with its instruction and the number of its stack. While a frame runs, those above it stand at the same calls,
    so a search ends at the first one that was seen; `depths` has them, but for those that may go on for another caller.
    """

    __slots__ = ("called_at", "caller", "codes", "depths", "locate", "number", "numbers", "root", "sources", "standing")

    def __init__(self, locate: Callable[[FrameType], int]) -> None:
        self.locate = locate
        self.sources: dict[_Place, int] = {}
        self.numbers: dict[_Place, int] = {}
        self.codes: list[CodeType] = []  # their identities stay theirs
        self.standing: list[tuple[FrameType, int, int]] = []
        self.depths: dict[FrameType, int] = {}
        self.start(0)

    def start(self, root: int) -> None:
        """Forget the frames that were seen. `root`: identity of the frame that calls the kernel; 0 where none does."""
        self.root = root
        self._cut(0)
        self.caller: FrameType | None = None  # of the latest place, with its instruction and the number of its stack
        self.called_at = self.number = -1

    def source(self, up: int) -> int:
        """Return the source of the frame `up` calls above the caller's; 0 for what is above the kernel."""
        frame = sys._getframe(up + 1)
        if id(frame) == self.root:
            return 0
        caller = frame.f_back
        if caller is not self.caller or caller is None or caller.f_lasti != self.called_at:
            self._follow(caller)
        key = id(frame.f_code), frame.f_lasti, self.number
        source = self.sources.get(key)
        if source is None:
            self.codes.append(frame.f_code)
            source = self.sources[key] = self.locate(frame)
        return source

    def _follow(self, caller: FrameType | None) -> None:
        self.number = self._number(caller)
        self.caller = caller
        resumed = caller is None or caller.f_code.co_flags & _RESUMED
        self.called_at = -1 if caller is None or resumed else caller.f_lasti

    def _number(self, frame: FrameType | None) -> int:
        """Return the number of the stack of callers that ends where a frame stands now."""
        if frame is None or id(frame) == self.root:
            self._cut(0)
            return 0
        depth, at = self.depths.get(frame, -1), frame.f_lasti
        if depth >= 0:
            self._cut(depth + 1)
            _, before, number = self.standing[depth]
            if before == at:
                return number
            self._cut(depth)
            above = self.standing[-1][2] if depth else 0
        else:
            above = self._number(frame.f_back)
        key = id(frame.f_code), at, above
        if key not in self.numbers:
            self.codes.append(frame.f_code)
        number = self.numbers.setdefault(key, len(self.numbers) + 1)
        if not frame.f_code.co_flags & _RESUMED:
            self.depths[frame] = len(self.standing)
        self.standing.append((frame, at, number))
        return number

    def _cut(self, depth: int) -> None:
        for frame, *_ in self.standing[depth:]:
            self.depths.pop(frame, None)
        del self.standing[depth:]


Places = PlainPlaces
if not TYPE_CHECKING and (_core := compiled()) is not None:
    Places = _core.Places
