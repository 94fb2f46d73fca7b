"""Holds a pytest plugin: a sample of a file's tests, and what became of each as a line of JSON. `nkilib-tests --table` reads them."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FILE, SAMPLE, SEED = "NKILIB_OUTCOMES", "NKILIB_SAMPLE", "NKILIB_TESTS_SEED"
LIBRARY = f"{os.sep}nkilib_src{os.sep}"
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
    and what is not public, are theirs."""
    chain = list(_chain(error))
    asserted = next((each for each in chain if isinstance(each, AssertionError) and LIBRARY in _place(each)), None)
    if asserted is not None:
        return "theirs", f"their assertion: {_first_line(asserted)}"
    if any("is not part of the public nki-library" in str(each) for each in chain):
        return "theirs", _first_line(error)
    ours = next((each for each in chain if type(each).__module__.startswith("neff_bench.")), None)
    if ours is not None and "AssertionError" in str(ours) + type(ours).__name__:
        return "theirs", f"their assertion: {_first_line(ours)}"
    return ("refused", _first_line(ours)) if ours is not None else ("failed", f"{_first_line(error)}")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _place(error: BaseException) -> str:
    """Return the file of the innermost frame that is neither a library's helper of asserting nor ours."""
    trace, found = error.__traceback__, ""
    while trace is not None:
        found, trace = trace.tb_frame.f_code.co_filename, trace.tb_next
    return found


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return NUMBER.sub("N", f"{type(error).__name__}: {lines[0] if lines else 'no text'}")[:160]


def _tell(**what: Any) -> None:
    with Path(os.environ[FILE]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\n")
