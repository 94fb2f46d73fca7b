"""Which timing model this is: its number, and a fingerprint of the code and constants that simulated times follow from."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

MODEL_VERSION = "2"
"""Changes with the structure of the model; the fingerprint changes with any of its code."""

_SOURCES = (
    "allocation",
    "chips",
    "costs",
    "dependencies",
    "loop",
    "lowering",
    "machine",
    "opcodes",
    "order",
    "overheads",
    "timeline",
    "timing",
    "transfers",
)


@cache
def fingerprint() -> str:
    """8 hex digits over the modules that decide a simulated time."""
    digest = hashlib.sha256()
    for name in _SOURCES:
        digest.update((Path(__file__).parent / f"{name}.py").read_bytes())
    return digest.hexdigest()[:8]


def model_name(target: str) -> str:
    """trn2-1.ab12cd34: a trace of another model is not viewed with this one."""
    return f"{target}-{MODEL_VERSION}.{fingerprint()}"
