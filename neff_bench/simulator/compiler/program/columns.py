"""Holds the buffers of a program and the instructions of its cores as columns, which the passes of the compiler work on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator import native
from neff_bench.simulator.native.recorder import compiled
from neff_bench.simulator.program import Access, Buffer, Dynamic, Instruction, Memory, Program, first_partition

if TYPE_CHECKING:
    import numpy as np

READ, WRITE, INDEX = 0, 1, 2
"""What a use is: an operand that is read, one that is written, or the index of a run-time address, read for an operand."""


class Views(NamedTuple):
    """Different views of buffers. One element for each, in int64, but in int32 of the next three. dtype: index into `DTYPES`. dynamic: above 0 with
    a run-time address. pattern: its number; the pairs of all patterns are `step` and `length`, cut up by `pattern_start` (one more element than
    patterns)."""

    buffer: np.ndarray
    offset: np.ndarray
    dtype: np.ndarray
    dynamic: np.ndarray
    pattern: np.ndarray
    pattern_start: np.ndarray
    step: np.ndarray
    length: np.ndarray


@dataclass(frozen=True)
class Columns:
    """The instructions of one core. Arrays of int64, but for `view` and `name` in int32 and `role` in int8.

    kind, by instruction: what costs the same has the same, on all cores; an index into `Table.kinds`.
    A use is one view that an instruction reads or writes: first what it reads, then what it writes, and behind each operand the
    indices of its run-time address. view, by use: the view's number. use_start: where the uses of each instruction begin, and the end.
    uses: gives `role` and `name` of all of them.
    """

    kind: np.ndarray
    use_start: np.ndarray
    view: np.ndarray
    views: Views
    uses: Callable[[], Sequence[np.ndarray]]

    def instructions(self, uses: np.ndarray) -> np.ndarray:
        """Return the instructions of these uses. `uses`: in order."""
        return self.use_start.searchsorted(uses, "right") - 1

    @property
    def role(self) -> np.ndarray:
        """READ, WRITE or INDEX, by use."""
        return self._uses[0]

    @property
    def name(self) -> np.ndarray:
        """The operand's name as an index into `operand_names`, by use."""
        return self._uses[1]

    @cached_property
    def _uses(self) -> Sequence[np.ndarray]:
        return self.uses()


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


MEMORIES: tuple[Memory, ...] = ("hbm", "sbuf", "psum")
HBM, SBUF, PSUM = range(3)

DTYPES = tuple(SIZE_BYTES)


@dataclass(frozen=True)
class Table:
    """A program as columns: its buffers, and the instructions of each core. kinds: an instruction of each kind."""

    buffers: Buffers
    kinds: tuple[Instruction, ...]
    cores: tuple[Columns, ...]


def table_of(program: Program) -> Table:
    """Return the table, which the program keeps: what checks a program when it is recorded and what assembles it then need the same."""
    kept = vars(program)
    if "table" not in kept:
        kept["table"] = tabulated(program.buffers, program.cores)
    table: Table = kept["table"]
    return table


def tabulated(buffers: Sequence[Buffer], cores: Sequence[Sequence[Instruction]]) -> Table:
    """Return a program as columns. `cores`: the instructions of each core, whose views are in `buffers`. Raises KeyError for a dtype that is not in `DTYPES`."""
    core = compiled() if native.compiled_passes() is not None else None
    return _plain(buffers, cores) if core is None else _compiled(core, buffers, cores)


def operand_names(kinds: Sequence[Instruction]) -> tuple[str, ...]:
    """Return the names of operands, in the order in which a program has them. `kinds`: those of its table."""
    return tuple({name: None for first in kinds for operands in (first.reads, first.writes) for name in operands})


def _compiled(core: Any, buffers: Sequence[Buffer], cores: Sequence[Sequence[Instruction]]) -> Table:
    """Do what `_plain` does with the columns of a recording; other instructions become such columns first."""
    steps = steps_of(core, cores)
    sizes = item_bytes().tobytes()
    rows = core.buffer_columns(tuple(buffers), sizes)
    found, first = core.kinds(steps, rows, len(buffers), sizes)
    kinds = tuple(cores[number][place] for number, place in first)
    names = operand_names(kinds)
    return Table(
        Buffers._make(numbers(rows).reshape(6, -1)),
        kinds,
        tuple(_columns(one, numbers(kind), names) for one, kind in zip(steps, found, strict=True)),
    )


def steps_of(core: Any, cores: Sequence[Sequence[Instruction]]) -> tuple[Any, ...]:
    """Return the instructions of all cores as columns that share their words: what was recorded so is what it was."""
    if all(isinstance(one, core.Steps) and one.has_words_of(cores[0]) for one in cores):
        return tuple(cores)
    made: list[Any] = []
    for instructions in cores:
        made.append(core.Steps(instructions, *made[:1]))
    return tuple(made)


def _columns(steps: Any, kind: np.ndarray, names: tuple[str, ...]) -> Columns:
    _, use_start, view, *views = steps.columns()

    def uses() -> tuple[np.ndarray, np.ndarray]:
        role, name = steps.uses(names)
        return numbers(role, "int8"), numbers(name, "int32")

    of_views = Views._make(
        map(numbers, views, ("int64", "int64", "int32", "int32", "int32", "int64", "int64", "int64"))
    )
    return Columns(kind, numbers(use_start), numbers(view, "int32"), of_views, uses)


def numbers(column: bytearray, dtype: str = "int64") -> np.ndarray:
    """Return a column where it lies."""
    import numpy as np

    return np.frombuffer(column, dtype)


@cache
def item_bytes() -> np.ndarray:
    """Return the bytes of an element, by dtype, in int64."""
    import numpy as np

    return np.array(list(SIZE_BYTES.values()), np.int64)


def _plain(buffers: Sequence[Buffer], cores: Sequence[Sequence[Instruction]]) -> Table:
    of_buffers = Buffers._make(transposed([_of_buffer(buffer) for buffer in buffers], 6))
    found = _Numbers({}, {}, {}, {}, {(): 0})
    place = (2 * of_buffers.memory + of_buffers.of_host).tolist()
    of_cores = [_of_core(buffers, place, instructions, found) for instructions in cores]
    (pattern_start,) = transposed([(at,) for at in itertools.accumulate(map(len, found.patterns), initial=0)], 1)
    pairs = transposed([pair for pattern in found.patterns for pair in pattern], 2)
    columns = []
    for kind, start, uses, views in of_cores:
        view, role, name = transposed(uses, 3)
        buffer, offset, *short = transposed(views, 5)
        every = Views._make((buffer, offset, *(column.astype("int32") for column in short), pattern_start, *pairs))
        of_uses = partial(tuple, (role.astype("int8"), name.astype("int32")))
        columns.append(Columns(transposed(kind, 1)[0], transposed(start, 1)[0], view.astype("int32"), every, of_uses))
    return Table(of_buffers, tuple(found.kinds.values()), tuple(columns))


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
    """Numbers of different things of all cores, in the order in which they come; of kinds the first instruction."""

    numbers: dict[tuple[object, ...], int]
    names: dict[str, int]
    kinds: dict[int, Instruction]
    patterns: dict[tuple[tuple[int, int], ...], int]
    dynamic: dict[tuple[Dynamic, ...], int]


_Rows = list[tuple[int, ...]]


def _of_core(
    buffers: Sequence[Buffer], place: Sequence[int], instructions: Sequence[Instruction], found: _Numbers
) -> tuple[_Rows, _Rows, _Rows, _Rows]:
    """Return the kinds, starts of uses, uses and views of a core."""
    views: dict[Access, int] = {}
    kind, use_start, uses = _Rows(), _Rows([(0,)]), _Rows()
    for instruction in instructions:
        key: list[object] = [instruction.op, instruction.engine, msgspec.msgpack.encode(instruction.attributes)]
        for role, operands in ((READ, instruction.reads), (WRITE, instruction.writes)):
            key.append(role)
            for name, access in operands.items():
                operand = found.names.setdefault(name, len(found.names))
                uses.append((views.setdefault(access, len(views)), role, operand))
                for part in access.dynamic:
                    uses.append((views.setdefault(part.index, len(views)), INDEX, operand))
                key += (operand, access.pattern, access.dtype, place[access.buffer])
                key += (bool(access.dynamic), first_partition(access, buffers[access.buffer]))
        use_start.append((len(uses),))
        kind.append((found.numbers.setdefault(tuple(key), len(found.numbers)),))
        found.kinds.setdefault(kind[-1][0], instruction)
    dtypes = {dtype: number for number, dtype in enumerate(DTYPES)}
    numbered: _Rows = [
        (
            v.buffer,
            v.offset,
            dtypes[v.dtype],
            found.dynamic.setdefault(v.dynamic, len(found.dynamic)),
            found.patterns.setdefault(v.pattern, len(found.patterns)),
        )
        for v in views
    ]
    return kind, use_start, uses, numbered


def transposed(rows: Sequence[tuple[int, ...]], width: int) -> list[np.ndarray]:
    """Return the rows of `width` integers as columns of int64."""
    import numpy as np

    # Twice as fast as an array of the rows.
    flat = np.fromiter(itertools.chain.from_iterable(rows), np.int64, width * len(rows))
    return list(flat.reshape(-1, width).T.copy())
