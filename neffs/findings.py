"""Declares findings: what is known of a kernel beside its numbers, each with the line that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from neff_bench.system.decoding import decoder
from neff_bench.system.files import write_whole

FILE = "findings.json"
"""Where a simulated capture leaves them, in its working directory."""

Kind = Literal["unwritten-read", "unwritten-output", "not-finite", "race", "doubled-work", "refused"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was found. `file` and `line`: the place in the kernel, None where it is not known. `releases`: of the SDK that
    refuse it; () for what is true whatever the release.

    `unwritten-read`: memory is read that nothing wrote. `unwritten-output`: an output is written in part or never. `not-finite`: an
    output has NaN or infinities although no input has. `race`: one core reads or writes what the other writes, and nothing orders
    them. `doubled-work`: both cores of a logical core do the same. `refused`: AWS's compiler refuses it, by a rule of
    `neff-bench check`.
    """

    kind: Kind
    text: str
    file: str | None = None
    line: int | None = None
    releases: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{self.text} ({place})" if place else self.text


def found(kind: Kind, text: str, source: str | None, releases: tuple[str, ...] = ()) -> Finding:
    """Return a finding at `source`, such as "softmax.py:41"; of an HLO graph it is an instruction, which has no line."""
    file, _, line = (source or "").rpartition(":")
    if file and line.isdecimal():
        return Finding(kind=kind, text=text, file=file, line=int(line), releases=releases)
    return Finding(kind=kind, text=text, file=source or None, releases=releases)


def of_release(findings: Iterable[Finding], release: str) -> tuple[Finding, ...]:
    """Return the findings without those that other releases of the SDK refuse and this one does not."""
    return tuple(one for one in findings if not one.releases or release in one.releases)


_ENCODER = msgspec.json.Encoder()
_DECODER = decoder(list[Finding])


def leave(directory: Path, findings: Sequence[Finding]) -> None:
    """Write the file into a directory, or remove an older one where there is nothing to tell."""
    if findings:
        write_whole(directory / FILE, _ENCODER.encode(findings))
    else:
        (directory / FILE).unlink(missing_ok=True)


def left(directory: Path) -> tuple[Finding, ...]:
    """Return the findings in the file of a directory; none where there is no file, or one that is none of ours."""
    try:
        return tuple(_DECODER.decode((directory / FILE).read_bytes()))
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return ()
