"""Gives rows for programs: as records, pandas, Arrow and Polars tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.metrics.rows import Row, columns, to_dict, to_flat
from neff_bench.stage2_profile.report.layout import answer, html_of
from neff_bench.terminal.formats import render

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Rows(Sequence[Row]):
    """A sequence of rows."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Rows: ...
    def __getitem__(self, at: int | slice) -> Row | Rows:
        return Rows(self._rows[at]) if isinstance(at, slice) else self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        """Return the table of the commands."""
        return render(answer(self._rows), "table") if self._rows else "Rows()"

    def _repr_html_(self) -> str:
        """Return the table, as a notebook shows it."""
        return html_of(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and self._rows == other._rows

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dictionary for each row, as `--format json` writes it (see `neff-bench schema`)."""
        return [to_dict(row) for row in self._rows]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a column for each key. Raises `WrongCall` when pandas is not installed."""
        return _package("pandas").DataFrame(list(map(to_flat, self._rows)), columns=columns(self._rows))

    def to_arrow(self) -> pyarrow.Table:
        """Return the same as an Arrow table, which needs pyarrow."""
        return _package("pyarrow").Table.from_pydict(self._by_column())

    def to_polars(self) -> polars.DataFrame:
        """Return the same as a Polars data frame, which needs polars."""
        return _package("polars").DataFrame(self._by_column(), strict=False)

    def _by_column(self) -> dict[str, list[Any]]:
        records = list(map(to_flat, self._rows))
        return {name: [record.get(name) for record in records] for name in columns(self._rows)}


def _package(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise WrongCall(f"{name} is not installed: pip install {name}") from None
