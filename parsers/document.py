"""Reads the top level of a JSON profile: one pass that notes where each table lies; tables are decoded when they are asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from neff_bench.parsers import system_trace
from neff_bench.parsers.errors import NoProfile, ParseError
from neff_bench.parsers.json_text import read_json
from neff_bench.parsers.source import forget, source_name
from neff_bench.system.decoding import prepare

Row = TypeVar("Row")

SMALL_BYTES = 8 * 1024 * 1024
"""What is decoded into free-form dictionaries (a summary, metadata, a whole summary-json) has a few KB; this bounds the memory."""

DEPTH_MAX = 64
"""The greatest depth of what is decoded into free-form dictionaries; a summary is one level deep."""

_ROW_NUMBER = re.compile(r"\$\[(\d+)\]")

BATCH_BYTES = 1 << 18
KEY_BYTES = 1 << 10
_FIRST_KEY = re.compile(rb'\[\s*(\{\s*"[^"\\]*")')
"""What each row of a table begins with, since tools write the keys of a row in one order."""

_POSITION = re.compile(r" ?\(byte (\d+)\)")


ABSENT = msgspec.Raw()


class _Top(msgspec.Struct):
    """The tables that are used, in both spellings: neuron-profile's and the capitals of explorer's schema."""

    summary: msgspec.Raw = ABSENT
    metadata: msgspec.Raw = ABSENT
    neff_header: msgspec.Raw = ABSENT
    profile_info: msgspec.Raw = ABSENT
    warnings: msgspec.Raw = ABSENT
    instruction: msgspec.Raw = ABSENT
    dma: msgspec.Raw = ABSENT
    semaphore_update: msgspec.Raw = ABSENT
    instruction_usage: msgspec.Raw = ABSENT
    sensitivity: msgspec.Raw = ABSENT
    Summary: msgspec.Raw = ABSENT
    Metadata: msgspec.Raw = ABSENT
    NeffNodes: msgspec.Raw = ABSENT
    total_time: msgspec.Raw = ABSENT
    trace_events: msgspec.Raw = ABSENT
    trace_event: msgspec.Raw = ABSENT
    events: msgspec.Raw = ABSENT
    traceEvents: msgspec.Raw = ABSENT


prepare(_Top)


def decode(name: str, data: memoryview, kind: Any, strict: bool = True) -> Any:
    """Decode JSON by msgspec with this room's error; one of content, unlike one of syntax, has offset 0. Raises ParseError."""
    try:
        return msgspec.json.decode(data, type=kind, strict=strict)
    except RecursionError:
        raise ParseError(name, 0, "JSON nested too deeply for a profile") from None
    except (msgspec.MsgspecError, ValueError) as error:  # UnicodeDecodeError is a ValueError
        found = _POSITION.search(str(error))
        raise ParseError(name, int(found[1]) if found else 0, _POSITION.sub("", str(error))) from None


class Document:
    """A JSON file of any of the profilers' shapes. Raises ParseError; NoProfile for what is no object, nor a list of one."""

    def __init__(self, source: str | os.PathLike[str] | bytes) -> None:
        self.name = source_name(source)
        self.data, self._start = read_json(source)
        self._whole = self.data
        if _first(self.data) == b"[":
            self.data = self._only()
        if _first(self.data) != b"{":
            self._decode(self.data, msgspec.Raw)
            raise NoProfile(self.name, 0, "JSON, but no profile: not an object, nor a list of one")
        self._top: _Top = self._decode(self.data, _Top)

    def _only(self) -> memoryview:
        rows = self._small(self.data, list[msgspec.Raw])
        if len(rows) != 1:
            raise NoProfile(self.name, 0, f"a list of {len(rows)} elements, expected one summary")
        return memoryview(rows[0])

    def has(self, table: str) -> bool:
        """Return whether the document has this table."""
        return self._find(table) is not None

    def is_system_trace(self) -> bool:
        """Return whether it says which NEFF ran when."""
        found = (memoryview(getattr(self._top, key)) for key in system_trace.KEYS)
        return any(events and system_trace.has_executions(events) for events in found)

    def _find(self, table: str) -> memoryview | None:
        found = memoryview(getattr(self._top, table)) or memoryview(getattr(self._top, table.capitalize(), ABSENT))
        return found or None

    def row(self, table: str) -> dict[str, Any]:
        """Return the only row of a single-row table, which is a list of one in these files; empty when there is no such table."""
        data = self._find(table)
        if data is None:
            return {}
        rows: Any = self._small(data, list[Any] | dict[str, Any]) if _first(data) in (b"{", b"[") else [None]
        if isinstance(rows, dict):
            return dict(rows)
        if not all(isinstance(row, dict) for row in rows):
            raise NoProfile(self.name, self._offset(data), f"JSON, but no profile: {table} is no table")
        if not rows:
            raise ParseError(self.name, self._offset(data), f"the table {table} is empty")
        first: dict[str, Any] = rows[0]
        return first

    def rows(self, table: str, kind: type[Row]) -> list[Row]:
        """Return all rows, none when there is no such table: tools leave empty tables out."""
        data = self._find(table)
        if data is None:
            return []
        rows: list[Row] = self._decode(data, list[kind], strict=False)  # type: ignore[valid-type]
        return rows

    def batches(self, table: str, kind: type[Row]) -> Iterator[list[Row]]:
        """Yield all rows, so few at a time that they stay in the processor's caches. The table must not be asked for again: its memory is given back."""
        data = self._find(table)
        first = data and _FIRST_KEY.match(data[:KEY_BYTES])
        if not data or not first:
            yield self.rows(table, kind)
            return
        start = self._offset(data)
        between = re.compile(rb"(?<=\})\s*,(?=\s*" + re.escape(first[1]) + rb")")
        decoder = msgspec.json.Decoder(list[kind], strict=False)  # type: ignore[valid-type]
        at, count = 1, 0
        while found := between.search(data, at + BATCH_BYTES):
            # What looks like the begin of a row may lie inside of one, or of a text: then these are no whole rows.
            try:
                rows = decoder.decode(b"".join((b"[", data[at : found.start()], b"]")))
            except (msgspec.MsgspecError, ValueError, RecursionError):
                break
            yield rows
            count += len(rows)
            forget(self._whole, start + at, start + found.start())
            at = found.end()
        try:
            rows = decode(self.name, memoryview(b"[" + data[at:]), list[kind], strict=False)  # type: ignore[valid-type]
        except ParseError as error:
            what = _ROW_NUMBER.sub(lambda found: f"$[{int(found[1]) + count}]", error.what)
            raise ParseError(self.name, start, what) from None
        yield rows

    def node(self) -> dict[str, Any] | None:
        """Return the keys of a bare summary, or of the first node; None where there is neither."""
        return next(iter(self.nodes()), None)

    def nodes(self) -> list[dict[str, Any]]:
        """Return the keys of a bare summary, or of each `n_<hash>` node; an only node may have any name."""
        if self.has("total_time"):
            return [self._small(self.data, dict[str, Any])]
        if len(self.data) > SMALL_BYTES:
            return []
        values = self._small(self.data, dict[str, msgspec.Raw])
        named = [raw for key, raw in values.items() if key.startswith("n_")]
        nodes = [self._small(memoryview(raw), Any) for raw in named or (values.values() if len(values) == 1 else ())]
        return [node for node in nodes if isinstance(node, dict) and (named or "total_time" in node)]

    def keep(self, *tables: str) -> None:
        """Give back the memory of all but these tables; no other may be asked for afterwards."""
        kept = [(self._offset(data), len(data)) for table in tables if (data := self._find(table)) is not None]
        start = 0
        for offset, length in sorted(kept):
            forget(self._whole, start, offset)
            start = offset + length
        forget(self._whole, start, self._start + len(self._whole))

    def _small(self, data: memoryview, kind: Any) -> Any:
        if len(data) > SMALL_BYTES:
            raise ParseError(self.name, self._offset(data), f"a summary of {len(data)} bytes, more than {SMALL_BYTES}")
        value = self._decode(data, kind)
        if _deeper(value, DEPTH_MAX):
            raise ParseError(self.name, self._offset(data), f"nested more than {DEPTH_MAX} deep: no summary")
        return value

    def _decode(self, part: memoryview, kind: Any, strict: bool = True) -> Any:
        try:
            return decode(self.name, part, kind, strict)
        except ParseError as error:
            raise ParseError(self.name, self._offset(part) + (error.offset or 0), error.what) from None

    def _offset(self, part: memoryview) -> int:
        """Return where a table starts in the file: both are views of one memory."""
        import numpy as np

        whole, inner = np.frombuffer(self._whole, np.uint8), np.frombuffer(part, np.uint8)
        return int(inner.ctypes.data - whole.ctypes.data) + self._start


def _first(data: memoryview) -> bytes:
    """Return the first character that is no blank."""
    return bytes(data[:4096]).lstrip()[:1]


def _deeper(value: Any, depth: int) -> bool:
    """Return whether dictionaries and lists are nested more than `depth` deep."""
    level = [value]
    for _ in range(depth):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True
