"""Finds profiles that other tools left: any tree with NEFF, NTFF or profile JSON files and no `case.json`, in whatever layout (pairing.py)."""

from __future__ import annotations

import filecmp
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.formats.ntff import trace_name
from neff_bench.parsers.system_trace import Calls, read_system_trace
from neff_bench.stage2_profile.foreign.pairing import SAME_TIME, Neffs, Traces, same_time
from neff_bench.stage2_profile.foreign.survey import Found, ProfileFile, TraceFile, survey


@dataclass(frozen=True)
class ForeignCase:
    """One row: a traced execution, or a NEFF or profile without a trace.

    `name`: unique in the tree. `summary_json`: a summary, or a Parquet directory; `detail_json`: a whole profile. `execution`, `rank`: from the
    trace's name. `calls`: of a NEFF in `system_trace`. `paired_by`: `uuid`, `name`, or empty where there was nothing to pair. `copies`: further files that say the same of the same
    execution. `problem`: one line, or None.
    """

    name: str
    neff: Path | None = None
    ntff: Path | None = None
    summary_json: Path | None = None
    detail_json: Path | None = None
    session_json: Path | None = None
    system_trace: Path | None = None
    calls: Calls | None = None
    execution: int | None = None
    rank: int | None = None
    paired_by: str = ""
    copies: tuple[Path, ...] = ()
    problem: str | None = None
    remarks: tuple[str, ...] = ()


FIELDS = {"summary": "summary_json", "profile": "detail_json", "session": "session_json"}


def find_foreign(root: Path) -> tuple[ForeignCase, ...]:
    """Return every row of the tree, by name. Reads headers, metadata and summaries; a file that cannot be read becomes its row's `problem`."""
    found = survey(root)
    neffs = Neffs(found.neffs)
    traced = {trace.path: _row_of(trace, copies, neffs) for trace, copies in _once(found.traces)}
    alone = _attach(traced, found)
    rows = [*traced.values(), *_rows_of_profiles(alone, neffs)]
    rows += _rows_of_neffs(found, rows)
    closed = [
        ForeignCase(path.relative_to(root).as_posix(), problem=f"{path}: cannot be looked through: {reason}")
        for path, reason in found.unreadable
    ]
    return tuple(sorted([*_named(rows, root), *closed], key=lambda row: row.name))


def _once(traces: Iterable[TraceFile]) -> list[tuple[TraceFile, tuple[Path, ...]]]:
    """Return each trace once, with the paths of its copies: the nearest to the root stands for all."""
    groups: dict[bytes | Path, list[TraceFile]] = defaultdict(list)
    for trace in traces:
        groups[trace.identity or trace.path].append(trace)
    ordered = [sorted(group, key=lambda trace: (len(trace.path.parts), trace.path)) for group in groups.values()]
    return [(group[0], tuple(trace.path for trace in group[1:])) for group in ordered]


def _row_of(trace: TraceFile, copies: tuple[Path, ...], neffs: Neffs) -> ForeignCase:
    name = trace_name(trace.path.stem)
    neff, paired_by, problem = neffs.of_trace(trace)
    return ForeignCase(
        name="",
        neff=neff,
        ntff=trace.path,
        execution=name.execution,
        rank=name.rank,
        paired_by=paired_by,
        copies=copies,
        problem=trace.problem or problem,
    )


def _attach(rows: dict[Path, ForeignCase], found: Found) -> list[ProfileFile]:
    """Give each profile to its trace's row, in place; returns those that have none."""
    traces = Traces(found.traces)
    stands_for = {copy: path for path, row in rows.items() for copy in (path, *row.copies)}
    alone = []
    for profile in found.profiles:
        trace = traces.of_profile(profile)
        if trace is None or profile.profile is None:
            alone.append(profile)
            continue
        path = stands_for[trace.path]
        row, field = rows[path], FIELDS[profile.profile.kind]
        if getattr(row, field) is None:
            rows[path] = _with(row, profile)
        else:
            rows[path] = replace(row, copies=(*row.copies, profile.path))
    return alone


def _with(row: ForeignCase, profile: ProfileFile) -> ForeignCase:
    if profile.profile is None:
        return replace(row, detail_json=profile.path, problem=profile.problem)
    return replace(row, **{FIELDS[profile.profile.kind]: profile.path})  # type: ignore[arg-type]


def _rows_of_profiles(alone: Sequence[ProfileFile], neffs: Neffs) -> list[ForeignCase]:
    """Return the profiles whose trace is not there: those of one directory and one duration share a row, copies of one file are one."""
    rows: list[ForeignCase] = []
    first: dict[tuple[object, ...], int] = {}
    shared: dict[tuple[Path, int], list[tuple[int, float]]] = defaultdict(list)
    for profile in alone:
        found = profile.profile
        if found is None:
            rows.append(_with(ForeignCase(""), profile))
            continue
        if found.kind == "system":
            rows += _rows_of_system_trace(profile.path)
            continue
        what = (found, profile.size_bytes)
        original = first.get(what)
        if original is not None and profile.size_bytes and _equal(rows[original], profile):
            rows[original] = replace(rows[original], copies=(*rows[original].copies, profile.path))
            continue
        place = _slot(profile)
        near = [entry for step in (-1, 0, 1) for entry in shared[place[0], place[1] + step]]
        joined = [
            index
            for index, time_s in near
            if same_time(found.total_time_s, time_s) and not getattr(rows[index], FIELDS[found.kind])
        ]
        if joined:
            rows[joined[0]] = _with(rows[joined[0]], profile)
            first.setdefault(what, joined[0])
            continue
        neff, paired_by = neffs.of_profile(profile)
        rows.append(_with(ForeignCase("", neff=neff, paired_by=paired_by), profile))
        first.setdefault(what, len(rows) - 1)
        if found.total_time_s is not None:
            shared[place].append((len(rows) - 1, found.total_time_s))
    return rows


def _rows_of_system_trace(path: Path) -> list[ForeignCase]:
    """Return one for each NEFF that ran in it."""
    try:
        trace = read_system_trace(path)
    except ParseError as error:
        return [ForeignCase("", system_trace=path, problem=str(error))]
    return [ForeignCase("", system_trace=path, calls=calls, remarks=trace.remarks) for calls in trace.calls]


def _slot(profile: ProfileFile) -> tuple[Path, int]:
    """Return directory and duration, rounded so that equal durations fall into one slot or into neighbours."""
    time_s = profile.profile.total_time_s if profile.profile else None
    return profile.path.parent, round(math.log(time_s) / SAME_TIME) if time_s else 0


def _equal(row: ForeignCase, profile: ProfileFile) -> bool:
    kept = getattr(row, FIELDS[profile.profile.kind]) if profile.profile else None
    try:
        return kept is not None and filecmp.cmp(kept, profile.path, shallow=False)
    except OSError:
        return False


def _rows_of_neffs(found: Found, others: Iterable[ForeignCase]) -> list[ForeignCase]:
    """Return the NEFFs that nothing was made of. A copy of one that has a row is the same program, and gets none."""
    used = {row.neff for row in others}
    told = {neff.uuid for neff in found.neffs if neff.path in used and neff.uuid}
    rows = []
    for neff in found.neffs:
        if neff.path not in used and neff.uuid not in told:
            rows.append(ForeignCase("", neff=neff.path, problem=neff.problem))
            if neff.uuid:
                told.add(neff.uuid)
    return rows


def _named(rows: Sequence[ForeignCase], root: Path) -> list[ForeignCase]:
    """Return rows under the path of what they are about; the file's kind is added where two would share a name."""
    paths = [_subject(row).relative_to(root) for row in rows]
    shared = Counter(path.with_suffix("") if path.name else path for path in paths)
    plain = [path.with_suffix("") if path.name and shared[path.with_suffix("")] == 1 else path for path in paths]
    names = [f"{path.as_posix()}/{row.calls.neff}" if row.calls else path.as_posix() for row, path in zip(rows, plain)]
    return [replace(row, name=name) for row, name in zip(rows, names)]


def _subject(row: ForeignCase) -> Path:
    paths = (row.ntff, row.detail_json, row.summary_json, row.session_json, row.system_trace, row.neff)
    return next(path for path in paths if path is not None)
