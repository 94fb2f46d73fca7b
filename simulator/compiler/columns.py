"""The buffers of a program and the instructions of its cores as columns, which the passes of the compiler work on."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, NamedTuple
from weakref import ref

import msgspec

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator import native
from neff_bench.simulator.program import Access, Buffer, Instruction, Kind, Memory, Program

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
    """The instructions of one core. Arrays of int64.

    kind, by instruction: what costs the same has the same, on all cores; an index into `Table.kinds`.
    A use is one view that an instruction reads or writes: first what it reads, then what it writes, and behind each operand the
    indices of its run-time address. view, role, name, by use: the view's number, READ, WRITE or INDEX, and the operand's name as
    an index into `names`. use_start: where the uses of each instruction begin, and the end. names, dtypes: of all cores. block: all
    columns as compiled passes take them, None where nothing is compiled.
    """

    kind: np.ndarray
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
    import numpy as np

    known: dict[tuple[Memory, tuple[int, ...], str, Kind], int] = {}
    form = [known.setdefault((b.memory, b.shape, b.dtype, b.kind), len(known)) for b in buffers]
    address = [-1 if b.address is None else b.address for b in buffers]
    partition = [b.partition for b in buffers]
    forms = transposed([_form(Buffer("", *key)) for key in known], 4)
    of_each = np.array(form, np.int64)
    rest = [np.array(column, np.int64) for column in (address, partition)]
    return Buffers._make([*(column[of_each] for column in forms), *rest])


def _form(buffer: Buffer) -> tuple[int, int, int, int]:
    """Of buffers with the same shape: memory, of_host, row_bytes, rows."""
    rows = prod(buffer.shape[:-1] if buffer.memory == "hbm" else buffer.shape[:1])
    return MEMORIES.index(buffer.memory), buffer.kind in ("input", "output"), max(buffer.row_bytes, 1), rows


class Table(NamedTuple):
    """A program as columns: its buffers, and the instructions of each core. kinds: the first instruction of each kind."""

    buffers: Buffers
    cores: tuple[Columns, ...]
    kinds: tuple[Instruction, ...]


def table_of(program: Program) -> Table:
    """That of the latest program is kept as long as the program: what checks a program when it is recorded and what assembles it
    then need the same."""
    global _latest
    latest = _latest
    if latest is None or latest[0]() is not program:
        latest = _latest = ref(program, _forget), tabulated(buffer_columns(program.buffers), program.cores)
    return latest[1]


_latest: tuple[ref[Program], Table] | None = None


def _forget(gone: ref[Program]) -> None:
    global _latest
    if _latest is not None and _latest[0] is gone:
        _latest = None


def tabulated(buffers: Buffers, cores: Sequence[Sequence[Instruction]]) -> Table:
    """`cores`: the instructions of each core, whose views are in `buffers`."""
    # What a cost depends on: the memory, and whether it is of the host's.
    place = 2 * buffers.memory + buffers.of_host
    columns, kinds = _plain(place.tolist(), cores) if native.library() is None else _compiled(place, cores)
    return Table(buffers, columns, tuple(cores[core][first] for core, first in kinds))


_Found = tuple[tuple[Columns, ...], Iterable[tuple[int, int]]]
"""The columns of each core; and of each kind the core that has it first, and where."""

_USE_BYTES, _STEP_BYTES = 12, 3
"""The least that a use, and one pair of a pattern, take in MessagePack: a name and a view with its buffer, offset, pattern, dtype
and index."""

_COUNTS, _SHARED_COUNTS = 8, 3
"""Numbers at the start of a block, and of what the cores share: see simulator/native/columns.h and tabulate.c."""


def _compiled(place: np.ndarray, cores: Sequence[Sequence[Instruction]]) -> _Found:
    """`_plain` in C."""
    import numpy as np

    encoded, starts = bytearray(), []
    for instructions in cores:
        starts.append(len(encoded))
        _ENCODER.encode_into(instructions, encoded, -1)
    sizes = [end - start for start, end in itertools.pairwise([*starts, len(encoded)])]
    blocks = [_block(len(instructions), size) for instructions, size in zip(cores, sizes, strict=True)]
    kinds, uses = sum(map(len, cores)), len(encoded) // _USE_BYTES + 1
    shared = _cut(np.empty(_SHARED_COUNTS + 2 * kinds + 4 * uses, np.int64), _SHARED_COUNTS, kinds, kinds, 2 * uses)
    native.call("tabulate", encoded, place, len(cores), (*itertools.chain(*zip(starts, blocks, strict=True)),), shared)
    counts, first_core, first, *where = shared
    kinds, names, dtypes = counts.tolist()
    texts = [_texts(encoded, at, count) for at, count in zip(where, (names, dtypes), strict=True)]
    return (
        tuple(_columns(block, *texts) for block in blocks),
        zip(first_core[:kinds].tolist(), first[:kinds].tolist(), strict=True),
    )


_ENCODER = msgspec.msgpack.Encoder()


def _block(instructions: int, size: int) -> np.ndarray:
    """Room for the columns of instructions that take `size` bytes of MessagePack."""
    import numpy as np

    number, uses, steps = instructions + 1, size // _USE_BYTES + 2, size // _STEP_BYTES + 2
    block = np.empty(_COUNTS + 2 * number + 8 * uses + 2 * steps, np.int64)
    block[:_COUNTS] = (instructions, 0, 0, 0, 0, number, uses, steps)
    return block


def _columns(block: np.ndarray, names: tuple[str, ...], dtypes: tuple[str, ...]) -> Columns:
    """The columns in a block."""
    instructions, used, views, pairs, _, number, uses, steps = block[:_COUNTS].tolist()
    kind, use_start, view, role, name, buffer, offset, dtype, dynamic, pattern_start, step, length = _cut(
        block[_COUNTS:], number, number, *[uses] * 8, steps
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
        names,
        dtypes,
        block,
    )  # fmt: skip


def _cut(block: np.ndarray, *rooms: int) -> tuple[np.ndarray, ...]:
    """The parts of these lengths, one behind the other, and the rest."""
    ends = list(itertools.accumulate(rooms, initial=0))
    return (*(block[start:end] for start, end in itertools.pairwise(ends)), block[ends[-1] :])


def item_bytes(columns: Columns) -> np.ndarray:
    """Bytes of an element, by dtype, in int64."""
    import numpy as np

    return np.array([SIZE_BYTES[dtype] for dtype in columns.dtypes], np.int64)


def _texts(encoded: bytearray, where: np.ndarray, count: int) -> tuple[str, ...]:
    ends = where[: 2 * count].tolist()
    return tuple(msgspec.msgpack.decode(encoded[start:end]) for start, end in zip(ends[::2], ends[1::2], strict=True))


class _Numbers(NamedTuple):
    """Numbers of different things of all cores, in the order in which they come."""

    kinds: dict[tuple[object, ...], int]
    names: dict[str, int]
    dtypes: dict[str, int]


def _plain(place: Sequence[int], cores: Sequence[Sequence[Instruction]]) -> _Found:
    numbers = _Numbers({}, {}, {})
    first: list[tuple[int, int]] = []
    columns = [_of_core(place, instructions, numbers) for instructions in cores]
    for core, found in enumerate(columns):
        for number, kind in enumerate(found.kind.tolist()):
            if kind == len(first):
                first.append((core, number))
    texts = tuple(numbers.names), tuple(numbers.dtypes)
    return tuple(replace(found, names=texts[0], dtypes=texts[1]) for found in columns), first


def _of_core(place: Sequence[int], instructions: Sequence[Instruction], numbers: _Numbers) -> Columns:
    """The columns without their texts."""
    import numpy as np

    kinds, names, dtypes = numbers
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
        use_start.append(len(uses))
        kind.append(kinds.setdefault(tuple(key), len(kinds)))
    rows = [(v.buffer, v.offset, dtypes.setdefault(v.dtype, len(dtypes)), int(bool(v.dynamic))) for v in views]
    pattern_start = np.cumsum([0, *(len(v.pattern) for v in views)])
    used, roles, operands_ = transposed(uses, 3)
    steps = [pair for v in views for pair in v.pattern]
    return Columns(
        np.array(kind, np.int64),
        np.array(use_start, np.int64),
        used,
        roles,
        operands_,
        Views._make([*transposed(rows, 4), pattern_start, *transposed(steps, 2)]),
        (),
        (),
    )


def transposed(rows: Sequence[tuple[int, ...]], width: int) -> list[np.ndarray]:
    """Rows of `width` integers as columns of int64."""
    import numpy as np

    # Twice as fast as an array of the rows.
    flat = np.fromiter(itertools.chain.from_iterable(rows), np.int64, width * len(rows))
    return list(flat.reshape(-1, width).T.copy())
