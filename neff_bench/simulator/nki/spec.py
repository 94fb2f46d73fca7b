"""Reads kernel.json: what to compile, on which shapes.

{"entry": "package.module:function" or "file.py:function",
 "path": [directories for sys.path, absolute or relative to kernel.json],
 "inputs": [{"name": "hidden", "shape": [1, 128, 1024], "dtype": "bfloat16"}],
 "arguments": {"eps": 1e-6, "activation_fn": {"ref": "package.module:ActFnType.SiLU"},
               "replica_group": {"ref": "nki.collectives:ReplicaGroup", "args": [[[0, 1], [2, 3]]]}},
 "outputs": ["out"],
 "ranks": 4}
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import msgspec

from neff_bench.neffs.kernel_file import importing
from neff_bench.neffs.own import resolved
from neff_bench.simulator.errors import SpecError
from neff_bench.simulator.numpy_dtypes import DTYPES
from neff_bench.system.files import read_plain


class InputSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor argument. `shape` in elements of `dtype` (canonical name)."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class KernelSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Decoded kernel.json. `path` is absolute. `outputs` names the results in order; absent: output0, output1 ...
    `ranks`: how many will run it, None where that is not said. `varied`: values of the function's parameters, else of constants of its file."""

    entry: str
    inputs: tuple[InputSpec, ...] = ()
    path: tuple[str, ...] = ()
    arguments: dict[str, Any] = {}
    outputs: tuple[str, ...] = ()
    ranks: int | None = None
    varied: dict[str, Any] = {}


def decode_spec(data: bytes, directory: Path) -> KernelSpec:
    """Return kernel.json's bytes; relative paths are taken from `directory`. Raises SpecError."""
    try:
        spec = msgspec.json.decode(data, type=KernelSpec)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SpecError(str(error), "kernel.json") from None
    for given in spec.inputs:
        if not given.shape or min(given.shape) < 1:
            raise SpecError(f"input {given.name}: shape {list(given.shape)} must be positive numbers", "kernel.json")
        if given.dtype not in DTYPES:
            known = ", ".join(DTYPES)
            raise SpecError(f"input {given.name}: unknown dtype {given.dtype!r}; known: {known}", "kernel.json")
    path = tuple(str((directory / entry).resolve()) for entry in spec.path)
    entry = spec.entry
    file, colon, function = entry.rpartition(":")
    if not colon or not file or not function:
        raise SpecError(f"entry {entry!r} must be 'package.module:function' or 'file.py:function'", "kernel.json")
    if file.endswith(".py"):
        entry = f"{(directory / file).resolve()}:{function}"
    return msgspec.structs.replace(spec, path=path, entry=entry)


def read_spec(path: Path) -> KernelSpec:
    """Read kernel.json. Raises SpecError when it is missing or not one."""
    try:
        return decode_spec(read_plain(path), path.parent)
    except OSError as error:
        raise SpecError(f"cannot read: {error.strerror}", str(path)) from None


def resolve_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Replace every {"ref": "module:attribute.path"} by the object it names, or with "args" by what a call of it returns. Raises
    SpecError for an unknown one."""
    return {name: resolved(value, lookup) for name, value in arguments.items()}


def lookup(reference: str) -> Any:
    """Return the object behind "package.module:attribute.path". Raises SpecError when it is not there."""
    module_name, _, attributes = reference.partition(":")
    try:
        with importing():
            found: Any = importlib.import_module(module_name)
        for attribute in filter(None, attributes.split(".")):
            found = getattr(found, attribute)
    except (ImportError, AttributeError) as error:
        raise SpecError(f"{reference}: {error}", "kernel.json") from None
    return found
