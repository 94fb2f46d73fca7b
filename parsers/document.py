"""Reads the top level of a JSON profile: one pass that notes where each table lies; tables are decoded when they are asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from neff_bench.parsers import system_trace
from neff_bench.parsers.errors import NoProfile, ParseError
from neff_bench.parsers.event_columns import columns_of
from neff_bench.parsers.json_text import read_json
from neff_bench.parsers.source import forget, source_name
from neff_bench.system.decoding import prepare

Row = TypeVar("Row", bound=msgspec.Struct)

SMALL_BYTES = 8 * 1024 * 1024
"""What is decoded into free-form dictionaries (a summary, metadata, a whole summary-json) has a few KB; this bounds the memory."""

DEPTH_MAX = 64
"""The greatest depth of what is decoded into free-form dictionaries; a summary is one level deep."""

BATCH_BYTES = 1 << 18
ROW_BYTES = 1 << 20
KEY_BYTES = 1 << 10
_FIRST_KEY = re.compile(rb'\[\s*(\{\s*"[^"\\]*")?')
"""What each row of a table begins with, since tools write the keys of a row in one order."""

_MEMBER = re.compile(rb'[ \t\n\r]*([{,])[ \t\n\r]*"([^"\\\0-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')
_END = re.compile(rb"[ \t\n\r]*\}[ \t\n\r]*\Z")

_POSITION = re.compile(r" ?\(byte (\d+)\)")
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")


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


def _length(data: memoryview | bytes) -> int:
    """Return the length of the JSON value that begins a text, with the blanks behind it. Raises msgspec.DecodeError."""
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        found = _TRAILING.search(str(error))
        if not found:
            raise
        return int(found[1]) - 1  # msgspec says the place behind the first that is too much
    return len(data)


class Document:
    """A JSON file of any of the profilers' shapes. Raises ParseError; NoProfile for what is no object, nor a list of one."""

    def __init__(
        self, source: str | os.PathLike[str] | bytes, held: Mapping[str, type[Any]] = MappingProxyType({})
    ) -> None:
        """`held`: the tables that will be asked for as columns, by their names, and the classes of their rows."""
        self.name = source_name(source)
        self._read(source)
        try:
            self._top, self._held = self._in_order(held)
        except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
            self._read(source)  # parts of it were given back
            self._top, self._held = self._decode(self.data, _Top), {}

    def _read(self, source: str | os.PathLike[str] | bytes) -> None:
        self.data, self._start = read_json(source)
        self._whole = self.data
        if _first(self.data) == b"[":
            self.data = self._only()
        if _first(self.data) != b"{":
            self._decode(self.data, msgspec.Raw)
            raise NoProfile(self.name, 0, "JSON, but no profile: not an object, nor a list of one")

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

    def columns(self, table: str, kind: type[Row]) -> Sequence[Row]:
        """Return all rows as columns: those that were read with the document, or else now."""
        return self._held[table] if table in self._held else columns_of(kind, [self.rows(table, kind)])

    def _in_order(self, kinds: Mapping[str, type[Any]]) -> tuple[_Top, dict[str, Sequence[Any]]]:
        """Return where each table lies, and the rows of those of these kinds, from one pass. Raises msgspec's errors and others for a document that has to
        be looked at as a whole: it is wrong, or the rows of a table do not begin alike."""
        top, held, at = _Top(), dict[str, Sequence[Any]](), 0
        while found := _MEMBER.match(self.data, at):
            name, begin = found[2].decode(), found.end()
            if (found[1] == b"{") != (at == 0):
                break
            if name in kinds:
                self._at = begin
                held[name] = columns_of(kinds[name], self._batches(kinds[name]))
                at = self._at
            else:
                at = begin + _length(self.data[begin:])
            if name in _Top.__struct_fields__:
                setattr(top, name, msgspec.Raw(self.data[begin:at]))
        if not _END.match(self.data, at):
            raise ValueError("neither a member nor the end")
        return top, held

    def _batches(self, kind: type[Row]) -> Iterator[list[Row]]:
        """Yield the rows of the table that begins at `_at`, which moves to its end, so few at a time that they stay in the processor's caches. Their memory
        is given back."""
        data, offset = self.data, self._offset(self.data)
        decoder = msgspec.json.Decoder(list[kind], strict=False)  # type: ignore[valid-type]
        first = _FIRST_KEY.match(data, self._at, self._at + KEY_BYTES)
        if first is None:
            raise ValueError("no list of rows")
        between = re.compile(rb"(?<=\})[ \t\n\r]*,(?=[ \t\n\r]*" + re.escape(first[1] or b"{") + rb")")
        at = self._at + 1
        while found := between.search(data, at + BATCH_BYTES, at + BATCH_BYTES + ROW_BYTES):
            try:
                rows = decoder.decode(b"".join((b"[", data[at : found.start()], b"]")))
            except msgspec.DecodeError:
                break  # the table ends before, or what was found lies inside of a row
            yield rows
            forget(self._whole, offset + at, offset + found.start())
            at = found.end()
        rest = b"".join((b"[", data[at : at + BATCH_BYTES + ROW_BYTES]))
        self._at = at - 1 + _length(rest)
        yield decoder.decode(rest[: self._at - at + 1])

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
