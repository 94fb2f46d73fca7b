"""What every route to the SDK's compilers needs: the kernel by its name, the compiler's words, the packages' versions."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.toolchains.compiled import Request
from neff_bench.stage1_generate.toolchains.find import version_of


def arguments(request: Request) -> tuple[str, ...]:
    """Words for neuronx-cc beyond target, LNC and files."""
    return (*request.flags, "--verbose=info") if request.verbose else request.flags


def versions() -> dict[str, str]:
    """Of the SDK's packages that are installed."""
    found = {name: version_of(name) for name in ("neuronx-cc", "nki", "torch-neuronx", "jax")}
    return {name: version for name, version in found.items() if version is not None}


def resolve(entry: str) -> Any:
    """The object that `package.module:name.name` names. Raises `BuildError` when there is none."""
    module, _, names = entry.partition(":")
    try:
        found = import_module(module)
        for name in names.split("."):
            found = getattr(found, name)
    except Exception as error:  # a library that does not import is one failed row, whatever it raises
        raise BuildError(f"cannot import {entry}: {type(error).__name__}: {' '.join(str(error).split())}") from None
    return found
