"""Reads `neuron-profile show-session`: what one execution took, read from the NTFF alone. Its JSON (`-j`) or its table.

It is undocumented. A physical core is one graph. `CycleCount` holds picoseconds, its name notwithstanding: it equals `total_time` of the profile JSON.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from neff_bench.parsers.document import decode
from neff_bench.parsers.errors import ParseError, guarded
from neff_bench.parsers.json_text import read_json
from neff_bench.parsers.source import open_source, source_name
from neff_bench.system.decoding import prepare


@dataclass(frozen=True)
class CoreSession:
    """One physical core; None is what the tool did not say."""

    core: int
    time_ps: int
    instruction_count: int | None
    event_count: int | None
    error_count: int | None

    @property
    def time_s(self) -> float:
        """Time of this core, in seconds."""
        return self.time_ps / 1e12


@dataclass(frozen=True)
class Session:
    """`total_time_s`: of the slowest core, as the profile's total_time."""

    name: str | None
    cores: tuple[CoreSession, ...]

    @property
    def total_time_s(self) -> float:
        """Time of the slowest core, in seconds."""
        return max(core.time_ps for core in self.cores) / 1e12

    @property
    def error_count(self) -> int | None:
        """Errors of all cores, None where no core says."""
        known = [core.error_count for core in self.cores if core.error_count is not None]
        return sum(known) if known else None


class _Graph(msgspec.Struct):
    NC: int
    CycleCount: int
    TotalInstructionTraceCount: int | None = None
    EventsCount: int | None = None
    ErrorCount: int | None = None


class _NodeInfo(msgspec.Struct):
    Graphs: list[_Graph]


class _Node(msgspec.Struct):
    NodeInfo: _NodeInfo


class _Session(msgspec.Struct):
    NeffNodes: list[_Node]
    Name: str | None = None


prepare(_Session)

TABLE_BYTES_MAX = 64 * 1024
_HEADS = (b"NODE ID", b"EXECUTOR", b"CYCLES", b"ERRORS")


@guarded
def read_session(source: str | os.PathLike[str] | bytes) -> Session:
    """Return the session. Raises ParseError, also when it names no core: nothing was executed then."""
    name = source_name(source)
    table = _table(source)
    if table is not None:
        session_name, cores = None, tuple(_rows(name, table))
    else:
        session: _Session = decode(name, read_json(source)[0], _Session)
        session_name = session.Name
        cores = tuple(
            CoreSession(g.NC, g.CycleCount, g.TotalInstructionTraceCount, g.EventsCount, g.ErrorCount)
            for node in session.NeffNodes
            for g in node.NodeInfo.Graphs
        )
    if not cores:
        raise ParseError(name, None, "the session names no core: nothing was executed")
    return Session(session_name, cores)


def is_session_table(head: bytes) -> bool:
    """Return whether text that begins so holds the table that `show-session` prints without `-j`."""
    return all(word in head for word in _HEADS)


def _table(source: str | os.PathLike[str] | bytes) -> list[str] | None:
    """Return the lines of the table, None where the source holds none in its first 64 KiB."""
    head = source[:TABLE_BYTES_MAX] if isinstance(source, bytes) else open_source(source).read(0, TABLE_BYTES_MAX)
    if not is_session_table(bytes(head)):
        return None
    return [line for line in bytes(head).decode("utf-8", "replace").splitlines() if line.lstrip().startswith("|")]


def _rows(name: str, lines: list[str]) -> Iterator[CoreSession]:
    heads = _cells(lines[0])
    for line in lines[1:]:
        row = dict(zip(heads, _cells(line)))
        executor = re.search(r"\bNC (\d+)", row.get("EXECUTOR", ""))
        counts = [row.get(head, "") for head in ("CYCLES", "TRACE", "EVENTS", "ERRORS")]
        if executor is None or not all(text.isdigit() for text in counts):
            raise ParseError(name, None, f"a row of show-session's table without core or counts: {line.strip()[:120]}")
        yield CoreSession(int(executor[1]), *map(int, counts))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
