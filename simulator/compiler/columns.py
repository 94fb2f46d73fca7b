"""The buffers of a program and the instructions of one core as columns, which the passes of the compiler work on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, NamedTuple
from weakref import ref

import msgspec

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator import native
from neff_bench.simulator.program import Access, Buffer, Instruction, Program

if TYPE_CHECKING:
    import numpy as np

READ, WRITE, INDEX = 0, 1, 2
"""What a use is: an operand that is read, one that is written, or the index of a run-time address, read for an operand."""


class Views(NamedTuple):
    """Different views of buffers. One element for each, in int64, but for `step` and `length`: the pairs of the patterns, cut up by
    `pattern_start` (one more element than views). dtype: index into `Columns.dtypes`. dynamic: 1 with a run-time address."""

    buffer: np.ndarray
    offset: np.ndarray
    dtype: np.ndarray
    dynamic: np.ndarray
    pattern_start: np.ndarray
    step: np.ndarray
    length: np.ndarray


@dataclass(frozen=True)
class Columns:
    """Arrays of int64.

    kind, by instruction: what costs the same has the same. first_of_kind: the first instruction of each kind.
    A use is one view that an instruction reads or writes: first what it reads, then what it writes, and behind each operand the
    indices of its run-time address. view, role, name, by use: the view's number, READ, WRITE or INDEX, and the operand's name as
    an index into `names`. use_start: where the uses of each instruction begin, and the end. block: all of them as compiled passes take
    them, None where nothing is compiled.
    """

    kind: np.ndarray
    first_of_kind: np.ndarray
    use_start: np.ndarray
    view: np.ndarray
    role: np.ndarray
    name: np.ndarray
    views: Views
    names: tuple[str, ...]
    dtypes: tuple[str, ...]
    block: np.ndarray | None = None


class Buffers(NamedTuple):
    """The buffers of a program. One element for each, in int64.

    memory: index into `MEMORIES`. of_host: 1 for inputs and outputs. row_bytes, rows: bytes of a row, no less than 1, and how many
    there are. address: -1 where the kernel did not place it. partition: the first one of a buffer that the kernel placed.
    """

    memory: np.ndarray
    of_host: np.ndarray
    row_bytes: np.ndarray
    rows: np.ndarray
    address: np.ndarray
    partition: np.ndarray


MEMORIES = ("hbm", "sbuf", "psum")
HBM, SBUF, PSUM = range(3)


def buffer_columns(buffers: Sequence[Buffer]) -> Buffers:
    """The buffers of a program as columns."""

    known: dict[tuple[object, ...], tuple[int, ...]] = {}
    found = []
    for buffer in buffers:
        key = (buffer.memory, buffer.shape, buffer.dtype, buffer.kind)
        row = known.get(key)
        if row is None:
            of_host = buffer.kind in ("input", "output")
            rows = prod(buffer.shape[:-1] if buffer.memory == "hbm" else buffer.shape[:1])
            row = known[key] = (MEMORIES.index(buffer.memory), of_host, max(buffer.row_bytes, 1), rows)
        found.append((*row, -1 if buffer.address is None else buffer.address, buffer.partition))
    return Buffers._make(transposed(found, 6))


_USE_BYTES, _STEP_BYTES = 12, 3
"""The least that a use, and one pair of a pattern, take in MessagePack: a name and a view with its buffer, offset, pattern, dtype
and index."""


class Table(NamedTuple):
    """A program as columns: its buffers, and the instructions of each core."""

    buffers: Buffers
    cores: tuple[Columns, ...]


def table_of(program: Program) -> Table:
    """That of the latest program is kept as long as the program: what checks a program when it is recorded and what assembles it
    then need the same."""
    global _latest
    latest = _latest
    if latest is None or latest[0]() is not program:
        buffers = buffer_columns(program.buffers)
        table = Table(buffers, tuple(columns_of(buffers, core) for core in program.cores))
        latest = _latest = ref(program, _forget), table
    return latest[1]


_latest: tuple[ref[Program], Table] | None = None


def _forget(gone: ref[Program]) -> None:
    global _latest
    if _latest is not None and _latest[0] is gone:
        _latest = None


def columns_of(buffers: Buffers, instructions: Sequence[Instruction]) -> Columns:
    """`buffers`: of the program; `instructions`: of one of its cores."""
    # What a cost depends on: the memory, and whether it is of the host's.
    place = 2 * buffers.memory + buffers.of_host
    if native.library() is None:
        return _plain(place.tolist(), instructions)
    return _compiled(place, instructions)


def _compiled(place: np.ndarray, instructions: Sequence[Instruction]) -> Columns:
    """`_plain` in C."""
    import numpy as np

    encoded = msgspec.msgpack.encode(instructions)
    number, uses, steps = len(instructions) + 1, len(encoded) // _USE_BYTES + 2, len(encoded) // _STEP_BYTES + 2
    rooms = (*[number] * 3, *[uses] * 8, *[steps] * 2, *[2 * uses] * 2)
    ends = list(itertools.accumulate(rooms, initial=_COUNTS))
    block = np.empty(ends[-1], np.int64)
    block[:_COUNTS] = (len(instructions), 0, 0, 0, 0, 0, 0, number, uses, steps)
    native.call("tabulate", encoded, place, block)
    _, used, views, pairs, kinds, names, dtypes, *_ = block[:_COUNTS].tolist()
    lengths = (number - 1, number, kinds, used, used, used, views, views, views, views, views + 1, pairs, pairs)
    kind, use_start, first_of_kind, view, role, name, *of_views = (
        block[start : start + length] for start, length in zip(ends, lengths, strict=False)
    )
    texts = (_texts(encoded, block[ends[13] :], names), _texts(encoded, block[ends[14] :], dtypes))
    return Columns(kind, first_of_kind, use_start, view, role, name, Views._make(of_views), *texts, block)


def item_bytes(columns: Columns) -> np.ndarray:
    """Bytes of an element, by dtype, in int64."""
    import numpy as np

    return np.array([SIZE_BYTES[dtype] for dtype in columns.dtypes], np.int64)


_COUNTS = 10
"""Numbers at the start of a block: see simulator/native/columns.h."""


def _texts(encoded: bytes, where: np.ndarray, count: int) -> tuple[str, ...]:
    return tuple(
        msgspec.msgpack.decode(encoded[start:end]) for start, end in where[: 2 * count].reshape(-1, 2).tolist()
    )


def _plain(place: Sequence[int], instructions: Sequence[Instruction]) -> Columns:
    import numpy as np

    kinds: dict[tuple[object, ...], int] = {}
    names: dict[str, int] = {}
    views: dict[Access, int] = {}
    first_of_kind: list[int] = []
    kind, uses, use_start = [], [], [0]
    for number, instruction in enumerate(instructions):
        key: list[object] = [instruction.op, instruction.engine, msgspec.msgpack.encode(instruction.attributes)]
        for role, operands in ((READ, instruction.reads), (WRITE, instruction.writes)):
            key.append(role)
            for name, access in operands.items():
                operand = names.setdefault(name, len(names))
                uses.append((views.setdefault(access, len(views)), role, operand))
                for part in access.dynamic:
                    uses.append((views.setdefault(part.index, len(views)), INDEX, operand))
                key += (operand, access.pattern, access.dtype, place[access.buffer])
        use_start.append(len(uses))
        kind.append(kinds.setdefault(tuple(key), len(kinds)))
        if len(kinds) > len(first_of_kind):
            first_of_kind.append(number)
    view_numbers, roles, operands_ = transposed(uses, 3)
    dtypes: dict[str, int] = {}
    rows = [(v.buffer, v.offset, dtypes.setdefault(v.dtype, len(dtypes)), int(bool(v.dynamic))) for v in views]
    pattern_start = np.cumsum([0, *(len(v.pattern) for v in views)])
    steps = [pair for v in views for pair in v.pattern]
    return Columns(
        np.array(kind, np.int64),
        np.array(first_of_kind, np.int64),
        np.array(use_start, np.int64),
        view_numbers,
        roles,
        operands_,
        Views._make([*transposed(rows, 4), pattern_start, *transposed(steps, 2)]),
        tuple(names),
        tuple(dtypes),
    )


def transposed(rows: Sequence[tuple[int, ...]], width: int) -> list[np.ndarray]:
    """Rows of `width` integers as columns of int64."""
    import numpy as np

    return list(np.array(rows, np.int64).reshape(-1, width).T.copy())
