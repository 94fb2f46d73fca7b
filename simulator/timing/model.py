"""Which timing model this is: its number, and a fingerprint of the code and constants that simulated times follow from."""

from __future__ import annotations

import hashlib
from functools import cache

from neff_bench.installation import PACKAGE

MODEL_VERSION = "2"
"""Changes with the structure of the model; the fingerprint changes with any of its code."""

_SOURCES = (
    "chips.py",
    "compiler/allocation.py",
    "compiler/assembler.py",
    "compiler/dependencies.py",
    "compiler/lowering.py",
    "compiler/order.py",
    "compiler/transfers.py",
    "../parsers/formats/opcodes.py",
    "operations/costs.py",
    "timing/overheads.py",
    "timing/schedule.py",
    "timing/scheduler.py",
    "timing/timeline.py",
)


@cache
def fingerprint() -> str:
    """8 hex digits over the modules that decide a simulated time."""
    digest = hashlib.sha256()
    for name in _SOURCES:
        digest.update((PACKAGE / "simulator" / name).read_bytes())
    return digest.hexdigest()[:8]


def model_name(target: str) -> str:
    """trn2-1.ab12cd34: a trace of another model is not viewed with this one."""
    return f"{target}-{MODEL_VERSION}.{fingerprint()}"
