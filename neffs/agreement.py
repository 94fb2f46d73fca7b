"""Holds a NEFF against the case that it is to be: whether the compiler built what was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.parsers.formats.neff import DTYPE_BYTES, plain_name

if TYPE_CHECKING:
    from neff_bench.neffs.bundle import Manifest, TensorFile
    from neff_bench.parsers.neff import Neff, TensorInfo


def disagreement(manifest: Manifest, neff: Neff) -> str | None:
    """Return what the NEFF has otherwise than its case, with both values; None where nothing differs."""
    return next(_differences(manifest, neff), None)


def _differences(manifest: Manifest, neff: Neff) -> Iterator[str]:
    case = manifest.case
    if neff.target not in (None, "any") and case.target not in str(neff.target).split("/"):
        yield f"the NEFF is for {neff.target}, its case for {case.target}"
    if neff.lnc != case.lnc:
        yield f"the NEFF has LNC {neff.lnc}, its case LNC {case.lnc}"
    if neff.ranks is not None and neff.ranks > case.ranks:
        yield f"the NEFF is for {neff.ranks} ranks, its case for {case.ranks}"
    yield from _of_tensors("input", manifest.inputs, neff.inputs)
    yield from _of_tensors("output", manifest.outputs, neff.outputs)


def _of_tensors(kind: str, declared: Sequence[TensorFile], found: Sequence[TensorInfo]) -> Iterator[str]:
    names = [[tensor.name for tensor in tensors] for tensors in (found, declared)]
    if len(names[0]) != len(names[1]):
        yield f"the NEFF has {len(names[0])} {kind}s, its case {len(names[1])}"
    elif [*map(plain_name, names[0])] != [*map(plain_name, names[1])]:
        yield f"the NEFF has the {kind}s {', '.join(names[0])}; its case {', '.join(names[1])}"
    for mine, other in zip(declared, found):
        if wrong := _unlike(kind, mine, other):
            yield wrong


def _unlike(kind: str, declared: TensorFile, found: TensorInfo) -> str | None:
    """Return what a tensor of the NEFF has otherwise than it was declared; None where it is the same."""
    if found.bytes is not None and found.bytes != declared.bytes:
        return f"{kind} {found.name} has {found.bytes} bytes in the NEFF, {declared.bytes} by its declaration"
    if found.shape and tuple(found.shape) != (tuple(declared.shape) or (1,)):
        return f"{kind} {found.name} has the shape {_shape(found)} in the NEFF, {_shape(declared)} by its declaration"
    if not same_type(declared.dtype, found.dtype):
        return f"{kind} {found.name} is {found.dtype} in the NEFF, {declared.dtype} by its declaration"
    return None


def same_type(declared: str, found: str) -> bool:
    """Return whether a NEFF may hold a tensor of a declared type under the type that it names. One that we do not know may be any of its size;
    for types that numpy lacks a NEFF may name integers (AWS Neuron docs, neuron-runtime/nrtpy)."""
    if found == declared or found not in DTYPE_BYTES:
        return True
    if declared.startswith(("float8", "float4")):
        return "int" in found and DTYPE_BYTES[found] == SIZE_BYTES[declared]
    return (declared, found) in (("tfloat32", "float32"), ("uint8", "bool"))


def _shape(tensor: TensorFile | TensorInfo) -> str:
    return "x".join(map(str, tensor.shape)) or "of a scalar"
