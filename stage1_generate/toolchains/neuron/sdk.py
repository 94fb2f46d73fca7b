"""What every route to the SDK's compilers needs: the kernel by its name, the compiler's words, the packages' versions."""

from __future__ import annotations

from functools import cache
from typing import Any

from neff_bench.sdk.identify import identify
from neff_bench.sdk.release import Release
from neff_bench.stage1_generate.entries import load
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.toolchains.compiled import Request
from neff_bench.stage1_generate.toolchains.find import module_folder, version_of


def arguments(request: Request) -> tuple[str, ...]:
    """Words for neuronx-cc beyond target, LNC and files."""
    return (*request.flags, "--verbose=info") if request.verbose else request.flags


@cache
def release() -> Release:
    """The contract of the SDK that is installed here, by the version of nki, else of neuronx-cc; the nearest one that is known."""
    nki, compiler = version_of("nki"), version_of("neuronx-cc")
    has_nki = module_folder("nki", "isa") is not None and nki is not None
    return (identify("nki", nki) if has_nki else identify("neuronx-cc", compiler)).release


def versions() -> dict[str, str]:
    """Of the SDK's packages that are installed."""
    found = {name: version_of(name) for name in ("neuronx-cc", "nki", "torch-neuronx", "jax")}
    return {name: version for name, version in found.items() if version is not None}


def resolve(entry: str) -> Any:
    """The object that an entry names. Raises `BuildError` when there is none."""
    try:
        return load(entry)
    except (Exception, SystemExit) as error:  # what does not import is one failed row, whatever it raises
        raise BuildError(f"cannot import {entry}: {type(error).__name__}: {' '.join(str(error).split())}") from None
