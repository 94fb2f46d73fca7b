"""Keeps constants of a chip that were fitted to a user's own traces: the file, and the chip with these constants.

A calibration is in force while the environment variable `NEURON_SIM_CALIBRATION` names its file. `neuron-sim calibrate` writes it.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from neff_bench.chips import ENVIRONMENT as ENVIRONMENT
from neff_bench.chips.chip import Chip
from neff_bench.chips.overheads import Control, Overheads
from neff_bench.errors import WrongCall

FORMAT = "neff-bench calibration 1"
PREAMBLE, POSTAMBLE = "preamble_ns", "postamble_ns"
"""Estimates that are no constants of the chip: how much later each core begins with its kernel, and what follows the kernel."""


_DECODING = Lock()
"""See `neff_bench.system.decoding`."""


class CalibrationError(WrongCall):
    """A calibration file that cannot be read, or that is none."""


@dataclass(frozen=True)
class Estimate:
    """One fitted constant. `value`, `low`, `high`: in the unit of the constant; the ends are those of the 95 % interval.

    `model`: the constant that it replaces. `samples`, `traces`: how many measurements it was fitted to, and from how many traces.
    """

    name: str
    value: float
    low: float
    high: float
    model: float
    samples: int
    traces: int


@dataclass(frozen=True)
class _Trace:
    name: str
    sha256: str


@dataclass(frozen=True)
class _Document:
    format: str
    target: str = ""
    estimates: tuple[Estimate, ...] = ()
    traces: tuple[_Trace, ...] = ()


@dataclass(frozen=True)
class Calibration:
    """`estimates`: of one chip. `traces`: name and sha256 of each file that they were fitted to. `digest`: 8 hex digits of the file."""

    target: str
    estimates: tuple[Estimate, ...]
    traces: tuple[tuple[str, str], ...]
    name: str = ""
    digest: str = ""


def active() -> Calibration | None:
    """Return the calibration in force; None where the environment names none. Raises CalibrationError."""
    path = os.environ.get(ENVIRONMENT, "")
    if not path:
        return None
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise CalibrationError(f"{ENVIRONMENT}={path}: cannot read the calibration: {error.strerror}") from None
    return _decoded(Path(path).name, data)


def calibration_of(target: str) -> Calibration | None:
    """Return the calibration in force for this chip. Raises CalibrationError."""
    found = active()
    return found if found is not None and found.target == target else None


def put_in_force(path: Path) -> None:
    """Let this process and its children use the calibration. Raises CalibrationError."""
    os.environ[ENVIRONMENT] = str(path.absolute())
    active()


@cache
def _decoded(name: str, data: bytes) -> Calibration:
    import msgspec  # the version is said without it

    try:
        with _DECODING:
            document = msgspec.json.decode(data, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CalibrationError(
            f"{name}: not a calibration ({error}); expected a file that neuron-sim calibrate wrote"
        ) from None
    if document.format != FORMAT:
        raise CalibrationError(f"{name}: format {document.format!r}: expected {FORMAT!r}; calibrate again")
    traces = tuple((trace.name, trace.sha256) for trace in document.traces)
    found = Calibration(document.target, document.estimates, traces, name, hashlib.sha256(data).hexdigest()[:8])
    _check(found)
    return found


def _check(found: Calibration) -> None:
    """Check an estimate. Raises CalibrationError for one that no chip could have."""
    from neff_bench.chips import CHIPS

    if found.target not in CHIPS:
        raise CalibrationError(f"{found.name}: unknown target {found.target!r}: expected one of {', '.join(CHIPS)}")
    chip = CHIPS[found.target]
    known = {field.name for field in fields(Chip) if type(getattr(chip, field.name)) in (int, float)}
    for estimate in found.estimates:
        name = estimate.name.partition("[")[0]
        if not (estimate.name in known | {POSTAMBLE} or re.fullmatch(rf"{PREAMBLE}\[[0-9]{{1,4}}\]", estimate.name)):
            raise CalibrationError(
                f"{found.name}: unknown constant {estimate.name!r}; calibrate again with this release"
            )
        if not (name == PREAMBLE or 0 < estimate.value < float("inf")):
            raise CalibrationError(f"{found.name}: {estimate.name} is {estimate.value:g}: expected a positive number")


def encoded(found: Calibration) -> bytes:
    """Return the file."""
    import json

    document = {
        "format": FORMAT,
        "target": found.target,
        "estimates": [vars(estimate) for estimate in found.estimates],
        "traces": [{"name": name, "sha256": digest} for name, digest in found.traces],
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def calibrated(chip: Chip, found: Calibration) -> Chip:
    """Return the chip with the fitted constants in the place of its own."""
    changed: dict[str, Any] = {}
    overheads = chip.overheads
    for estimate in found.estimates:
        if estimate.name == POSTAMBLE:
            overheads = replace(overheads, postamble_ns=estimate.value)
        elif estimate.name.startswith(f"{PREAMBLE}["):
            core = int(estimate.name[len(PREAMBLE) + 1 : -1])
            overheads = _later(overheads, core, estimate.value - estimate.model)
        else:
            old = getattr(chip, estimate.name)
            changed[estimate.name] = round(estimate.value) if isinstance(old, int) else estimate.value
    said = {name: f"fitted by {found.name} ({found.digest}) to {len(found.traces)} traces" for name in changed}
    return replace(chip, overheads=overheads, sources=chip.sources | said, **changed)


def _later(overheads: Overheads, core: int, by_ns: float) -> Overheads:
    """Return the overheads with a preamble of one core whose last instruction, the one before the kernel, ends later by this much."""
    if core >= len(overheads.preamble):
        return overheads
    moved = tuple(
        (*controls[:-1], Control(controls[-1].opcode, controls[-1].start_ns + by_ns, controls[-1].duration_ns))
        if controls
        else controls
        for controls in overheads.preamble[core]
    )
    return replace(overheads, preamble=tuple(moved if c == core else old for c, old in enumerate(overheads.preamble)))
