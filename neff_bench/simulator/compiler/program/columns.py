"""Holds the buffers of a program and the instructions of its cores as columns, which the passes of the compiler work on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator import native
from neff_bench.simulator.program import Access, Buffer, Instruction, Program, first_partition

if TYPE_CHECKING:
    import numpy as np

READ, WRITE, INDEX = 0, 1, 2
"""What a use is: an operand that is read, one that is written, or the index of a run-time address, read for an operand."""


class Views(NamedTuple):
    """Different views of buffers. One element for each, in int64, but for `step` and `length`: the pairs of the patterns, cut up by
    `pattern_start` (one more element than views). dtype: index into `DTYPES`. dynamic: 1 with a run-time address."""

    buffer: np.ndarray
    offset: np.ndarray
    dtype: np.ndarray
    dynamic: np.ndarray
    pattern_start: np.ndarray
    step: np.ndarray
    length: np.ndarray


class Columns(NamedTuple):
    """The instructions of one core. Arrays of int64.

    kind, by instruction: what costs the same has the same, on all cores; an index into `Table.kinds`.
    A use is one view that an instruction reads or writes: first what it reads, then what it writes, and behind each operand the
    indices of its run-time address. view, role, name, by use: the view's number, READ, WRITE or INDEX, and the operand's name as
    an index into `operand_names`. use_start: where the uses of each instruction begin, and the end.
    """

    kind: np.ndarray
    use_start: np.ndarray
    view: np.ndarray
    role: np.ndarray
    name: np.ndarray
    views: Views


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

DTYPES = tuple(SIZE_BYTES)


@dataclass(frozen=True)
class Table:
    """A program as columns: its buffers, and the instructions of each core.

    kinds: an instruction of each kind. blocks: the columns of each core as a compiled pass has made them.
    """

    buffers: Buffers
    kinds: tuple[Instruction, ...]
    blocks: tuple[np.ndarray, ...]

    @cached_property
    def cores(self) -> tuple[Columns, ...]:
        """The columns of each core."""
        return tuple(map(_columns, self.blocks))


def table_of(program: Program) -> Table:
    """Return the table, which the program keeps: what checks a program when it is recorded and what assembles it then need the same."""
    kept = vars(program)
    if "table" not in kept:
        kept["table"] = tabulated(program.buffers, program.cores)
    table: Table = kept["table"]
    return table


def tabulated(buffers: Sequence[Buffer], cores: Sequence[Sequence[Instruction]]) -> Table:
    """Return a program as columns. `cores`: the instructions of each core, whose views are in `buffers`. Raises KeyError for a dtype that is not in `DTYPES`."""
    found = _Found(*(_plain if native.library() is None else _compiled)(buffers, cores))
    kinds: list[Instruction] = []
    for core, first in zip(cores, found.first, strict=True):
        # They are numbered as they come: what is new in a core comes before what only later cores have.
        kinds += [core[place] for place in first[len(kinds) :] if place >= 0]
    return Table(found.buffers, tuple(kinds), found.blocks)


def operand_names(kinds: Sequence[Instruction]) -> tuple[str, ...]:
    """Return the names of operands, in the order in which a program has them. `kinds`: those of its table."""
    return tuple({name: None for first in kinds for operands in (first.reads, first.writes) for name in operands})


class _Found(NamedTuple):
    """Holds what a table has, but for its kinds. first: by core and kind, where its first instruction is, or -1."""

    buffers: Buffers
    first: tuple[list[int], ...]
    blocks: tuple[np.ndarray, ...]


_USE, _STEP = (b"\x95", 12), (b"\x92", 3)
"""In MessagePack, a byte of each use and of each pair of a pattern: the head of an array of five, and of two. And the least bytes that
each takes: a use a name and a view with its buffer, offset, pattern, dtype and index."""

_LONG_BYTES = 1 << 20
"""From which counting is cheaper than room that is not used: the system clears memory for it, up to 2 MB for each column."""

_COUNTS = 8
"""Numbers at the start of a block: see simulator/native/columns.h."""

_COLUMNS = 2, 8, 2
"""Columns of a block: by instruction, by use or view, and by step of a pattern."""

_UNKNOWN_DTYPE = -2


def _compiled(buffers: Sequence[Buffer], cores: Sequence[Sequence[Instruction]]) -> _Found:
    """Do what `_plain` does, in C: simulator/native/tabulate.c."""
    import numpy as np

    encoded = bytearray(_ENCODED_DTYPES)
    # What a constant holds is not looked at, and may be long.
    _ENCODER.encode_into([b if not b.data else msgspec.structs.replace(b, data=b"") for b in buffers], encoded, -1)
    rooms, lengths, begin = [], [], len(encoded)
    for instructions in cores:
        _ENCODER.encode_into(instructions, encoded, -1)
        rooms.append((len(instructions) + 1, _most(encoded, begin, *_USE) + 2, _most(encoded, begin, *_STEP) + 2))
        begin = len(encoded)
        lengths.append(_COUNTS + sum(map(mul, _COLUMNS, rooms[-1])))
    kinds, count = sum(map(len, cores)), len(cores)
    rows, places, *blocks = _cut(
        np.empty(6 * len(buffers) + count * kinds + sum(lengths), np.int64),
        6 * len(buffers),
        count * kinds,
        *lengths,
    )
    given = [word for room, block in zip(rooms, blocks, strict=True) for word in (*room, block)]
    found = native.call("tabulate", encoded, item_bytes(), rows, count, tuple(given), kinds, places)
    if found == _UNKNOWN_DTYPE:
        raise KeyError(f"a dtype that is none of {', '.join(DTYPES)}")
    first = places.reshape(count, kinds)[:, :found].tolist()
    return _Found(Buffers._make(rows.reshape(6, -1)), tuple(first), tuple(blocks))


def _most(encoded: bytearray, begin: int, byte: bytes, least_bytes: int) -> int:
    """Return no less than how many there are from `begin` on."""
    size = len(encoded) - begin
    return size // least_bytes if size < _LONG_BYTES else encoded.count(byte, begin)


_ENCODER = msgspec.msgpack.Encoder()
_ENCODED_DTYPES = _ENCODER.encode(DTYPES)


def _columns(block: np.ndarray) -> Columns:
    """Return the columns in a block."""
    instructions, used, views, pairs, _, *rooms = block[:_COUNTS].tolist()
    lengths = [room for room, columns in zip(rooms, _COLUMNS, strict=True) for _ in range(columns)]
    kind, use_start, view, role, name, buffer, offset, dtype, dynamic, pattern_start, step, length = _cut(
        block[_COUNTS:], *lengths
    )
    return Columns(
        kind[:instructions],
        use_start[: instructions + 1],
        view[:used],
        role[:used],
        name[:used],
        Views(
            buffer[:views], offset[:views], dtype[:views], dynamic[:views], pattern_start[: views + 1],
            step[:pairs], length[:pairs],
        ),
    )  # fmt: skip


def _cut(block: np.ndarray, *lengths: int) -> list[np.ndarray]:
    """Return the parts of these lengths, one behind the other."""
    ends = itertools.accumulate(lengths, initial=0)
    return [block[start:end] for start, end in itertools.pairwise(ends)]


@cache
def item_bytes() -> np.ndarray:
    """Return the bytes of an element, by dtype, in int64."""
    import numpy as np

    return np.array(list(SIZE_BYTES.values()), np.int64)


def _plain(buffers: Sequence[Buffer], cores: Sequence[Sequence[Instruction]]) -> _Found:
    of_buffers = Buffers._make(transposed([_of_buffer(buffer) for buffer in buffers], 6))
    numbers = _Numbers({}, {})
    place = (2 * of_buffers.memory + of_buffers.of_host).tolist()
    of_cores = [_of_core(buffers, place, instructions, numbers) for instructions in cores]
    kinds = range(len(numbers.kinds))
    first = [{kind: at for at, kind in reversed(list(enumerate(columns[0])))} for columns in of_cores]
    return _Found(
        of_buffers,
        tuple([places.get(kind, -1) for kind in kinds] for places in first),
        tuple(_block(columns, len(numbers.names)) for columns in of_cores),
    )


def _block(columns: Sequence[Sequence[int]], names: int) -> np.ndarray:
    """Return columns as compiled passes take them."""
    import numpy as np

    kind, _, view, _, _, buffer, *_, step, _ = columns
    rooms = len(kind) + 1, max(len(view), len(buffer)) + 1, len(step)
    block = np.zeros(_COUNTS + sum(map(mul, _COLUMNS, rooms)), np.int64)
    block[:_COUNTS] = len(kind), len(view), len(buffer), len(step), names, *rooms
    lengths = [room for room, number in zip(rooms, _COLUMNS, strict=True) for _ in range(number)]
    for column, values in zip(_cut(block[_COUNTS:], *lengths), columns, strict=True):
        column[: len(values)] = values
    return block


def _of_buffer(buffer: Buffer) -> tuple[int, int, int, int, int, int]:
    rows = prod(buffer.shape[:-1] if buffer.memory == "hbm" else buffer.shape[:1])
    return (
        MEMORIES.index(buffer.memory),
        buffer.kind in ("input", "output"),
        max(buffer.row_bytes, 1),
        rows,
        -1 if buffer.address is None else buffer.address,
        buffer.partition,
    )


class _Numbers(NamedTuple):
    """Numbers of different things of all cores, in the order in which they come."""

    kinds: dict[tuple[object, ...], int]
    names: dict[str, int]


def _of_core(
    buffers: Sequence[Buffer], place: Sequence[int], instructions: Sequence[Instruction], numbers: _Numbers
) -> list[list[int]]:
    """Return the columns of a core, in the order of a block."""
    kinds, names = numbers
    views: dict[Access, int] = {}
    kind, uses, use_start = [], [], [0]
    for instruction in instructions:
        key: list[object] = [instruction.op, instruction.engine, msgspec.msgpack.encode(instruction.attributes)]
        for role, operands in ((READ, instruction.reads), (WRITE, instruction.writes)):
            key.append(role)
            for name, access in operands.items():
                operand = names.setdefault(name, len(names))
                uses.append((views.setdefault(access, len(views)), role, operand))
                for part in access.dynamic:
                    uses.append((views.setdefault(part.index, len(views)), INDEX, operand))
                key += (operand, access.pattern, access.dtype, place[access.buffer])
                key += (bool(access.dynamic), first_partition(access, buffers[access.buffer]))
        use_start.append(len(uses))
        kind.append(kinds.setdefault(tuple(key), len(kinds)))
    dtypes = {dtype: number for number, dtype in enumerate(DTYPES)}
    rows = [(v.buffer, v.offset, dtypes[v.dtype], int(bool(v.dynamic))) for v in views]
    pattern_start = itertools.accumulate((len(v.pattern) for v in views), initial=0)
    steps = [pair for v in views for pair in v.pattern]
    by_use, by_view, by_step = _columns_of(uses, 3), _columns_of(rows, 4), _columns_of(steps, 2)
    return [kind, use_start, *by_use, *by_view, list(pattern_start), *by_step]


def _columns_of(rows: Sequence[tuple[int, ...]], width: int) -> list[list[int]]:
    return list(map(list, zip(*rows, strict=True))) if rows else [[] for _ in range(width)]


def transposed(rows: Sequence[tuple[int, ...]], width: int) -> list[np.ndarray]:
    """Return the rows of `width` integers as columns of int64."""
    import numpy as np

    # Twice as fast as an array of the rows.
    flat = np.fromiter(itertools.chain.from_iterable(rows), np.int64, width * len(rows))
    return list(flat.reshape(-1, width).T.copy())
