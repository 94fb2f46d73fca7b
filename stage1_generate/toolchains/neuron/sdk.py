"""Says what every route to the SDK's compilers needs: the kernel by its name, the compiler's words, the packages' versions."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from neff_bench.sdk.identify import identify
from neff_bench.sdk.installed import compiler_release, version_of
from neff_bench.sdk.release import Release, load, names
from neff_bench.stage1_generate import entries
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.toolchains.compiled import Request

CODE = re.compile(r"\b(?:NCC_)?([EI][A-Z]{3}\d{3})\b")
"""An error of neuronx-cc: E for the user's, I for its own."""


def arguments(request: Request) -> tuple[str, ...]:
    """Return the words for neuronx-cc beyond target, LNC and files."""
    return (*request.flags, "--verbose=info") if request.verbose else request.flags


@cache
def release() -> Release:
    """Return the contract of the SDK that is installed here; the nearest that is known."""
    return compiler_release() or identify("neuronx-cc", version_of("neuronx-cc")).release


def explained(reason: str) -> str:
    """Return why a compilation failed, with what to do about the first error of neuronx-cc in it."""
    found = CODE.search(reason)
    if found is None:
        return reason
    known = load(names()[-1]).compiler_errors.values()
    advice = next((error.advice for error in known if found[1] in error.codes), None)
    if advice is None:
        where = (
            "an error inside neuronx-cc"
            if found[1][0] == "I"
            else f"see compiler/error-codes/{found[1]} in AWS's documentation"
        )
        advice = f"{where}; its log is in compile.log"
    return f"{reason} [NCC_{found[1]}: {advice}]"


def versions() -> dict[str, str]:
    """Return the versions of the SDK's packages that are installed."""
    found = {name: version_of(name) for name in ("neuronx-cc", "nki", "torch-neuronx", "jax")}
    return {name: version for name, version in found.items() if version is not None}


def resolve(entry: str) -> Any:
    """Return the object that an entry names. Raises `BuildError` when there is none."""
    try:
        return entries.load(entry)
    except (Exception, SystemExit) as error:  # what does not import is one failed row, whatever it raises
        raise BuildError(f"cannot import {entry}: {type(error).__name__}: {' '.join(str(error).split())}") from None
