"""Finds the kernels that a script launches."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from typing import TYPE_CHECKING

from neff_bench.errors import NeffBenchError
from neff_bench.installation import IMPORT_ROOT

if TYPE_CHECKING:
    from neff_bench.doors.subject import Subject
    from neff_bench.simulator.nki.launch import Launch
    from neff_bench.simulator.program import Program


class ScriptFailed(NeffBenchError):
    """A script ended with an exception, or launched nothing. `source`: its file, and the line where one is known."""

    def __init__(self, source: str, what: str) -> None:
        self.source, self.what = source, what
        super().__init__(f"{source}: {what}")


def launches_of(subject: Subject) -> list[Program]:
    """Run the script in this process, as `neff-bench run` does; the distinct programs that it launched. Raises `ScriptFailed`."""
    from neff_bench.doors.embedded import embed
    from neff_bench.simulator.program import encode

    found: dict[bytes, Program] = {}

    def hear(launch: Launch) -> None:
        found.setdefault(encode(launch.program), launch.program)

    if subject.target is not None:
        os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = subject.target
    embed(hear, subject.lnc)
    sys.argv = [subject.file]
    sys.path.insert(0, os.path.dirname(subject.file))
    try:
        runpy.run_path(subject.file, run_name="__main__")
    except NeffBenchError:
        raise
    except SystemExit as end:
        if end.code not in (None, 0):
            raise ScriptFailed(subject.file, f"the script ended with {end.code}") from None
    except BaseException as error:
        raise ScriptFailed(_line(error, subject.file), f"{type(error).__name__}: {error}") from None
    if not found:
        raise ScriptFailed(subject.file, "the script launched no kernel")
    return list(found.values())


def _line(error: BaseException, file: str) -> str:
    """Return the innermost line that is not ours, with its file."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [one for one in traceback.extract_tb(error.__traceback__) if os.path.isfile(one.filename)]
    own = [
        one
        for one in frames
        if not one.filename.startswith((f"{IMPORT_ROOT}/neff_bench/", os.path.dirname(os.__file__)))
    ]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else file
