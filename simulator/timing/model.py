"""Which timing model this is: its number, and a fingerprint of the code and constants that simulated times follow from."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from neff_bench.chips.calibration import Calibration, active, calibration_of
from neff_bench.installation import PACKAGE

MODEL_VERSION = "2"
"""Changes with the structure of the model; the fingerprint changes with any of its code."""

_ROOTS = ("simulator.timing.schedule", "simulator.timing.timeline")
"""The modules that a program's times come out of."""

_IMPORT = re.compile(rf"^[ \t]*from {PACKAGE.name}\.([\w.]+) import ([^#\n(]*|\([^)]*\))", re.MULTILINE)


@cache
def sources() -> tuple[Path, ...]:
    """The files that decide a simulated time: what `_ROOTS` import, directly or not, in this package, and the
    compiled core."""
    found: set[Path] = set()
    seen: set[str] = set()
    waiting = list(_ROOTS)
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        path = PACKAGE.joinpath(*module.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if not path.is_file():
            continue
        found.add(path)
        text = path.read_text()
        if path.name == "__init__.py" and "iter_modules(__path__)" in text:
            waiting += [f"{module}.{inside.stem}" for inside in path.parent.glob("*.py") if inside != path]
        for package, names in _IMPORT.findall(text):
            # `from room import module` names a module too; a name that is none has no file.
            waiting += [package, *(f"{package}.{name}" for name in re.findall(r"\w+", names))]
    found.update((PACKAGE / "simulator" / "native").glob("*.[ch]"))
    return tuple(sorted(found))


@cache
def fingerprint() -> str:
    """8 hex digits over the modules that decide a simulated time."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def model_version() -> str:
    """2.ab12cd34, and 2.ab12cd34.cal0f9e8d7c while a calibration is in force. Raises CalibrationError."""
    return _with(active())


def model_name(target: str) -> str:
    """trn2-2.ab12cd34: a trace of another model is not viewed with this one. A calibration counts for its own chip only.

    Raises CalibrationError.
    """
    return f"{target}-{_with(calibration_of(target))}"


def _with(calibration: Calibration | None) -> str:
    return f"{MODEL_VERSION}.{fingerprint()}" + (f".cal{calibration.digest}" if calibration else "")
