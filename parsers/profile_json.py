"""Reads the JSON that AWS's profilers write: `view --output-format summary-json` and the whole-profile `json`.

Shapes: `{"n_<hash>": {key: value}}`, `{"summary": [{...}], "instruction": [...], ...}` (also spelled `Summary`), a bare summary object, a list of one.
A directory is taken for the explorer's Parquet tables. Only the tables and fields that are used are decoded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from neff_bench.parsers.document import Document
from neff_bench.parsers.errors import NoProfile, ParseError, guarded
from neff_bench.parsers.metadata import Metadata, metadata_from
from neff_bench.parsers.summary import Summary, summary_from
from neff_bench.parsers.trace import DmaPackets, Instructions
from neff_bench.system.decoding import prepare

_UUID = re.compile(r"[0-9a-fA-F]{32}")


@dataclass(frozen=True)
class Identity:
    """Holds which files the profile was made of. `neff_uuid`: 32 hex digits; None where the file holds no such thing."""

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


@guarded
def read_summary(source: str | os.PathLike[str] | bytes, *, only: bool = False) -> Summary:
    """Return the summary of a profile of any shape, or of a Parquet directory; of the first node when there are several. Raises ParseError, with
    `only` also for several."""
    if not isinstance(source, bytes) and Path(source).is_dir():
        from neff_bench.parsers.parquet import read_parquet

        return read_parquet(source)[0]
    document = Document(source)
    if only and not document.has("summary") and len(nodes := document.nodes()) > 1:
        totals = " and ".join(f"{node.get('total_time')} s" for node in nodes)
        raise ParseError(
            document.name, 0, f"{len(nodes)} summaries of one trace, with the total times {totals}; expected one"
        )
    return summary_of(document)


@guarded
def read_metadata(source: str | os.PathLike[str] | bytes) -> tuple[Metadata, Identity]:
    """Return the device and the files behind a profile, without its events; all None where the shape has no such table. Raises ParseError."""
    document = Document(source)
    return metadata_from(document.row("metadata")), identity_of(document)


@guarded
def read_profile(source: str | os.PathLike[str] | bytes) -> Profile:
    """Return a whole-profile JSON with its events. Raises ParseError, also for one that has no `instruction` table."""
    from neff_bench.parsers.events import DmaRow, InstructionRow, dma_columns, dma_span, instruction_columns, work_span

    document = Document(source, {"instruction": InstructionRow, "dma": DmaRow})
    if not document.has("instruction"):
        raise ParseError(document.name, 0, "no instruction table: a summary, not a whole profile")
    summary, metadata, identity = summary_of(document), metadata_from(document.row("metadata")), identity_of(document)
    warnings = tuple(row.message for row in document.rows("warnings", _Warning))
    document.keep("instruction", "dma")
    try:
        rows = document.columns("instruction", InstructionRow)
        instructions, spans = instruction_columns(rows), [work_span(rows)]
        packets = document.columns("dma", DmaRow)
        dma_packets, spans = dma_columns(packets), [*spans, dma_span(packets)]
    except (OverflowError, ValueError) as error:
        raise ParseError(document.name, 0, f"an event holds a number out of range: {error}") from None
    work = [span for span in spans if span is not None]
    active_s = (max(end for _, end in work) - min(begin for begin, _ in work)) * 1e-9 if work else None
    return Profile(summary, metadata, identity, instructions, dma_packets, active_s, warnings)


class _Warning(msgspec.Struct):
    message: str = ""


prepare(_Warning)


def summary_of(document: Document) -> Summary:
    """Return the summary of an open document. Raises ParseError."""
    keys = document.row("summary") if document.has("summary") else document.node()
    if keys is None:
        what = "JSON, but no profile: neither a summary table, nor an n_<hash> node, nor total_time"
        raise NoProfile(document.name, 0, what)
    metadata = document.row("metadata")
    simulated = {
        key: value for key, value in metadata.items() if key == "is_simulation" or key.startswith("simulator_")
    }
    try:
        return summary_from({**simulated, **keys})
    except ValueError as error:
        raise ParseError(document.name, 0, str(error)) from None


def identity_of(document: Document) -> Identity:
    """Return which files the profile was made of."""
    header, info, summary = document.row("neff_header"), document.row("profile_info"), document.row("summary")
    uuid = header.get("uuid")

    def text(keys: Mapping[str, Any], key: str) -> str | None:
        value = keys.get(key)
        return value if isinstance(value, str) and value else None

    return Identity(
        neff_uuid=uuid.lower() if isinstance(uuid, str) and _UUID.fullmatch(uuid) else None,
        neff_name=text(header, "network_name"),
        ntff_name=text(info, "ntff_filename"),
        compiler_version=text(summary, "compiler_version"),
    )
