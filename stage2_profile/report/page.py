"""Writes the page of a store: its rows, and the timeline of each row that has a profile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec

from neff_bench.installation import IMPORT_ROOT
from neff_bench.neffs.sources import SOURCES
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.event_rows import Timeline
from neff_bench.parsers.event_tables import read_timeline
from neff_bench.stage2_profile.metrics.rows import Row
from neff_bench.stage2_profile.report.files import ProfileFiles
from neff_bench.stage2_profile.report.layout import answer, state
from neff_bench.system.decoding import prepare
from neff_bench.viewer.page.cases import notes_of, texts_of
from neff_bench.viewer.page.document import Case, document
from neff_bench.viewer.page.events import Side
from neff_bench.viewer.roofline import Point, Roofline, point_of, roofline, roofline_of


def report_page(directory: Path, rows: Sequence[Row], files: Sequence[ProfileFiles]) -> bytes:
    """Return the page of `rows`, each with its files. A profile that cannot be read costs its timeline, and not the page. Of a case of several
    ranks it has the timeline of the slowest."""
    [grid] = answer(rows).grids
    cases = (_case(row, files_) for row, files_ in zip(rows, files, strict=True))
    title = f"neff-bench {directory.resolve().name}"
    links = [
        number if own else None for number, row in enumerate(rows) for own in (True, *(False for _ in row.by_rank))
    ]
    return document(title, cases, grid, links, rooflines_of(rows))


def rooflines_of(rows: Sequence[Row]) -> list[tuple[Roofline, list[Point]]]:
    """Return all rows of one target and LNC under one roof."""
    points: defaultdict[tuple[str | None, int | None], list[Point]] = defaultdict(list)
    for row in rows:
        point = _point(row)
        if point is not None:
            points[row.target, row.lnc].append(point)
    roofs = {(target, lnc): roofline((target or "").split("/")[0], lnc) for target, lnc in points}
    return [(roof, points[key]) for key, roof in roofs.items() if roof is not None]


def roots_of(files: ProfileFiles) -> tuple[Path, ...]:
    """Return where source files are looked for: in the bundle, here, in the folders that the kernel was compiled from, and among the kernels that we ship."""
    own = (files.bundle / SOURCES, *_compiled_from(files.bundle)) if files.bundle else ()
    return (*own[:1], Path(), *own[1:], IMPORT_ROOT)


class _KernelJson(msgspec.Struct):
    path: list[str] = []


prepare(_KernelJson)


def _compiled_from(bundle: Path) -> list[Path]:
    """Return the search path in the bundle's kernel.json; empty where there is none, or on another machine."""
    try:
        folders = msgspec.json.decode((bundle / "kernel.json").read_bytes(), type=_KernelJson).path
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []
    return [Path(folder) for folder in folders if "\0" not in folder]


def timeline_or_problem(files: ProfileFiles) -> Timeline | str:
    """Return the timeline with what depends on what, or why there is none."""
    if files.profile is None:
        return files.problem or "nothing was profiled"
    try:
        return read_timeline(files.profile, files.neff, linked=True)
    except (ParseError, OSError) as error:
        return str(error)


def _case(row: Row, files: ProfileFiles) -> Case:
    timeline = timeline_or_problem(files)
    if isinstance(timeline, str):
        return Case(row.case, problem=row.reason or timeline)
    point = _point(row) or point_of(timeline, row.case)
    return Case(
        row.case,
        (Side("", timeline, texts_of(timeline, roots_of(files))),),
        notes=(*notes_of(timeline), *((f"{state(row)}: {row.reason}",) if row.reason else ()), *map(str, row.findings)),
        roofs=_roofs(row) or roofline_of(timeline),
        points=(point,) if point else (),
    )


def _roofs(row: Row) -> Roofline | None:
    return roofline((row.target or "").split("/")[0], row.lnc, row.dtype)


def _point(row: Row) -> Point | None:
    if not row.model_flops or not row.total_time_us or not row.arithmetic_intensity:
        return None
    return Point(
        row.case, row.arithmetic_intensity, row.model_flops / row.total_time_us * 1e6, row.source == "simulated"
    )
