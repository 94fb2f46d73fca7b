"""Gathers what a look has to say at its lines: rules of AWS's compiler that are broken, findings, wrong outputs, errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from neff_bench.errors import NeffBenchError

if TYPE_CHECKING:
    from neff_bench.doors.estimation import Simulated
    from neff_bench.doors.subject import Subject
    from neff_bench.neffs.findings import Finding
    from neff_bench.stage2_profile.metrics.check import Verdict
    from neff_bench.stage2_profile.metrics.rows import Row

_PLACE = re.compile(r"(?P<file>[^\s:]+\.(py|ya?ml)):(?P<line>\d+)")


class Diagnostic(msgspec.Struct, frozen=True, order=True):
    """Something to say of a line. `file`: absolute where it is known; `line` is 0 where none is."""

    file: str
    line: int
    severity: Literal["error", "warning"]
    message: str
    code: str = ""


@dataclass
class Seen:
    """A case that was recorded. `kernel`: its file and function, or the script. `check`: executes it and compares its outputs with its reference; None where
    it has none, and for a script's launch, which the script has executed."""

    timed: Simulated
    row: Row
    kernel: str
    check: Callable[[], tuple[Verdict, list[Finding]]] | None = None


def broken_rules(subject: Subject, seen: Sequence[Seen], folders: Sequence[Any]) -> Iterator[Diagnostic]:
    """Yield what `neff-bench check` says of the kernels' files and of what was recorded."""
    from neff_bench.doors.judging import read
    from neff_bench.rules import RULES, findings
    from neff_bench.sdk.installed import judged_by
    from neff_bench.simulator.execution.calls import judged

    release = judged_by(subject.sdk)
    for kernel in dict.fromkeys(one.kernel for one in seen):
        programs = [one.timed.program for one in seen if one.kernel == kernel and not one.timed.program.from_hlo]
        path = Path(kernel.rpartition(":")[0] or kernel)
        source = read(path) if path.suffix == ".py" and programs else None
        every = {one for program in programs if not (source and source.old) for one in judged(program)}
        if source:
            every |= {*findings.of_source(source, programs[0].target)}
        for one in findings.kept(sorted(every), source, RULES):
            if release in one.releases and one.level != "note":
                yield Diagnostic(_file(one.file, folders), one.line, one.level, one.text, one.code)


def checked(seen: Sequence[Seen], found: list[Diagnostic], subject: Subject, folders: Sequence[Any]) -> None:
    """Judge each row by its program and, where there is a reference, by its outputs."""
    from neff_bench.doors.estimation import judged_row

    for one in seen:
        one.row = judged_row(one.row, one.timed.program, subject.sdk, folders)
        if one.check is not None:
            try:
                verdict, findings = one.check()
            except NeffBenchError as error:
                found.append(of_error(error, subject, folders))
                continue
            refused = tuple(known for known in one.row.findings if known.kind == "refused")
            one.row = replace(
                one.row, check=verdict.check, max_abs_error=verdict.max_abs_error, reason=verdict.reason,
                findings=(*findings, *refused),
            )  # fmt: skip
            if verdict.check == "wrong":
                found.append(Diagnostic(*_definition(one.kernel), "error", f"wrong: {verdict.reason}"))
        for known in one.row.findings:
            if known.kind != "refused":
                found.append(
                    Diagnostic(_file(known.file or "", folders), known.line or 0, "warning", known.text, known.kind)
                )


def _definition(kernel: str) -> tuple[str, int]:
    """Return where a kernel's file defines it."""
    file, _, name = kernel.rpartition(":")
    lines = Path(file).read_text(encoding="utf-8").splitlines() if file.endswith(".py") else []
    return file, next((at for at, line in enumerate(lines, 1) if re.match(rf"\s*def {re.escape(name)}\b", line)), 0)


def of_error(error: NeffBenchError, subject: Subject, folders: Sequence[Any]) -> Diagnostic:
    """Return an error at the line that it names, else at the file that is watched."""
    place = _PLACE.search(getattr(error, "source", None) or str(error))
    what = str(getattr(error, "what", error))
    if place is None:
        return Diagnostic(subject.file, 0, "error", what)
    return Diagnostic(_file(place["file"], folders), int(place["line"]), "error", what)


def _file(name: str, folders: Sequence[Any]) -> str:
    """Return the file that a place names, as an absolute path where it is found."""
    found = (Path(folder, name) for folder in folders if name)
    return next((str(path.resolve()) for path in found if path.is_file()), name)
