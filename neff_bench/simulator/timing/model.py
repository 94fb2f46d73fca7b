"""Says which timing model this is: its number, and a fingerprint of the code and constants that simulated times follow from."""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache
from pathlib import Path

from neff_bench.chips.calibration import Calibration, active, calibration_of
from neff_bench.installation import PACKAGE
from neff_bench.simulator.timing.meaning import meanings

MODEL_VERSION = "2"
"""Changes with the structure of the model; the fingerprint changes with what any of its code means."""

_ROOTS = ("simulator.timing.schedule", "simulator.timing.timeline")
"""The modules that a program's times come out of."""

_IMPORT = re.compile(rf"\n[ \t]*from {PACKAGE.name}\.([\w.]+) import ([^#\n(]*|\([^)]*\))")
"""It begins with the end of the line before: that is found several times as fast as the beginning of a line."""
_NAME = re.compile(r"\w+")


@cache
def sources() -> tuple[Path, ...]:
    """Return the files that decide a simulated time: what `_ROOTS` import, directly or not, in this package, and the
    compiled parts in C."""
    found: set[Path] = set()
    seen: set[str] = set()
    waiting = list(_ROOTS)
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        path = _file_of(module)
        if path is None:
            continue
        found.add(path)
        text = "\n" + path.read_text(encoding="utf-8")
        if path.name == "__init__.py" and "iter_modules(__path__)" in text:
            waiting += [f"{module}.{inside.stem}" for inside in path.parent.glob("*.py") if inside != path]
        for package, names in _IMPORT.findall(text):
            # `from room import module` names a module too; a name that is none has no file.
            waiting += [package, *(f"{package}.{name}" for name in _NAME.findall(names))]
    found.update((PACKAGE / "simulator" / "native").rglob("*.[ch]"))
    return tuple(sorted(found))


def _file_of(module: str) -> Path | None:
    """Return the file of a module or package of this package; None for a name that is neither."""
    package, _, name = module.rpartition(".")
    folder = PACKAGE.joinpath(*package.split("."))
    listed = _listed(folder)
    if name in listed and "__init__.py" in _listed(folder / name):
        return folder / name / "__init__.py"
    return folder / f"{name}.py" if f"{name}.py" in listed else None


@cache
def _listed(folder: Path) -> frozenset[str]:
    """Return the names in a folder, empty where there is none. One listing costs less than asking for each file."""
    return frozenset(os.listdir(folder)) if folder.is_dir() else frozenset()


@cache
def fingerprint() -> str:
    """Return 8 hex digits over what the modules mean that decide a simulated time: a comment or a docstring changes nothing."""
    return hashlib.sha256("".join(meanings(sources())).encode()).hexdigest()[:8]


def model_version() -> str:
    """Return the version: 2.ab12cd34, and 2.ab12cd34.cal0f9e8d7c while a calibration is in force. Raises CalibrationError."""
    return _with(active())


def model_name(target: str) -> str:
    """Return the identity of the model, such as trn2-2.ab12cd34, with a calibration of its own chip. Raises CalibrationError."""
    return f"{target}-{_with(calibration_of(target))}"


def _with(calibration: Calibration | None) -> str:
    return f"{MODEL_VERSION}.{fingerprint()}" + (f".cal{calibration.digest}" if calibration else "")
