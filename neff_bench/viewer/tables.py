"""Writes a timeline as a file: JSON in the shape of AWS's profiler, one flat table of all events as CSV or Parquet, or a Perfetto trace.

The JSON is read again by `neff-bench inspect` and `profile-neffs`. The flat table has a column `table` that says what each row is.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from neff_bench.errors import OutputError
from neff_bench.installation import pip_install
from neff_bench.parsers.event_rows import DmaRow, InstructionRow, SemaphoreRow, Timeline
from neff_bench.terminal.text import csv_cell
from neff_bench.viewer.perfetto import to_perfetto

ROWS: Mapping[str, type[msgspec.Struct]] = {
    "instruction": InstructionRow,
    "dma": DmaRow,
    "semaphore_update": SemaphoreRow,
}
COLUMNS = ("file", "table", *dict.fromkeys(field for kind in ROWS.values() for field in kind.__struct_fields__))


def rows_of(timeline: Timeline) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each event under the name of its table."""
    tables: tuple[Sequence[msgspec.Struct], ...] = (timeline.instructions, timeline.dma, timeline.semaphores)
    for name, rows in zip(ROWS, tables):
        for row in rows:
            yield name, msgspec.structs.asdict(row)


def stack_text(row: Mapping[str, Any]) -> dict[str, str]:
    """Return a call stack as one cell, outermost first."""
    return {"nki_call_stack": " > ".join(row["nki_call_stack"])} if "nki_call_stack" in row else {}


def to_json(timelines: Sequence[Timeline]) -> bytes:
    """Return one object; of several timelines each row has a key `file`."""
    tables: dict[str, list[Any]] = {name: [] for name in ("summary", "metadata", *ROWS)}
    for timeline in timelines:
        file = {"file": timeline.path} if len(timelines) > 1 else {}
        tables["summary"].append({**timeline.summary, **file})
        tables["metadata"].append({"is_simulation": timeline.simulated, "notes": list(timeline.notes), **file})
        for name, row in rows_of(timeline):
            tables[name].append({**row, **file})
    return msgspec.json.encode(tables)


def to_csv(timelines: Sequence[Timeline]) -> bytes:
    """Return a head and one line for each event; a cell is empty where its table has no such column."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for timeline in timelines:
        for name, row in rows_of(timeline):
            cells = {"file": timeline.path, "table": name, **row, **stack_text(row)}
            writer.writerow([csv_cell("" if (cell := cells.get(column)) is None else cell) for column in COLUMNS])
    return out.getvalue().encode()


def to_parquet(timelines: Sequence[Timeline]) -> bytes:
    """Return the same table. Raises `OutputError` without pyarrow, the extra `parquet`."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise OutputError(f"Parquet needs pyarrow: {pip_install('parquet')}, or --output x.json") from None
    records = [
        {"file": timeline.path, "table": name, **row, **stack_text(row)}
        for timeline in timelines
        for name, row in rows_of(timeline)
    ]
    columns = {column: [record.get(column) for record in records] for column in COLUMNS}
    out = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(columns), out)
    return bytes(out.getvalue())


WRITERS: Mapping[str, Callable[[Sequence[Timeline]], bytes]] = {
    ".json": to_json,
    ".csv": to_csv,
    ".parquet": to_parquet,
    ".pftrace": to_perfetto,
}
"""By the suffix of the file."""
LINKED = (".pftrace",)
"""Those that show what depends on what."""


def writer_for(path: Path) -> Callable[[Sequence[Timeline]], bytes] | None:
    """Return the writer for the suffix of a path, None for another one."""
    return WRITERS.get(path.suffix.lower())
