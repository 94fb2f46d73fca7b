"""`neuron-profile show-session -j`: what one execution took, read from the NTFF alone.

Undocumented; fields as AWS's own test harness reads them (github.com/aws-neuron/nki-library, test/utils/metrics_collector.py). A physical core
is one graph. `CycleCount` holds picoseconds, its name notwithstanding: it equals `total_time` of the profile JSON on inf2 and trn2.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import msgspec

from neff_bench.parsers.document import decode, prepare
from neff_bench.parsers.errors import ParseError, guarded
from neff_bench.parsers.json_text import read_json
from neff_bench.parsers.source import source_name


@dataclass(frozen=True)
class CoreSession:
    """One physical core. None: the tool did not say."""

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


@guarded
def read_session(source: str | os.PathLike[str] | bytes) -> Session:
    """The session. Raises ParseError, also when it names no core: nothing was executed then."""
    name = source_name(source)
    session: _Session = decode(name, read_json(source)[0], _Session)
    cores = tuple(
        CoreSession(graph.NC, graph.CycleCount, graph.TotalInstructionTraceCount, graph.EventsCount, graph.ErrorCount)
        for node in session.NeffNodes
        for graph in node.NodeInfo.Graphs
    )
    if not cores:
        raise ParseError(name, None, "the session names no core: nothing was executed")
    return Session(session.Name, cores)
