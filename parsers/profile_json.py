"""The JSON that AWS's profilers write: `view --output-format summary-json` and the whole-profile `json`.

Shapes (neuron-profile 2.27-2.28 files; explorer schema 7.4.0): `{"n_<hash>": {key: value}}`, `{"summary": [{...}], "instruction": [...], ...}`
(also spelled `Summary`), a bare summary object, a list of one. A directory is taken for the explorer's Parquet tables. Large files are passed
over once by msgspec, which notes where each table lies; only the tables and fields that are used are decoded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from parsers.errors import ParseError
from parsers.ntff import DmaPackets, Instructions
from parsers.source import forget_pages, map_source, source_name
from parsers.summary import Summary, summary_from

Row = TypeVar("Row")

_POSITION = re.compile(r" ?\(byte (\d+)\)")


@dataclass(frozen=True)
class Metadata:
    """What the profiler assumed of the device. Clocks in Hz, bandwidth in bytes/s."""

    tensor_clock_hz: float | None
    core_clock_hz: float | None
    tensor_rows: int | None
    tensor_columns: int | None
    hbm_bytes_per_s: float | None
    physical_cores: int | None
    ntff_version: int | None


@dataclass(frozen=True)
class Identity:
    """Which files the profile was made of. `neff_uuid`: 32 hex digits."""

    neff_uuid: str | None
    neff_name: str | None
    ntff_name: str | None
    compiler_version: str | None


@dataclass(frozen=True, eq=False)
class Profile:
    """A whole-profile JSON. `active_inference_time_s`: from the first to the last event of work, setup left out."""

    summary: Summary
    metadata: Metadata
    identity: Identity
    instructions: Instructions
    dma_packets: DmaPackets
    active_inference_time_s: float | None
    warnings: tuple[str, ...]


def decode(name: str, data: memoryview, kind: Any, strict: bool = True) -> Any:
    """msgspec's JSON decoding with this room's error. Raises ParseError."""
    try:
        return msgspec.json.decode(data, type=kind, strict=strict)
    except RecursionError:
        raise ParseError(name, 0, "JSON nested too deeply for a profile") from None
    except (msgspec.MsgspecError, ValueError) as error:  # UnicodeDecodeError is a ValueError
        found = _POSITION.search(str(error))
        raise ParseError(name, int(found[1]) if found else 0, _POSITION.sub("", str(error))) from None


def read_summary(source: str | os.PathLike[str] | bytes) -> Summary:
    """The summary of a profile of any shape, or of a Parquet directory; of the first node when there are several. Raises ParseError."""
    if not isinstance(source, bytes) and Path(source).is_dir():
        from parsers.parquet import read_parquet

        return read_parquet(source)[0]
    name = source_name(source)
    return _summary(name, _Tables(name, map_source(source)))


def read_metadata(source: str | os.PathLike[str] | bytes) -> tuple[Metadata, Identity]:
    """The device and the files behind a profile, without its events; all None where the shape has no such table. Raises ParseError."""
    tables = _Tables(source_name(source), map_source(source))
    return metadata_from(tables.row("metadata")), _identity(tables)


def read_profile(source: str | os.PathLike[str] | bytes) -> Profile:
    """A whole-profile JSON with its events. Raises ParseError, also for one that has no `instruction` table."""
    from parsers.events import DmaRow, InstructionRow, dma_columns, dma_span, instruction_columns, work_span

    name, view = source_name(source), map_source(source)
    tables = _Tables(name, view)
    if not tables.has("instruction"):
        raise ParseError(name, None, "no instruction table: a summary, not a whole profile")
    forget_pages(view)
    summary, metadata, identity = _summary(name, tables), metadata_from(tables.row("metadata")), _identity(tables)
    warnings = tuple(str(row.get("message", "")) for row in tables.rows("warnings", dict[str, Any]))
    try:
        rows = tables.rows("instruction", InstructionRow)
        instructions, spans = instruction_columns(rows), [work_span(rows)]
        del rows
        forget_pages(view)
        packets = tables.rows("dma", DmaRow)
        forget_pages(view)
        dma_packets, spans = dma_columns(packets), [*spans, dma_span(packets)]
    except (OverflowError, ValueError) as error:
        raise ParseError(name, None, f"an event holds a number out of range: {error}") from None
    work = [span for span in spans if span is not None]
    active_s = (max(end for _, end in work) - min(begin for begin, _ in work)) * 1e-9 if work else None
    return Profile(summary, metadata, identity, instructions, dma_packets, active_s, warnings)


class _Tables:
    """The top level of a profile: where each table lies, decoded when asked for."""

    def __init__(self, name: str, data: memoryview) -> None:
        self.name = name
        self._raw: dict[str, msgspec.Raw]
        if bytes(data[:64]).lstrip()[:1] == b"[":
            rows = decode(name, data, list[dict[str, msgspec.Raw]])
            if len(rows) != 1:
                raise ParseError(name, 0, f"a list of {len(rows)} elements, expected one summary")
            self._raw = rows[0]
        else:
            self._raw = decode(name, data, dict[str, msgspec.Raw])

    def has(self, table: str) -> bool:
        return self._find(table) is not None

    def _find(self, table: str) -> msgspec.Raw | None:
        """neuron-profile spells tables in lower case, explorer's schema with a capital."""
        return self._raw.get(table, self._raw.get(table.capitalize()))

    def row(self, table: str) -> dict[str, Any]:
        """The only row of a single-row table, which is a list of one in these files; empty when there is no such table."""
        raw = self._find(table)
        if raw is None:
            return {}
        rows = decode(self.name, memoryview(raw), list[dict[str, Any]] | dict[str, Any])
        if isinstance(rows, dict):
            return rows
        if not rows:
            raise ParseError(self.name, None, f"the table {table} is empty")
        return rows[0]

    def rows(self, table: str, kind: type[Row]) -> list[Row]:
        """All rows, none when there is no such table: tools leave empty tables out."""
        raw = self._find(table)
        return [] if raw is None else decode(self.name, memoryview(raw), list[kind], strict=False)  # type: ignore[valid-type]

    def summary_keys(self) -> dict[str, Any]:
        """The summary's keys, in whichever of the shapes."""
        if self.has("summary"):
            return self.row("summary")
        if "total_time" in self._raw:
            return {key: decode(self.name, memoryview(value), Any) for key, value in self._raw.items()}
        nodes = [value for key, value in self._raw.items() if key.startswith("n_")]
        if not nodes:
            raise ParseError(
                self.name, 0, "JSON, but no profile: neither a summary table, nor an n_<hash> node, nor total_time"
            )
        return decode(self.name, memoryview(nodes[0]), dict[str, Any])


def _summary(name: str, tables: _Tables) -> Summary:
    keys, metadata = tables.summary_keys(), tables.row("metadata")
    simulated = {
        key: value for key, value in metadata.items() if key == "is_simulation" or key.startswith("simulator_")
    }
    try:
        return summary_from({**simulated, **keys})
    except ValueError as error:
        raise ParseError(name, None, str(error)) from None


def metadata_from(keys: Mapping[str, Any]) -> Metadata:
    """From the keys of neuron-profile or of explorer, which renamed them."""

    def number(*names: str) -> float | None:
        found = [keys[key] for key in names if isinstance(keys.get(key), (int, float))]
        return float(found[0]) if found and abs(found[0]) < 1e300 else None

    def whole(*names: str) -> int | None:
        found = number(*names)
        return None if found is None else int(found)

    def ghz(*names: str) -> float | None:
        found = number(*names)
        return None if found is None else found * 1e9

    return Metadata(
        tensor_clock_hz=ghz("pe_clock_freq", "tensor_engine_clock_freq"),
        core_clock_hz=ghz("pe_clock_others", "neuroncore_clock_freq"),
        tensor_rows=whole("pe_num_rows", "tensor_engine_num_rows"),
        tensor_columns=whole("pe_num_cols", "tensor_engine_num_cols"),
        hbm_bytes_per_s=number("hbm_ddr_bandwidth"),
        physical_cores=whole("num_physical_cores"),
        ntff_version=whole("ntff_version"),
    )


def _identity(tables: _Tables) -> Identity:
    header, info = tables.row("neff_header"), tables.row("profile_info")

    def text(keys: Mapping[str, Any], key: str) -> str | None:
        value = keys.get(key)
        return value if isinstance(value, str) and value else None

    summary = tables.row("summary")
    return Identity(
        text(header, "uuid"),
        text(header, "network_name"),
        text(info, "ntff_filename"),
        text(summary, "compiler_version"),
    )
