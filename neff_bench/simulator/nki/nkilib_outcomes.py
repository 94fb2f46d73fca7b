"""Holds a pytest plugin: a sample of a file's tests, and what became of each as a line of JSON. `nkilib-tests --table` reads them."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

FILE, SAMPLE, SEED = "NKILIB_OUTCOMES", "NKILIB_SAMPLE", "NKILIB_TESTS_SEED"
LIBRARY = f"{os.sep}nkilib_src{os.sep}"
TESTS = f"{os.sep}test{os.sep}integration{os.sep}"
HARNESS, REFERENCE = f"{os.sep}test_orchestrator.py", "_torch.py"
INSTALLED = f"{os.sep}site-packages{os.sep}"
NO_MEMORY = "can't allocate memory"
"""What torch says in a RuntimeError."""
NUMBER = re.compile(r"-?\b\d+(\.\d+)?(e[-+]?\d+)?\b")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Keep as many of the tests that are not marked as skipped as are asked for, drawn by the seed. They run in the order in which they
    are drawn, so that those of a file that is stopped are a sample, too."""
    able = [item for item in items if item.get_closest_marker("skip") is None]
    _tell(collected=len(items), skipped=len(items) - len(able))
    most = int(os.environ.get(SAMPLE, "0")) or len(able)
    items[:] = random.Random(int(os.environ.get(SEED, "0"))).sample(able, min(most, len(able)))


def pytest_collectreport(report: Any) -> None:
    """Tell of a file that cannot be imported."""
    if report.failed:
        lines = [line[2:].strip() for line in str(report.longrepr).splitlines() if line.startswith("E ")]
        _tell(unread=lines[-1] if lines else str(report.longrepr).strip().splitlines()[-1])


def pytest_runtest_makereport(item: Any, call: Any) -> None:
    """Tell of a test that ended otherwise than well; the end of its call tells of the others."""
    error = call.excinfo.value if call.excinfo is not None else None
    if error is None and call.when != "call":
        return
    name = type(error).__name__
    if error is None:
        kind, cause = "passed", ""
    elif name == "Skipped":
        kind, cause = "skipped", str(error)
    elif item.get_closest_marker("xfail") or name == "XFailed":
        kind, cause = "theirs", f"they expect it to fail: {_first_line(error)}"
    else:
        kind, cause = judged(error)
    _tell(test=item.nodeid, kind=kind, cause=cause, seconds=round(call.duration, 3))


def judged(error: BaseException) -> tuple[str, str]:
    """Return whose the failure is, `theirs`, `refused` (by us) or `failed`, and its cause with numbers as N. An assertion of their kernels,
    inputs that their own test or reference rejects, what is not public, and what is not installed are theirs."""
    chain = list(_chain(error))
    asserted = next((each for each in chain if isinstance(each, AssertionError) and LIBRARY in _place(each)), None)
    if asserted is not None:
        return "theirs", f"their assertion: {_first_line(asserted)}"
    if len(chain) == 1 and _prepares(error):
        return "theirs", f"their test's own inputs: {_first_line(error)}"
    if needed := next(filter(None, map(_needed, chain)), ""):
        return "theirs", f"needs {needed}"
    if any("is not part of the public nki-library" in str(each) for each in chain):
        return "theirs", _first_line(error)
    ours = next((each for each in chain if type(each).__module__.startswith("neff_bench.")), None)
    if ours is not None and "AssertionError" in str(ours) + type(ours).__name__:
        return "theirs", f"their assertion: {_first_line(ours)}"
    return ("refused", _first_line(ours)) if ours is not None else ("failed", f"{_first_line(error)}")


def _prepares(error: BaseException) -> bool:
    """Return whether what makes a test's inputs and expected outputs rejects the test's own parameters: an assertion of a function beside their
    test, or an error of a reference. What a test itself asserts may be of our results. So may all that their harness calls, which runs the
    kernel and then compares."""
    frames, place = _frames(error), _place(error)
    if isinstance(error, AssertionError):
        theirs = TESTS in place and not frames[-1].f_code.co_name.startswith("test_")
    else:
        theirs = isinstance(error, (RuntimeError, ValueError)) and LIBRARY in place and place.endswith(REFERENCE)
    return theirs and not _ours(error) and not any(frame.f_code.co_filename.endswith(HARNESS) for frame in frames)


def _ours(error: BaseException) -> bool:
    """Return whether code of this package runs where an error is raised."""
    return any(frame.f_globals.get("__name__", "").startswith("neff_bench.") for frame in _frames(error))


def _needed(error: BaseException) -> str:
    """Return the program that is not on the path, the installed package that lacks a name that they use, or that their own arrays do not
    fit into memory; else nothing."""
    out_of_memory = isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and NO_MEMORY in str(error))
    if out_of_memory and not _ours(error):
        return "more memory than is free here, for arrays of the test's own"
    if isinstance(error, FileNotFoundError) and _place(error) == subprocess.__file__:
        return str(error.filename)
    if not isinstance(error, AttributeError) or not isinstance(error.obj, ModuleType):
        return ""
    package, file = error.obj.__name__, getattr(error.obj, "__file__", None) or ""
    ours = package.startswith("neff_bench")
    return f"another {package}: this one has no {error.name!r}" if INSTALLED in file and not ours else ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _frames(error: BaseException) -> list[FrameType]:
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)]


def _place(error: BaseException) -> str:
    """Return the file that raised an error; nothing for one that was not raised."""
    frames = _frames(error)
    return frames[-1].f_code.co_filename if frames else ""


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return NUMBER.sub("N", f"{type(error).__name__}: {lines[0] if lines else 'no text'}")[:160]


def _tell(**what: Any) -> None:
    with Path(os.environ[FILE]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\n")
