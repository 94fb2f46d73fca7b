"""Declares the root of every error of this project, and what each means for the exit code of a command.

    NeffBenchError              the work failed: exit code 1
    ├── WrongCall               the call itself is wrong: exit code 2
    │   ├── HistoryError        a history        (history/errors.py)
    │   ├── CalibrationError    a calibration    (chips/calibration.py)
    │   └── UnknownChip         a target         (chips/__init__.py)
    ├── OutputError             the answer could not be written
    ├── NeffsError              a store            (neffs/errors.py)
    ├── ParseError              a file             (parsers/errors.py)
    ├── GenerateError           stage 1            (stage1_generate/errors.py)
    ├── ProfileError            stage 2            (stage2_profile/errors.py)
    ├── SimulatorError          the simulator      (simulator/errors.py)
    ├── ClusterError            a Ray cluster      (system/cluster.py)
    ├── FlagAbsent              a flag of the SDK  (sdk/words.py)
    ├── ExperimentError         an experiment      (experiments/errors.py)
    └── InstallError            install-benchmarks (nkilib/layout.py)

The text of each is one line: what, where, what was expected, what to do.
"""

from __future__ import annotations

from collections.abc import Iterable

DONE, FAILED, WRONG = 0, 1, 2
"""Exit codes. A command that a signal ended exits with 128 plus the number of the signal."""


class NeffBenchError(Exception):
    """Base of everything that the project raises for a user to read."""


class WrongCall(NeffBenchError):
    """What was asked for makes no sense, whatever the files hold."""


class OutputError(NeffBenchError):
    """An answer that could not be written where it was to go."""


def meant(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean dma_copy?`, or nothing where no known name is like this one."""
    from difflib import get_close_matches

    found = get_close_matches(name, [*known], n=1)
    return f"; did you mean {found[0]}?" if found else ""


def exit_code(error: NeffBenchError) -> int:
    """2 for a wrong call, 1 for everything else."""
    return WRONG if isinstance(error, WrongCall) else FAILED
