"""Keeps the machine code of a program as a member of its NEFF, so that it is assembled once. Another timing model assembles it again."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from typing import TYPE_CHECKING

import msgspec

from neff_bench.simulator.compiler.code.assembler import Code, dtype_of
from neff_bench.simulator.costs.transfers import PORTS, Transfer, transfers_of
from neff_bench.simulator.errors import CaptureError
from neff_bench.simulator.program import ENGINES
from neff_bench.simulator.timing.model import model_name

if TYPE_CHECKING:
    from collections.abc import Sequence

_DIGEST_BYTES = 32
_COLUMNS = tuple(field.name for field in fields(Code) if field.name != "transfers")


class _Core(msgspec.Struct, array_like=True):
    """`columns`: dtype and raw bytes of each of `_COLUMNS`, in their order."""

    columns: tuple[tuple[str, bytes], ...]
    transfers: tuple[Transfer, ...]


class _Member(msgspec.Struct, array_like=True):
    model: str
    cores: tuple[_Core, ...]


def encode_code(codes: Sequence[Code], target: str, uuid: bytes) -> bytes:
    """Return the member: a sha256 over the NEFF's uuid and the rest, then the columns of each core."""
    cores = [
        _Core(
            tuple((array.dtype.str, array.tobytes()) for array in (getattr(code, name) for name in _COLUMNS)),
            tuple(code.transfers),
        )
        for code in codes
    ]
    body = msgspec.msgpack.encode(_Member(model_name(target), tuple(cores)))
    return hashlib.sha256(uuid + body).digest() + body


def decode_code(data: bytes, target: str, uuid: bytes) -> tuple[Code, ...] | None:
    """Return the code of each core; None when another timing model made it. Raises `CaptureError`."""
    import numpy as np

    digest, body = data[:_DIGEST_BYTES], memoryview(data)[_DIGEST_BYTES:]
    if hashlib.sha256(uuid + body).digest() != digest:
        raise CaptureError("its machine code is not that of its program")
    try:
        member = msgspec.msgpack.decode(body, type=_Member)
        if member.model != model_name(target):
            return None
        codes = tuple(
            Code(
                **{name: np.frombuffer(raw, dtype) for name, (dtype, raw) in zip(_COLUMNS, core.columns, strict=True)},
                transfers=transfers_of(core.transfers),
            )
            for core in member.cores
        )
        if not all(_is_sound(code) for code in codes):
            raise CaptureError("its machine code cannot be run")
        return codes
    except (msgspec.MsgspecError, TypeError, ValueError, UnicodeDecodeError) as error:
        raise CaptureError(f"its machine code cannot be read ({error})") from None


def _is_sound(code: Code) -> bool:
    """Return whether every column has its type and length, and every index a target: the schedule is computed from it without a further look."""
    n = len(code)
    columns = {name: getattr(code, name) for name in _COLUMNS}
    if any(column.dtype != dtype_of(name) for name, column in columns.items()):
        return False
    lengths = {"wait_start": n + 1, "waits": len(code.waits)}
    if any(len(column) != lengths.get(name, n) for name, column in columns.items()):
        return False
    start, waiting = code.wait_start, code.wait_start[1:] - code.wait_start[:-1]
    if start[0] != 0 or start[-1] != len(code.waits) or (waiting < 0).any():
        return False
    within = all(
        bool(((column >= low) & (column < high)).all())
        for column, low, high in (
            (code.engine, 0, len(ENGINES)),
            (code.transfer, -1, len(code.transfers)),
            (code.waits, 0, n),
        )
    )
    return within and all(t.packets >= 0 <= t.first_port <= PORTS - t.ports for t in code.transfers.kinds)
