"""Finds lines of kernels, and the lines that called them: the sources of what is recorded."""

from __future__ import annotations

from pathlib import Path
from types import FrameType

_SIMULATOR = Path(__file__).parent.parent
OWN = tuple(f"{_SIMULATOR / room}/" for room in ("nki", "operations", "recording"))
"""Folders of the dialect itself: what they hold is never the source of an instruction."""


class Lines:
    """`texts`: "file.py:33", index 0 is "" (unknown). `callers`: for each, the index of the line that called it, 0 for none.

    `root`: identity of the frame that calls the kernel, where call stacks end; 0 where none does.
    """

    __slots__ = ("callers", "index", "root", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = [""]
        self.callers: list[int] = [0]
        self.index: dict[tuple[str, int], int] = {("", 0): 0}
        self.root = 0

    def locate(self, frame: FrameType | None) -> int:
        """Return the index of the innermost line from `frame` on that is not the dialect's own, called as it is now."""
        if frame is None or id(frame) == self.root:
            return 0
        caller = self.locate(frame.f_back)
        if frame.f_code.co_filename.startswith(OWN):
            return caller
        return self.intern(f"{frame.f_code.co_filename}:{frame.f_lineno}", caller)

    def intern(self, text: str, caller: int = 0) -> int:
        """Return the index of a source text. `caller`: index of the line that called it, 0 for none."""
        index = self.index.get((text, caller))
        if index is None:
            index = self.index[text, caller] = len(self.texts)
            self.texts.append(text)
            self.callers.append(caller)
        return index
