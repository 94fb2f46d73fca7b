"""Holds rules that many instructions share. Each function raises NkiValidationError at the kernel's line."""

from __future__ import annotations

from math import prod
from numbers import Integral
from typing import Any

from neff_bench.simulator.native.recorder import compiled_form
from neff_bench.simulator.recording.enums import engine as engine_enum
from neff_bench.simulator.recording.enums import word
from neff_bench.simulator.recording.numbers import number_of
from neff_bench.simulator.recording.recorder import invalid, recorder
from neff_bench.simulator.recording.tensor import NkiTensor

_UNKNOWN = engine_enum.unknown


def tensor(op: str, key: str, value: Any) -> NkiTensor:
    """Return the operand, which must be a tensor. Outside a kernel, that is what is wrong: `recorder` raises KernelError."""
    if not isinstance(value, NkiTensor):
        recorder()
        raise invalid(f"{op}: {key} must be a tensor, not {type(value).__name__}")
    return value


def free(view: NkiTensor) -> int:
    """Return elements in one partition."""
    shape = view.shape
    return shape[1] if len(shape) == 2 else prod(shape[1:])


@compiled_form
def on_chip(op: str, **operands: NkiTensor) -> None:
    """Check that each operand is a tensor in SBUF or PSUM."""
    for key, value in operands.items():
        if type(value) is not NkiTensor:
            value = tensor(op, key, value)
        if value.storage.memory == "hbm":
            raise invalid(f"{op}: {key} must be in SBUF or PSUM; {value!r} is in HBM")


@compiled_form
def same_tile(op: str, key: str, value: NkiTensor, like: NkiTensor) -> None:
    """Check that the operand has the partitions and the elements for each partition of `like`."""
    if value.shape == like.shape:
        return
    if value.shape[0] != like.shape[0]:
        raise invalid(f"{op}: {key} has {value.shape[0]} partitions, expected {like.shape[0]}: {value!r} with {like!r}")
    if free(value) != free(like):
        raise invalid(
            f"{op}: {key} has {free(value)} elements in a partition, expected {free(like)}: {value!r} with {like!r}"
        )


@compiled_form
def vector(op: str, key: str, value: NkiTensor, partitions: int) -> NkiTensor:
    """Return a per-partition operand: one element in each of `partitions` partitions; surplus partitions are not read."""
    if value.storage.memory == "hbm":
        raise invalid(f"{op}: {key} must be in SBUF or PSUM; {value!r} is in HBM")
    if free(value) != 1:
        raise invalid(f"{op}: {key} must hold one element in each partition; {value!r} holds {free(value)}")
    if value.shape[0] < partitions:
        raise invalid(f"{op}: {key} has {value.shape[0]} partitions, expected {partitions}: {value!r}")
    return value if value.shape[0] == partitions else value.slice(0, 0, partitions)


@compiled_form
def operand(
    op: str, key: str, value: Any, partitions: int, reads: dict[str, NkiTensor], attributes: dict[str, Any]
) -> None:
    """Put a tensor of one element in each partition into `reads`, a number into `attributes`, None nowhere."""
    if type(value) is NkiTensor:
        reads[key] = vector(op, key, value, partitions)
    elif value is not None:
        attributes[key] = number(op, key, value)


def number(op: str, key: str, value: Any) -> float | int:
    """Return a scalar operand as a Python number."""
    found = number_of(value)
    if found is None:
        raise invalid(f"{op}: {key} must be a number or a tensor, not {shown(value)}")
    return found


def shown(value: Any) -> str:
    """Return a value in a message: an array by its shape."""
    return f"an array of {list(value.shape)}" if type(value).__module__ == "numpy" else repr(value)


def free_axes(op: str, value: Any, axis: Any) -> list[int]:
    """Return one axis or several of a tile, counted from the first and in order. Raises for those that it does not have, and for that of
    the partitions."""
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    wrong = [at for at in given if not isinstance(at, Integral) or not -value.ndim <= at < value.ndim]
    if wrong or not given:
        raise invalid(f"{op}: axis {[*wrong, axis][0]!r} of {value!r}; expected 1 to {value.ndim - 1}")
    axes = {int(at) % value.ndim for at in given}
    if 0 in axes:
        raise invalid(f"{op}: axis 0 of {value!r} are its partitions, which only nisa.tensor_partition_reduce combines")
    return sorted(axes)


def eight(op: str, key: str, value: NkiTensor, like: NkiTensor) -> None:
    """Check that the operand is [P, 8] with the partitions of `like`."""
    if value.shape[0] != like.shape[0] or free(value) != 8:
        raise invalid(f"{op}: {key} must be [{like.shape[0]}, 8]: {value!r}")


def chosen_engine(op: str, given: Any, allowed: tuple[str, ...], default: str) -> Any:
    """Return the engine by name; `default` when the kernel leaves the choice to the compiler."""
    if given is _UNKNOWN:
        return default
    name = word(engine_enum, given)
    if name == "unknown":
        return default
    if name not in allowed:
        raise invalid(f"{op}: runs on {' or '.join(allowed)}, not on {name}")
    return name


def named_engine(given: Any) -> dict[str, Any]:
    """Return the attribute of an instruction whose engine the kernel names: the compiler leaves it there."""
    name = "unknown" if given is None or given is _UNKNOWN else word(engine_enum, given)
    return {} if name == "unknown" else {"engine": name}


def no_psum_on_gpsimd(op: str, engine: str, *operands: NkiTensor) -> None:
    """Check that no operand lies in PSUM, for an instruction on GpSimd."""
    if engine == "gpsimd":
        for value in operands:
            if value.storage.memory == "psum":
                raise invalid(f"{op}: GpSimd cannot access PSUM: {value!r}")
