"""Reads the system trace of a run: what `capture -t systrace` left, as a file that our reader knows. Needs no device."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.system_trace import TABLE, Calls, SystemTrace, read_system_trace
from neff_bench.sdk.words import FlagAbsent
from neff_bench.stage2_profile.capture import arguments
from neff_bench.stage2_profile.capture.runs import SYSTEM
from neff_bench.stage2_profile.capture.tools import Tool
from neff_bench.stage2_profile.errors import ViewFailed


@dataclass(frozen=True)
class Step:
    """A call of the tool on one trace. `file`: where the JSON of its standard output goes, None for a tool that writes a file
    of its own."""

    name: Literal["view", "show-session", "systrace"]
    argv: list[str]
    log: str
    file: str | None


ITS_OWN_NAME = "system_profile.json"
"""AWS's pages give a name of its own and --output-file, and do not say which one counts."""


def view_system_trace(path: Path, tool: Tool, call_view: Callable[[Step], None]) -> str:
    """Make a file of the system trace in a run; returns its name. Raises `ViewFailed`."""
    known, reasons = tool.command("view"), []
    for form in (form for form in ("json", "parquet") if form in known.formats):
        file = f"system-trace.{form}"
        shutil.rmtree(path / file, ignore_errors=True)  # what a killed view left of its tables
        try:
            argv = arguments.view_system_trace((tool.name,), SYSTEM, form, known, file)
            call_view(Step("systrace", argv, f"system-{form}.log", None))
            for own in (path / ITS_OWN_NAME, path / SYSTEM / ITS_OWN_NAME):
                if not (path / file).exists() and own.is_file():
                    os.replace(own, path / file)
            read(path / file)
            return file
        except (FlagAbsent, ParseError, OSError) as error:
            reasons.append(f"{tool.name} view: {error}")
        except ViewFailed as error:
            reasons.append(str(error))
    raise ViewFailed(f"no system trace: {'; '.join(reasons)}")


def read(path: Path) -> SystemTrace:
    """Read the file or the folder of tables that `view_system_trace` left. Raises ParseError."""
    return read_system_trace(path / TABLE if path.is_dir() else path)


def calls_of_case(trace: SystemTrace) -> Calls:
    """Return the NEFF that ran most often: a capture runs one, and the runtime may run small ones of its own."""
    return max(trace.calls, key=lambda calls: len(calls.durations_us))
