"""Reads the timeline of neuron-explorer's Parquet directory.

Schema 7.4.0 is published, 12.0 is not. So columns are found by their names without the unit, and the unit is taken from the table `SchemaFields` that lies
in every profile, or else from the name. A table without rows is not written.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from neff_bench.chips.engines import TITLES
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.event_rows import (
    Dependence,
    DmaRow,
    InstructionRow,
    LinkedDmaRow,
    LinkedInstructionRow,
    Predecessor,
    SemaphoreRow,
    SensitivityRow,
    Timeline,
    UsageRow,
)
from neff_bench.parsers.formats.profile import PARQUET_KEYS
from neff_bench.parsers.parquet import open_table, summary_keys

NS = {"ps": 1e-3, "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
"""Nanoseconds, by the unit of a column."""
_UNIT = re.compile(r"_(ps|ns|us|ms|s)$")
_PART = re.compile(r"_(\d+)\.parquet$")
JSON_KEYS = {parquet: key for key, parquet in PARQUET_KEYS.items()} | {
    "end_ts": "end", "queue_idx": "dma_queue", "engine_idx": "dma_engine", "tensor_instruction_type": "instruction_type",
}  # fmt: skip
"""The profiler's JSON key for a column of another name."""
TIMES = ("timestamp", "duration", "evt_wait_time", "end")
DEPTH_MAX = 64
_TITLES = {title.lower(): title for title in TITLES}
_INSTRUCTION_KEYS = frozenset((
    "timestamp", "duration", "end", "evt_wait_time", "subgroup", "subgraph", "pcore_idx", "opcode", "pc", "operands", "bir_instruction_name", "raw_bir_id",
    "hlo_name", "nki_source_location", "nki_call_stack", "kernel_instruction_name", "id", "instruction_type", "predecessors", "alignment",
    "meets", "dma_start_ns", "dma_pace",
))  # fmt: skip
"""What the timeline takes of an instruction, of some sixty columns."""


def timeline_of_parquet(path: str | os.PathLike[str], linked: bool) -> Timeline:
    """Return the timeline of a directory. Raises ParseError, also for a table that lacks what its rows need."""
    directory = Path(path)
    summary, metadata = summary_keys(directory)
    tables = _Tables(directory, metadata)
    stacks = _Stacks(tables)
    before = _predecessors(tables) if linked else {}
    instructions = [
        _instruction(row, stacks, before, linked)
        for row in tables.rows("Instruction", "timestamp", "opcode", keys=_INSTRUCTION_KEYS)
    ]
    packets, notes = list(tables.rows("DmaPacket", "timestamp")), []
    if not packets:
        packets = list(tables.rows("DmaPacketAggregated", "timestamp"))
        notes += ["DMA rows stand for many packets each: the capture had no DGE notifications"] if packets else []
    if not instructions:
        raise ParseError(directory, None, "no Instruction table: a summary, not a whole profile")
    semaphores = [
        SemaphoreRow(row["timestamp"], str(row.get("id", "")), int(row.get("value") or 0), row["subgraph"])
        for row in tables.rows("SemaphoreUpdate", "timestamp")
    ]
    notes += [str(row.get("message")) for row in tables.rows("Warning")]
    simulated = bool(metadata.get("is_simulation") or summary.get("is_simulation"))
    return Timeline(
        path=os.fspath(path),
        simulated=simulated,
        summary=summary,
        instructions=sorted(instructions, key=lambda row: row.timestamp),
        dma=sorted((_packet(row, linked) for row in packets), key=lambda row: row.timestamp),
        semaphores=sorted(semaphores, key=lambda row: row.timestamp),
        notes=tuple(notes),
        usage=list(_usage(tables)) if linked else [],
        sensitivity=list(_sensitivity(tables)) if linked else [],
    )


class _Tables:
    """The tables of a directory, as rows under the keys of the profiler's JSON."""

    def __init__(self, directory: Path, metadata: Mapping[str, Any]) -> None:
        self.directory, self.metadata = directory, metadata
        self.units: dict[tuple[str, str], str] = {}
        self.units = {
            (str(row.get("table_name")), str(row.get("field_name"))): str(row.get("field_unit") or "")
            for row in self.rows("SchemaFields")
        }

    def rows(self, table: str, *needed: str, keys: Collection[str] | None = None) -> Iterator[dict[str, Any]]:
        """Yield times in ns since the start of the execution. `keys`: what is read, None for everything. Raises ParseError for a missing column."""
        start: float | None = None
        for columns in self._parts(table, needed, keys):
            times = columns.get("timestamp") if "timestamp" in needed else None
            if times:
                if "duration" not in columns and "end" in columns:
                    columns["duration"] = [end - begin for begin, end in zip(times, columns["end"])]
                start = self._start_ns(times[0]) if start is None else start
                if start:
                    columns["timestamp"] = [time - start for time in times]
            columns["subgraph"] = self._cores(columns)
            names = tuple(columns)
            for values in zip(*columns.values()):
                yield dict(zip(names, values))

    def _start_ns(self, first: float) -> float:
        """Return what to take off: times may count from the start of the execution already."""
        start = self.metadata.get("first_hw_timestamp")
        return float(start) if isinstance(start, (int, float)) and 0 < start <= first else 0.0

    def _cores(self, columns: Mapping[str, list[Any]]) -> list[str]:
        none = [None] * len(next(iter(columns.values()), ()))
        pairs = zip(columns.get("subgraph", none), columns.get("pcore_idx", none))
        return [str(name) if name else "" if core is None else f"sg{int(core) % 2:02d}" for name, core in pairs]

    def _key(self, name: str) -> str:
        stem = _UNIT.sub("", name)
        return JSON_KEYS.get(name) or JSON_KEYS.get(f"{stem}_ns") or JSON_KEYS.get(stem) or name

    def _in_ns(self, table: str, name: str, values: list[Any]) -> list[Any]:
        unit = self.units.get((table, name)) or (found[1] if (found := _UNIT.search(name)) else "ns")
        scale = NS.get(unit, 1.0)
        if scale == 1.0:
            return values
        scaled = [None if value is None else value * scale for value in values]
        return [int(value) if value is not None and value == int(value) else value for value in scaled]

    def _parts(self, table: str, needed: Sequence[str], keys: Collection[str] | None) -> Iterator[dict[str, list[Any]]]:
        """Yield batches of columns. Where two columns of a table stand for one key, the one with a value counts."""
        parts = [path for path in self.directory.glob(f"{table}_*.parquet") if _PART.search(path.name) and
                 _PART.sub("", path.name) == table]  # fmt: skip
        whole = self.directory / f"{table}.parquet"
        ordered = sorted(parts, key=lambda path: int(_PART.search(path.name)[1]))  # type: ignore[index]
        for path in [whole] * whole.is_file() + ordered:
            with open_table(path) as file:
                names = file.schema_arrow.names
                wanted = [name for name in names if keys is None or self._key(name) in keys]
                try:
                    for batch in file.iter_batches(columns=wanted):
                        yield self._columns(table, batch, needed, names)
                except (OSError, ValueError) as error:  # ArrowException is one or the other
                    raise ParseError(path, None, f"no Parquet table: {str(error).splitlines()[0]}") from None

    def _columns(self, table: str, batch: Any, needed: Sequence[str], names: Sequence[str]) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {}
        for name, column in zip(batch.schema.names, batch.columns):
            key, values = self._key(name), column.to_pylist()
            values = self._in_ns(table, name, values) if key in TIMES else values
            if key in columns:
                values = [new if old is None else old for old, new in zip(columns[key], values)]
            columns[key] = values
        if batch.num_rows and (missing := [key for key in needed if None in columns.get(key, [None])]):
            version = self.metadata.get("profile_schema_version", "unknown")
            what = f"table {table} has no column for {missing[0]} (schema {version}); its columns: {', '.join(sorted(names))}"
            raise ParseError(self.directory, None, what)
        return columns


class _Stacks:
    """The lines of kernel instructions, from KernelInstructions and KernelStackFrames."""

    def __init__(self, tables: _Tables) -> None:
        self.frames = {str(row.get("stack_frame_id")): row for row in tables.rows("KernelStackFrames")}
        self.lines = {
            (row["subgraph"], str(row.get("kernel_instruction_name"))): row for row in tables.rows("KernelInstructions")
        }

    def of(self, row: Mapping[str, Any]) -> tuple[str | None, tuple[str, ...]]:
        """Return the innermost line of an instruction, and those that called it, outermost first."""
        name = str(row.get("kernel_instruction_name"))
        found = self.lines.get((row["subgraph"], name)) or self.lines.get(("", name))
        source = row.get("nki_source_location") or (_line(found) if found else None)
        callers: list[str] = []
        frame = self.frames.get(str(found.get("stack_frame_id"))) if found else None
        while frame is not None and len(callers) < DEPTH_MAX:
            callers.append(_line(frame))
            frame = self.frames.get(str(frame.get("parent_stack_frame_id")))
        if callers and callers[0] == source:
            callers = callers[1:]
        return source, tuple(reversed(callers)) or tuple(row.get("nki_call_stack") or ())


def _line(row: Mapping[str, Any]) -> str:
    return f"{row.get('file_path')}:{row.get('line_number')}"


def _predecessors(tables: _Tables) -> dict[int, list[Predecessor]]:
    """Return for the `id` of each instruction what the table Flow says that it depends on."""
    before: dict[int, list[Predecessor]] = defaultdict(list)
    for row in tables.rows("Flow"):
        kinds = {str(row.get(key) or "Instruction") for key in ("in_table", "out_table")}
        if kinds == {"Instruction"} and row.get("in_id") is not None and row.get("out_id") is not None:
            before[int(row["out_id"])].append(_predecessor(row["in_id"], row.get("dependency_type")))
    return before


def _predecessor(number: Any, kind: Any) -> Predecessor:
    return Predecessor(int(number), Dependence(str(kind or "")))


def _usage(tables: _Tables) -> Iterator[UsageRow]:
    for table, memory in (("SbufUsage", "sb"), ("PsumUsage", "psum"), ("InstructionUsage", "")):
        for row in tables.rows(table, "timestamp"):
            share = row.get("avg_util_percent", row.get("usage_avg"))
            yield UsageRow(row["timestamp"], memory or str(row.get("type") or ""), float(share or 0), row["subgraph"])


def _sensitivity(tables: _Tables) -> Iterator[SensitivityRow]:
    for row in tables.rows("Sensitivity"):
        yield SensitivityRow(str(row.get("constant")), str(row.get("change")), float(row.get("total_time_us") or 0))


def _instruction(
    row: Mapping[str, Any], stacks: _Stacks, before: Mapping[int, Sequence[Predecessor]], linked: bool
) -> InstructionRow:
    engine = str(row.get("subgroup") or "")
    source, callers = stacks.of(row)
    known = {
        "timestamp": row["timestamp"],
        "duration": row.get("duration") or 0,
        "evt_wait_time": row.get("evt_wait_time") or 0,
        "subgroup": _TITLES.get(engine.lower(), engine),
        "subgraph": row["subgraph"],
        "opcode": str(row["opcode"]),
        "pc": int(row.get("pc") or 0),
        "operands": str(row.get("operands") or ""),
        "bir_instruction_name": str(row.get("bir_instruction_name") or ""),
        "raw_bir_id": int(row.get("raw_bir_id") or 0),
        "hlo_name": str(row.get("hlo_name") or ""),
        "nki_source_location": source,
        "nki_call_stack": callers,
        "alignment": str(row.get("alignment") or ""),
    }
    if not linked:
        return InstructionRow(**known)
    written = [_predecessor(one["id"], one.get("type")) for one in row.get("predecessors") or ()]
    kind = str(row.get("instruction_type") or "")
    return LinkedInstructionRow(
        **known,
        id=_number(row, "id"),
        instruction_type=kind,
        predecessors=[*before.get(_number(row, "id"), ()), *written],
        meets=_number(row, "meets"),
        dma_start_ns=row.get("dma_start_ns") or 0,
        dma_pace=row.get("dma_pace") or "",
    )


def _packet(row: Mapping[str, Any], linked: bool) -> DmaRow:
    queue, engine = row.get("dma_queue"), row.get("dma_engine")
    known = {
        "timestamp": row["timestamp"],
        "duration": row.get("duration") or 0,
        "transfer_size": int(row.get("transfer_size") or 0),
        "subgroup": f"Q{queue}-E{engine}" if engine is not None else str(row.get("queue_name") or f"Q{queue}"),
        "subgraph": row["subgraph"],
        "dma_engine": "" if engine is None else str(engine),
        "dma_queue": "" if queue is None else str(queue),
        "queue_type": str(row.get("queue_type") or ""),
        "queue_name": str(row.get("queue_name") or ""),
        "variable": str(row.get("variable") or ""),
        "nki_source_location": row.get("nki_source_location"),
        "nki_call_stack": tuple(row.get("nki_call_stack") or ()),
    }
    return LinkedDmaRow(**known, trigger=_number(row, "trigger")) if linked else DmaRow(**known)


def _number(row: Mapping[str, Any], key: str) -> int:
    """Return a number that a row may lack: it is -1 then."""
    return -1 if row.get(key) is None else int(row[key])
