"""Names what can go wrong in stage 2; each message is one line: what, where, what was expected, what to do."""

from __future__ import annotations

from pathlib import Path

from neff_bench.errors import NeffBenchError


class ProfileError(NeffBenchError):
    """Base of everything that this room raises; its text is one line for the user."""


class ToolMissing(ProfileError):
    """No profiler for these NEFFs on this host."""


class CaptureFailed(ProfileError):
    """A capture that failed; its text becomes the reason of a row."""


class ViewFailed(ProfileError):
    """`trace_may_be_good`: the tool did not finish, so the capture need not be repeated. `format_gone`: it does not write what
    was asked for."""

    def __init__(self, what: str, *, trace_may_be_good: bool = False, format_gone: bool = False) -> None:
        super().__init__(what)
        self.format_gone = format_gone
        self.trace_may_be_good = trace_may_be_good


class RunDamaged(ProfileError):
    """A file of the run in `directory` is absent or was changed."""

    def __init__(self, directory: Path, what: str) -> None:
        super().__init__(f"{directory.parent.name}/{directory.name}: {what}")
        self.directory = directory
        self.what = what


class UnsafePath(ProfileError):
    """A path that is refused before anything is run or written."""
