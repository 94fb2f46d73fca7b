"""Profiles that other tools left: any tree with NEFF, NTFF or profile JSON files and no `case.json`.

Known layouts: `NEURON_FRAMEWORK_DEBUG` dumps (`MODULE_*.neff`), a `torch_neuronx.trace` workdir (`graph.neff`), the persistent compile cache
(`MODULE_<hash>+<flags>/model.neff`), `NEURON_RT_INSPECT` output (`neff_<hash>_vnc_0.neff`, `<hash>_instid_0_vnc_0.ntff`), nki-library's test
output (`file.neff`, below it `profile_exec_2.ntff`, `ntff_1.json`, `ntff_detailed_1.json`, `show_session_1.json`). No layout is required: a trace
goes with the NEFF whose uuid it carries, a JSON with the trace that it names or whose duration it states.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from neff_bench.parsers.container import read_container, same_program
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.formats.ntff import trace_name
from neff_bench.parsers.kinds import JsonProfile, describe_json
from neff_bench.parsers.neff import read_uuid

OURS = "case.json"
NUMBERED = re.compile(r"_(\d+)$")
PROFILE_NAME = re.compile(r"ntff|profile|summary|show_session", re.IGNORECASE)
"""A broken JSON is reported under such a name, and passed over under any other: trees are full of unrelated JSON."""

SAME_TIME = 1e-4
"""Two statements of one duration agree this well."""
TIME_CONTRADICTS = 0.02
"""Tools from 2.29 on count up to 0.6 % more than the trace says; beyond this it is another execution."""


@dataclass(frozen=True)
class ForeignCase:
    """One row: a traced execution, or a NEFF or profile without a trace.

    `name`: unique in the tree. `summary_json`: a summary, or a Parquet directory; `detail_json`: a whole profile. `execution`, `rank`: from the
    trace's name. `paired_by`: `uuid`, `name`, or empty where there was nothing to pair. `problem`: one line, or None.
    """

    name: str
    neff: Path | None = None
    ntff: Path | None = None
    summary_json: Path | None = None
    detail_json: Path | None = None
    session_json: Path | None = None
    execution: int | None = None
    rank: int | None = None
    paired_by: str = ""
    problem: str | None = None


@dataclass(frozen=True)
class _Neff:
    path: Path
    uuid: str | None
    problem: str | None = None


@dataclass(frozen=True)
class _Trace:
    path: Path
    uuid: str | None
    total_time_s: float | None
    problem: str | None = None


@dataclass(frozen=True)
class _Json:
    path: Path
    profile: JsonProfile | None
    problem: str | None = None


@dataclass(frozen=True)
class _Found:
    neffs: tuple[_Neff, ...]
    traces: tuple[_Trace, ...]
    profiles: tuple[_Json, ...]


def find_foreign(root: Path) -> tuple[ForeignCase, ...]:
    """Every row of the tree, by name. Reads headers, metadata and summaries; a file that cannot be read becomes its row's `problem`."""
    found = _survey(root)
    traced = {trace.path: _row_of(trace, found.neffs) for trace in found.traces}
    alone = _attach(traced, found)
    rows = [*traced.values(), *_rows_of_profiles(alone, found.neffs)]
    used = {row.neff for row in rows}
    rows += [ForeignCase("", neff=neff.path, problem=neff.problem) for neff in found.neffs if neff.path not in used]
    return tuple(sorted(_named(rows, root), key=lambda row: row.name))


def _survey(root: Path) -> _Found:
    neffs, traces, profiles = [], [], []
    for path in _files(root):
        suffix = path.suffix.lower()
        if suffix == ".neff":
            neffs.append(_neff(path))
        elif suffix == ".ntff":
            traces.append(_trace(path))
        elif suffix == ".json":
            profiles += _json(path)
        elif path.is_dir():
            profiles += _parquet(path)
    return _Found(tuple(neffs), tuple(traces), tuple(profiles))


def _files(root: Path) -> Iterator[Path]:
    """Files in order, Parquet profiles as directories; without our bundles, hidden directories and what links lead to."""
    for directory, names, files in os.walk(root, onerror=None):
        here = Path(directory)
        if OURS in files:
            names.clear()
            continue
        if "Summary.parquet" in files:
            names.clear()
            yield here
            continue
        names[:] = sorted(name for name in names if not name.startswith("."))
        yield from (here / name for name in sorted(files))


def _neff(path: Path) -> _Neff:
    try:
        return _Neff(path, read_uuid(path))
    except ParseError as error:
        return _Neff(path, None, str(error))


def _trace(path: Path) -> _Trace:
    try:
        container = read_container(path)
    except ParseError as error:
        return _Trace(path, None, None, str(error))
    time_ps = container.total_time_ps
    return _Trace(path, container.uuid.hex(), None if time_ps is None else time_ps / 1e12)


def _json(path: Path) -> list[_Json]:
    try:
        profile = describe_json(path)
    except ParseError as error:
        return [_Json(path, None, str(error))] if PROFILE_NAME.search(path.name) else []
    return [_Json(path, profile)] if profile else []


def _parquet(path: Path) -> list[_Json]:
    from neff_bench.parsers.profile_json import read_summary

    try:
        return [_Json(path, JsonProfile("summary", read_summary(path).total_time_s, None, None))]
    except ParseError as error:
        return [_Json(path, None, str(error))]


def _row_of(trace: _Trace, neffs: Sequence[_Neff]) -> ForeignCase:
    name = trace_name(trace.path.stem)
    neff, paired_by, problem = _neff_for(trace, neffs)
    return ForeignCase(
        name="",
        neff=neff,
        ntff=trace.path,
        execution=name.execution,
        rank=name.rank,
        paired_by=paired_by,
        problem=trace.problem or problem,
    )


def _neff_for(trace: _Trace, neffs: Sequence[_Neff]) -> tuple[Path | None, str, str | None]:
    """The trace's NEFF, what tells so, and what is wrong. Of several copies the nearest."""
    answers = {neff.path: _answer(trace, neff) for neff in neffs}
    certain = [path for path, answer in answers.items() if answer is True]
    if certain:
        return _nearest(trace.path, certain), "uuid", None
    possible = [path for path, answer in answers.items() if answer is None and _near(trace.path, path)]
    by_name = [path for path in possible if _share_a_name(trace.path, path)] or possible
    if len(by_name) == 1:
        return by_name[0], "name", None
    others = [path for path, answer in answers.items() if answer is False and path.parent == trace.path.parent]
    return None, "", f"{others[0].name} beside it is another program: its uuid is not the trace's" if others else None


def _answer(trace: _Trace, neff: _Neff) -> bool | None:
    return same_program(trace.uuid, neff.uuid) if trace.uuid and neff.uuid else None


def _near(trace: Path, neff: Path) -> bool:
    return neff.parent in (trace.parent, trace.parent.parent)


def _nearest(to: Path, paths: Iterable[Path]) -> Path:
    return min(paths, key=lambda path: (len(os.path.relpath(path, to.parent).split(os.sep)), str(path)))


def _share_a_name(trace: Path, other: Path) -> bool:
    """The same stem, or the same hash as the runtime's inspect mode puts into both names."""
    hashes = [part for part in trace.stem.split("_") if len(part) >= 8]
    return other.stem in (trace.stem, trace_name(trace.stem).stem) or any(part in other.stem for part in hashes)


FIELDS = {"summary": "summary_json", "profile": "detail_json", "session": "session_json"}


def _attach(rows: dict[Path, ForeignCase], found: _Found) -> list[_Json]:
    """Gives each JSON to its trace's row, in place; returns those that have none."""
    alone = []
    for json in found.profiles:
        trace = _trace_of(json, found.traces)
        if trace is None or json.profile is None or getattr(rows[trace.path], FIELDS[json.profile.kind]):
            alone.append(json)
        else:
            rows[trace.path] = _with(rows[trace.path], json)
    return alone


def _with(row: ForeignCase, json: _Json) -> ForeignCase:
    if json.profile is None:
        return replace(row, detail_json=json.path, problem=json.problem)
    return replace(row, **{FIELDS[json.profile.kind]: json.path})  # type: ignore[arg-type]


def _trace_of(json: _Json, traces: Sequence[_Trace]) -> _Trace | None:
    """The trace that the JSON was made of: the one with the best evidence; None when two have it or it contradicts all."""
    profile = json.profile
    if profile is None:
        return None
    near = [trace for trace in traces if json.path.parent in (trace.path.parent, trace.path.parent.parent)]
    fitting = {
        trace: _evidence(json.path, profile, trace, near.index(trace)) for trace in near if _may_belong(profile, trace)
    }
    best = [trace for trace, evidence in fitting.items() if evidence == max(fitting.values())]
    return best[0] if len(best) == 1 else None


def _evidence(path: Path, profile: JsonProfile, trace: _Trace, position: int) -> tuple[bool, ...]:
    """Strongest first: it names the trace, it states the trace's duration, its file name fits, it lies beside it."""
    number = NUMBERED.search(path.stem)
    return (
        profile.ntff_name is not None and Path(profile.ntff_name).name == trace.path.name,
        _same_time(profile.total_time_s, trace.total_time_s),
        trace.path.stem in path.stem or (number is not None and int(number[1]) == position),
        path.parent == trace.path.parent,
    )


def _may_belong(profile: JsonProfile, trace: _Trace) -> bool:
    if profile.neff_uuid and trace.uuid and same_program(trace.uuid, profile.neff_uuid) is False:
        return False
    known = profile.total_time_s is not None and trace.total_time_s is not None
    return not known or _same_time(profile.total_time_s, trace.total_time_s, TIME_CONTRADICTS)


def _same_time(one: float | None, other: float | None, tolerance: float = SAME_TIME) -> bool:
    return one is not None and other is not None and abs(one - other) <= tolerance * max(one, other)


def _rows_of_profiles(alone: Sequence[_Json], neffs: Sequence[_Neff]) -> list[ForeignCase]:
    """Profiles whose trace is not there: those of one directory and one duration share a row."""
    rows: list[ForeignCase] = []
    times: list[tuple[Path, float | None]] = []
    for json in alone:
        time_s = json.profile.total_time_s if json.profile else None
        joined = [
            index
            for index, (parent, other_s) in enumerate(times)
            if json.profile
            and parent == json.path.parent
            and _same_time(time_s, other_s)
            and not getattr(rows[index], FIELDS[json.profile.kind])
        ]
        if joined:
            rows[joined[0]] = _with(rows[joined[0]], json)
            continue
        neff, paired_by = _neff_of_profile(json, neffs)
        rows.append(_with(ForeignCase(json.path.stem, neff=neff, paired_by=paired_by), json))
        times.append((json.path.parent, time_s))
    return rows


def _neff_of_profile(json: _Json, neffs: Sequence[_Neff]) -> tuple[Path | None, str]:
    uuid = json.profile.neff_uuid if json.profile else None
    same = [neff.path for neff in neffs if uuid and neff.uuid == uuid]
    if same:
        return _nearest(json.path, same), "uuid"
    beside = [neff.path for neff in neffs if _near(json.path, neff.path)]
    return (beside[0], "name") if len(beside) == 1 and not uuid else (None, "")


def _named(rows: Sequence[ForeignCase], root: Path) -> list[ForeignCase]:
    """Rows under the path of what they are about; the file's kind is added where two would share a name."""
    paths = [_subject(row).relative_to(root) for row in rows]
    shared = Counter(path.with_suffix("") for path in paths)
    plain = [path.with_suffix("") if shared[path.with_suffix("")] == 1 else path for path in paths]
    return [replace(row, name=path.as_posix()) for row, path in zip(rows, plain)]


def _subject(row: ForeignCase) -> Path:
    found = [
        path for path in (row.ntff, row.detail_json, row.summary_json, row.session_json, row.neff) if path is not None
    ]
    return found[0]
