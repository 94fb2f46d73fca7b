"""Gives rows from wherever they are: a store, a JSON file of rows, or a saved baseline, which carries its environment."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec
import orjson

from neff_bench.errors import WrongCall
from neff_bench.installation import __version__
from neff_bench.neffs.store import OWN
from neff_bench.stage2_profile.metrics.rows import from_dict
from neff_bench.system.decoding import prepare
from neff_bench.system.files import write_whole

SCHEMA = 1


class _Baseline(msgspec.Struct):
    """The file of a baseline."""

    rows: list[dict[str, Any]]
    schema: int = 0
    environment: dict[str, str | list[str]] | None = None
    lines: dict[str, list[Any]] | None = None


prepare(_Baseline)


@dataclass(frozen=True)
class Rows:
    """Row records and where they come from. `environment`: only of a saved baseline. `single`: one profile, named as such.
    `lines`: of a baseline of the gate, the source lines of each case (gate/lines.py)."""

    name: str
    records: list[dict[str, Any]]
    environment: dict[str, Any] = field(default_factory=dict)
    single: bool = False
    lines: dict[str, Any] = field(default_factory=dict)


def load(path: Path) -> Rows:
    """Return the rows of a directory (read, never run), of a JSON file, or of one profile. Raises `WrongCall` for anything else."""
    profile = _single_profile(path)
    if profile is not None:
        return Rows(str(path), [profile], single=True)
    if path.is_dir():
        records = _store_records(path)
        return Rows(str(path), records, single=len(records) == 1 and not (path / OWN).exists())
    try:
        content = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise WrongCall(f"{path}: no such file or directory") from None
    except OSError as error:
        raise WrongCall(f"{path}: cannot read it: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise WrongCall(f"{path}: not JSON ({error}); expected the rows of profile-neffs --format json") from None
    if not isinstance(content, dict) or "rows" not in content:
        return Rows(str(path), _checked(path, content))
    try:
        baseline = msgspec.convert(content, _Baseline)
    except msgspec.ValidationError as error:
        raise WrongCall(f"{path}: not a baseline: {error}") from None
    if baseline.schema > SCHEMA:
        raise WrongCall(f"{path}: baseline schema {baseline.schema} is newer than {SCHEMA}; update neff-bench")
    return Rows(str(path), _checked(path, baseline.rows), baseline.environment or {}, lines=baseline.lines or {})


def save(path: Path, records: Sequence[Mapping[str, Any]], lines: Mapping[str, Any] | None = None) -> None:
    """Write a baseline, whole or not at all. `lines`: the source lines of cases. Raises `WrongCall` rather than replace a file that is no baseline."""
    if path.exists():
        try:
            load(path)
        except WrongCall:
            raise WrongCall(f"{path} is there and is no baseline; it is not overwritten") from None
    content: dict[str, Any] = {"schema": SCHEMA, "environment": environment(records), "rows": list(records)}
    if lines:
        content["lines"] = msgspec.to_builtins(dict(lines))
    try:
        write_whole(path, orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    except OSError as error:
        raise WrongCall(f"{path}: cannot write it: {error.strerror}") from None


def environment(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the numbers depend on beside the cases. No names of hosts or users."""
    return {
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "neff_bench": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "tools": sorted({record["tool"] for record in records if record.get("tool")}),
        "models": sorted({record["model"] for record in records if record.get("model")}),
        "sources": sorted({record["source"] for record in records if record.get("source")}),
    }


def _store_records(path: Path) -> list[dict[str, Any]]:
    from neff_bench.stage2_profile.directory import find_entries
    from neff_bench.stage2_profile.metrics.rows import to_dict, with_ranks
    from neff_bench.stage2_profile.options import Options
    from neff_bench.stage2_profile.pipeline import Pipeline

    pipeline = Pipeline(Options(parse_only=True))
    records = [to_dict(row) for row in with_ranks(pipeline.row(entry) for entry in find_entries(path))]
    if not records:
        raise WrongCall(f"{path}: no bundle and no profile in it")
    return records


def _single_profile(path: Path) -> dict[str, Any] | None:
    """Return the row of a profile JSON, a Parquet profile or an NTFF; None for what is none of these. Raises `WrongCall` for a
    damaged one."""
    from neff_bench.parsers.errors import ParseError
    from neff_bench.parsers.kinds import describe_json, kind_of
    from neff_bench.stage2_profile.foreign.rows import foreign_row
    from neff_bench.stage2_profile.foreign.search import ForeignCase
    from neff_bench.stage2_profile.metrics.rows import to_dict

    try:
        kind = kind_of(path)
        described = describe_json(path) if kind == "json" else None
    except ParseError:
        return None
    if kind == "neff" or (kind == "json" and (described is None or described.kind == "session")):
        return None
    case = ForeignCase(path.name, ntff=path) if kind == "ntff" else ForeignCase(path.name, summary_json=path)
    row = foreign_row(case)
    if row.status == "failed":
        raise WrongCall(row.reason or f"{path}: cannot be read")
    return to_dict(row)


def _checked(path: Path, content: Any) -> list[dict[str, Any]]:
    if not isinstance(content, list) or not content:
        raise WrongCall(f"{path}: expected a list of rows, as profile-neffs --format json writes it")
    records = []
    for number, record in enumerate(content, start=1):
        if not isinstance(record, dict) or not isinstance(record.get("case"), str):
            raise WrongCall(f"{path}: row {number} has no case; expected the rows of profile-neffs --format json")
        try:
            records.append(from_dict(record))
        except msgspec.ValidationError as error:
            raise WrongCall(f"{path}: row {number}, {record['case']}: {error}") from None
    return records
