"""The JSON that AWS's profilers write: `view --output-format summary-json` and the whole-profile `json`.

Shapes (neuron-profile 2.27-2.28 files; explorer 7.4.0 schema): `{"n_<hash>": {key: value}}`, `{"summary": [{...}], "instruction": [...], ...}`
(also spelled `Summary`), a bare summary object, a list of one. Large files are decoded by msgspec into the fields used here and nothing else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from parsers.errors import ParseError
from parsers.source import map_source, source_name
from parsers.summary import Summary, summary_from

SUMMARY_TABLES = ("summary", "Summary")
METADATA_TABLES = ("metadata", "Metadata")

_POSITION = re.compile(r"\(byte (\d+)\)")


def decode(name: str, data: memoryview, kind: Any) -> Any:
    """msgspec's JSON decoding with this room's error. Raises ParseError."""
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        raise ParseError(name, None, "JSON nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        found = _POSITION.search(str(error))
        what = _POSITION.sub("", str(error)).strip()
        raise ParseError(name, int(found[1]) if found else None, what) from None


def read_summary(source: str | os.PathLike[str] | bytes) -> Summary:
    """The summary of a profile JSON of any shape; of the first node when there are several. Raises ParseError."""
    name = source_name(source)
    data = map_source(source)
    keys, metadata = _tables(name, data)
    simulated = {
        key: value for key, value in metadata.items() if key == "is_simulation" or key.startswith("simulator_")
    }
    try:
        return summary_from({**simulated, **keys})
    except ValueError as error:
        raise ParseError(name, None, str(error)) from None


def _tables(name: str, data: memoryview) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The summary's keys and the metadata's, empty where there is none."""
    top = _object(name, data)
    for table in SUMMARY_TABLES:
        if table in top:
            metadata = next((top[key] for key in METADATA_TABLES if key in top), None)
            return _row(name, table, top[table]), {} if metadata is None else _row(name, "metadata", metadata)
    if "total_time" in top:
        return {key: decode(name, memoryview(value), Any) for key, value in top.items()}, {}
    nodes = [value for key, value in top.items() if key.startswith("n_")]
    if not nodes:
        raise ParseError(
            name, None, "JSON, but no profile: neither a summary table, nor an n_<hash> node, nor total_time"
        )
    return decode(name, memoryview(nodes[0]), dict[str, Any]), {}


def _object(name: str, data: memoryview) -> dict[str, msgspec.Raw]:
    """The top level, its values not decoded; of a list, its only element's."""
    if bytes(data[:64]).lstrip()[:1] == b"[":
        rows = decode(name, data, list[dict[str, msgspec.Raw]])
        if len(rows) != 1:
            raise ParseError(name, 0, f"a list of {len(rows)} elements, expected one summary")
        return rows[0]
    return decode(name, data, dict[str, msgspec.Raw])


def _row(name: str, table: str, raw: msgspec.Raw) -> dict[str, Any]:
    """The only row of a single-row table, which is a list of one in these files."""
    rows = decode(name, memoryview(raw), list[dict[str, Any]] | dict[str, Any])
    if isinstance(rows, dict):
        return rows
    if not rows:
        raise ParseError(name, None, f"the table {table} is empty")
    return rows[0]
