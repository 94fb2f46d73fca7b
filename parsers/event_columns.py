"""Holds many rows of one kind as columns. A row is made where somebody looks at one. The functions below take such rows, or any list of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from msgspec import Struct, structs

from neff_bench.parsers.event_rows import Dependence, Predecessor

if TYPE_CHECKING:
    import numpy as np

Row = TypeVar("Row", bound=Struct)
FLOW = Dependence.FLOW
FEW_MAX = 4
"""So many different values for each row are numbered without sorting them."""
MANY = 1 << 14
"""Among so many different values one is found fast. A column of more may have a value twice."""


class Coded(NamedTuple):
    """A column of few different values: (n,) the index of each row's value."""

    codes: np.ndarray
    values: Any


class Links(NamedTuple):
    """A column of predecessors: those of row i are `ids[start[i]:start[i + 1]]`. `kinds`: the index of the `Dependence` of each; None where all are results
    that flow."""

    start: np.ndarray
    ids: np.ndarray
    kinds: np.ndarray | None = None


Numbering = defaultdict[Any, int]
"""The number of each value."""

Column = Any
"""A `Coded`, the `Links`, or numbers (n,)."""


class Columns(Sequence[Row], Generic[Row]):
    """Rows of the class `kind`, whose fields without a column have their defaults."""

    def __init__(self, kind: type[Row], columns: Mapping[str, Column]) -> None:
        self.kind, self.columns = kind, columns
        first = next(iter(columns.values()))
        self._length = len(first.codes if isinstance(first, Coded) else first)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(self._length))]
        return self.kind(**{name: _value(column, at) for name, column in self.columns.items()})

    def __iter__(self) -> Iterator[Row]:
        names = tuple(self.columns)
        for values in zip(*(_listed(column) for column in self.columns.values())):
            yield self.kind(**dict(zip(names, values)))

    def take(self, places: np.ndarray) -> Columns[Row]:
        """Return the rows at these places, without their predecessors."""
        return Columns(self.kind, {
            name: Coded(column.codes[places], column.values) if isinstance(column, Coded) else column[places]
            for name, column in self.columns.items()
            if not isinstance(column, Links)
        })  # fmt: skip

    def of_kind(self, kind: type[Any]) -> Columns[Any]:
        """Return the same rows as another class, without the columns that it has no field for."""
        return Columns(kind, {name: column for name, column in self.columns.items() if hasattr(kind, name)})


def columns_of(kind: type[Row], batches: Iterable[Sequence[Row]]) -> Sequence[Row]:
    """Return rows of one class, given some at a time, as columns, which take a fraction of the memory. Fields that have their default in all rows get none."""
    fields = {field.name: (field.default, new_numbering(), list[Any]()) for field in structs.fields(kind)}
    parts: list[tuple[int, dict[str, Column]]] = []
    for rows in filter(None, batches):
        columns = zip(fields.items(), zip(*map(structs.astuple, rows)))
        found = {name: _column(values, *how) for (name, how), values in columns if not _are_all(values, how[0])}
        parts.append((len(rows), found))
    names = [name for name in fields if any(name in part for _, part in parts)]
    if not names:
        return [kind() for length, _ in parts for _ in range(length)]
    for length, part in parts:
        for name in names:
            if name not in part:
                part[name] = _column(fields[name][:1] * length, *fields[name])
    for _, numbering, known in fields.values():
        known += numbering
    return joined([Columns(kind, {name: part[name] for name in names}) for _, part in parts])


def new_numbering() -> Numbering:
    """Return a dictionary that numbers different values in the order in which they are looked up."""
    return defaultdict(count().__next__)


def _column(values: Sequence[Any], default: Any, numbering: Numbering, known: list[Any]) -> Column:
    """Return a column of the values of a field with this default. `known`: the values of all its columns, but for the last ones, which `numbering` has."""
    import numpy as np

    if isinstance(values[0], list):
        every = [*chain.from_iterable(values)]
        kinds = {kind.value: number for number, kind in enumerate(Dependence)}
        start = np.cumsum([0, *map(len, values)])
        ids = np.array([*map(attrgetter("id"), every)], np.int64)
        return Links(start, ids, np.array([kinds[one.type._value_] for one in every], np.int8))
    if isinstance(default, (str, tuple, type(None))):
        codes = _numbered(values, numbering)
        if len(numbering) > MANY:
            known += numbering
            numbering.clear()
        return Coded(codes, known)
    return np.array(values) if isinstance(values[0], int) else np.fromiter(values, np.float64, len(values))


def _are_all(values: Sequence[Any], value: Any) -> bool:
    return values[0] == value and values.count(value) == len(values)


def _numbered(values: Sequence[Any], numbering: Numbering) -> np.ndarray:
    import numpy as np

    if _are_all(values, values[0]):  # many fields have one value in all rows
        return np.full(len(values), numbering[values[0]], np.int32)
    return np.fromiter(map(numbering.__getitem__, values), np.int32, len(values))


def numbered(values: Iterable[Any], numbering: Numbering | None = None) -> Coded:
    """Return a column of these values, different ones in the order in which they come. `numbering`: of values that have a number already."""
    import numpy as np

    known = new_numbering() if numbering is None else numbering
    return Coded(np.fromiter(map(known.__getitem__, values), np.int32), tuple(known))


def joined(parts: Sequence[Columns[Row]]) -> Columns[Row]:
    """Return the rows of several, one after the other; all have the same columns."""
    import numpy as np

    def one(name: str) -> Column:
        columns = [part.columns[name] for part in parts]
        if isinstance(columns[0], Coded):
            if all(column.values is columns[0].values for column in columns):
                return Coded(np.concatenate([column.codes for column in columns]), tuple(columns[0].values))
            before = np.cumsum([0, *(len(column.values) for column in columns)])
            codes = [column.codes + first for column, first in zip(columns, before)]
            return Coded(np.concatenate(codes), [value for column in columns for value in column.values])
        if isinstance(columns[0], Links):
            before = np.cumsum([0, *(len(column.ids) for column in columns)])
            starts = [column.start[:-1] + first for column, first in zip(columns, before)]
            kinds = [column.kinds for column in columns if column.kinds is not None]
            ids = np.concatenate([column.ids for column in columns])
            return Links(np.concatenate([*starts, before[-1:]]), ids, np.concatenate(kinds) if kinds else None)
        return np.concatenate(columns)

    return Columns(parts[0].kind, {name: one(name) for name in parts[0].columns})


def numbers(rows: Sequence[Any], name: str) -> np.ndarray:
    """Return a field of each row as float64; 0 for rows that do not have it."""
    return field_of(rows, name, 0, "float64")


def field_of(rows: Sequence[Any], name: str, absent: int, dtype: str | None = "int64") -> np.ndarray:
    """Return a number of each row. `absent`: for rows that do not have it."""
    import numpy as np

    if isinstance(rows, Columns):
        return np.asarray(rows.columns.get(name, np.full(len(rows), absent)), dtype)
    return np.array([getattr(row, name, absent) for row in rows], dtype)


class IdIndex:
    """Finds instructions by their `id`; of several with one id the last."""

    def __init__(self, rows: Sequence[Any]) -> None:
        ids = field_of(rows, "id", -1)
        self._order = ids.argsort(kind="stable")
        self._ids = ids[self._order]

    def find(self, ids: np.ndarray) -> np.ndarray:
        """Return the index of the row of each id; -1 for an id that no row has, and for those below 0."""
        import numpy as np

        if not len(self._ids):
            return np.full(len(ids), -1)
        place = np.searchsorted(self._ids, ids, side="right") - 1
        there = (place >= 0) & (self._ids[place] == ids) & (ids >= 0)
        return np.where(there, self._order[place], -1)


def coded(
    rows: Sequence[Any], names: Sequence[str], function: Callable[..., Any], numbering: Numbering | None = None
) -> Coded:
    """Return what a function says of these fields of each row; a field that the rows do not have is "". The values come in the order of their first rows.
    `numbering`: of values that have a number already."""
    import numpy as np

    if not isinstance(rows, Columns):
        return numbered((function(*(getattr(row, name, "") for name in names)) for row in rows), numbering)
    together, different = np.zeros(len(rows), np.int64), 1
    for name in names:
        if name in rows.columns:
            column = rows.columns[name]
            together, different = together * len(column.values) + column.codes, different * len(column.values)
    if different > FEW_MAX * (len(rows) + 1):
        _, together = np.unique(together, return_inverse=True)
        different = len(rows)
    first = np.full(different, -1)
    first[together[::-1]] = np.arange(len(rows))[::-1]  # of several the last one counts, which is the first row
    number = np.zeros(different, np.int32)
    used = np.flatnonzero(first >= 0)
    used = used[np.argsort(first[used])]
    fields = [_values(rows, name, first[used]) for name in names]
    number[used], values = numbered(map(function, *fields), numbering)
    return Coded(number[together], values)


def _values(rows: Columns[Any], name: str, places: np.ndarray) -> Sequence[Any]:
    """Return a field, whose column is a `Coded`, of the rows at these places."""
    if name not in rows.columns:
        defaults = {field.name: field.default for field in structs.fields(rows.kind)}
        return [defaults.get(name, "")] * len(places)
    column = rows.columns[name]
    return [column.values[code] for code in column.codes[places].tolist()]


def links(rows: Sequence[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each predecessor of each row: the index of the row, the predecessor's id, and the index of the `Dependence`."""
    import numpy as np

    kinds = {kind: number for number, kind in enumerate(Dependence)}
    if isinstance(rows, Columns):
        column = rows.columns.get("predecessors", Links(np.zeros(len(rows) + 1, np.int64), np.zeros(0, np.int64)))
        return (
            np.repeat(np.arange(len(rows)), np.diff(column.start)),
            column.ids,
            np.full(len(column.ids), kinds[FLOW]) if column.kinds is None else column.kinds.astype(np.int64),
        )
    found = [(at, one.id, kinds[one.type]) for at, row in enumerate(rows) for one in getattr(row, "predecessors", ())]
    at, ids, kind = np.array(found, np.int64).reshape(-1, 3).T
    return at, ids, kind


def _value(column: Column, at: int) -> Any:
    if isinstance(column, Coded):
        return column.values[column.codes[at]]
    if isinstance(column, Links):
        return _predecessors(column, slice(column.start[:-1][at], column.start[1:][at]))
    return column[at].item()


def _listed(column: Column) -> Sequence[Any]:
    if isinstance(column, Coded):
        return [column.values[code] for code in column.codes.tolist()]
    if isinstance(column, Links):
        every, start = _predecessors(column, slice(None)), column.start.tolist()
        return [every[first:last] for first, last in pairwise(start)]
    listed: list[Any] = column.tolist()
    return listed


def _predecessors(column: Links, part: slice) -> list[Predecessor]:
    ids = column.ids[part].tolist()
    kinds = [FLOW] * len(ids) if column.kinds is None else map([*Dependence].__getitem__, column.kinds[part].tolist())
    return [Predecessor(one, kind) for one, kind in zip(ids, kinds)]
