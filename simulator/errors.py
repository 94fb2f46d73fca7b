"""Everything the simulator raises for a user's mistake.

    SimulatorError
    ├── CompileError     a kernel, graph or target that cannot be compiled
    ├── ExecutionError   a program that cannot run on the inputs it was given
    ├── CaptureError     a capture that failed: bad NEFF, bad input file, device fault
    └── ViewError        a trace or program file that cannot be read or shown

The text of each is one line: where (when known), what, what was expected.
"""

from __future__ import annotations


class SimulatorError(Exception):
    """`what`: one line. `source`: "file.py:33" of the user's code, or a file name; None when there is no place to name."""

    def __init__(self, what: str, source: str | None = None) -> None:
        self.what = " ".join(what.split())
        self.source = source or None
        super().__init__(f"{self.source}: {self.what}" if self.source else self.what)

    def __reduce__(self) -> tuple[type[SimulatorError], tuple[str, str | None]]:
        return type(self), (self.what, self.source)


class CompileError(SimulatorError):
    pass


class ExecutionError(SimulatorError):
    pass


class CaptureError(SimulatorError):
    pass


class ViewError(SimulatorError):
    pass
