"""Searches the variants of one kernel: all of them estimated, the fastest executed, and the ranks told as a table or a page."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from neff_bench.doors.inputs import InputShape
from neff_bench.doors.tune.search import Combination, Search
from neff_bench.doors.tune.variants import Answer, Limits, Tolerance, Variant, ranked, tune
from neff_bench.stage2_profile.metrics.rows import BAD
from neff_bench.terminal import streams
from neff_bench.terminal.answer import NONE, Column, Grid
from neff_bench.terminal.answer import Answer as Told

if TYPE_CHECKING:
    from neff_bench.doors.subject import Subject
    from neff_bench.neffs.case import Case
    from neff_bench.neffs.own import OwnKernel

EXECUTED = 10
"""How many of the fastest are executed."""
TEMPLATE = Path(__file__).with_name("ranks.html")


RULE = re.compile(r"\b[A-Z]+\d{3,}\b")
"""The code of a rule of AWS's compiler."""


@dataclass(frozen=True)
class Tuned:
    """The variants of `kernel`. `order`: the best first. `bad`: what failed or is wrong. `tried`, `grid`: how many, of how many combinations."""

    kernel: str
    names: tuple[str, ...]
    combinations: dict[str, Combination]
    order: list[Answer]
    bad: list[Answer]
    tried: int
    grid: int


def best(subject: Subject, case: Case, search: Search, limits: Limits) -> Tuned:
    """Return what the search finds. The ten fastest are executed, and compared where the case has a reference; one that is wrong makes
    room for the next."""
    base = _variant(subject, case)
    combinations: dict[str, Combination] = {}
    answers: dict[str, Answer] = {}

    def line(name: str, *, check: bool) -> bytes:
        varied = dict(zip(search.choices, combinations[name], strict=True))
        return msgspec.json.encode(msgspec.structs.replace(base, id=name, varied=varied, check=check))

    def proposed() -> Iterator[bytes]:
        for combination in search:
            name = " ".join(f"{key}={value}" for key, value in zip(search.choices, combination, strict=True))
            combinations[name] = combination
            yield line(name, check=False)

    best_us = float("inf")
    for answer in tune(proposed(), limits):
        name, time_us = str(answer.id), answer.total_time_us
        answers[name] = answer
        good = time_us is not None and answer.refused is None and answer.check not in BAD
        search.tell(combinations[name], time_us if good else None)
        if good and time_us is not None and time_us < best_us:
            best_us = time_us
            streams.status(f"[{len(answers)}/{search.count}] {time_us:.2f} us, the best so far: {name}")
    executed: set[str] = set()
    while todo := [str(one.id) for one in ranked(answers.values(), EXECUTED) if one.id not in executed]:
        executed.update(todo)
        checks = (line(name, check=True) for name in todo)
        answers.update({str(answer.id): answer for answer in tune(checks, limits)})
    order = ranked(answers.values(), len(answers))
    known = {answer.id for answer in order}
    bad = [answer for answer in answers.values() if answer.id not in known]
    return Tuned(case.kernel, tuple(search.choices), combinations, order, bad, len(answers), len(search.grid))


def _variant(subject: Subject, case: Case) -> Variant:
    """Return the case as a variant, without what varies."""
    from neff_bench.stage1_generate.entries import place

    own = cast("OwnKernel", case.own)  # the subject is a function of a file
    folder = Path(subject.shapes).parent if subject.shapes else Path.cwd()
    return Variant(
        id="",
        kernel=place(own.entry, folder).entry,
        inputs={tensor.name: InputShape(tensor.shape, tensor.dtype) for tensor in own.inputs},
        implementation=case.implementation,
        arguments=dict(own.arguments),
        target=case.target,
        lnc=case.lnc,
        flops=own.flops,
        reference=subject.reference or (place(own.reference, folder).entry if own.reference else None),
        tolerance=Tolerance(*own.tolerance) if own.tolerance else None,
    )


def answer_of(found: Tuned) -> Told:
    """Return the ranks as every format tells them."""
    columns = [
        Column("rank", right=True),
        *(Column(name, right=True) for name in found.names),
        Column("total us", right=True, name="total_time_us"),
        Column("low", right=True, name="total_time_low_us", bound=True),
        Column("high", right=True, name="total_time_high_us", bound=True),
        Column("ahead of the next", name="sure"),
        Column("check"),
        Column("AWS's compiler", name="refused"),
    ]
    lines = []
    for rank, (one, after) in enumerate(itertools.zip_longest(found.order, found.order[1:]), 1):
        row = one.row or {}
        times = [row.get(name) for name in ("total_time_us", "total_time_low_us", "total_time_high_us")]
        lines.append([
            str(rank), *map(str, found.combinations[str(one.id)]), *(NONE if time is None else f"{time:.2f}" for time in times),
            _apart(one, after), one.check or NONE, _rule(one),
        ])  # fmt: skip
    records = [
        {"rank": rank, **dict(zip(found.names, found.combinations[str(one.id)], strict=True)), **msgspec.structs.asdict(one)}
        for rank, one in enumerate(found.order, 1)
    ]  # fmt: skip
    fields = ["rank", *found.names, *(name for name in Answer.__struct_fields__ if name != "row")]
    flat = [{name: record[name] for name in fields} for record in records]
    return Told(flat, fields, [Grid(columns, lines, notes(found), title=found.kernel)], records)


def _rule(one: Answer) -> str:
    """Return the rule by which AWS's compiler refuses a variant; the whole reason where it has no code."""
    code = RULE.search(one.refused or "")
    return code[0] if code else one.refused or NONE


def _apart(one: Answer, after: Answer | None) -> str:
    """Return by how much a variant is faster than the next, and whether that suffices."""
    if after is None or one.sure is None or not one.total_time_us or not after.total_time_us:
        return NONE
    return f"{'SURE' if one.sure else 'UNCLEAR'} {after.total_time_us / one.total_time_us:.2f}"


def notes(found: Tuned) -> list[str]:
    """Return what must be said under the ranks."""
    from neff_bench.simulator.timing.interval import SURE, sure_ratio

    said = [f"{answer.check or answer.status}: {answer.id}: {answer.reason}" for answer in found.bad[:3]]
    said += [f"and {len(found.bad) - 3} more that failed or are wrong"] if len(found.bad) > 3 else []
    tried = f"{found.tried} of {found.grid} variants tried"
    if not found.order:
        return [*said, tried]
    models = {str(one.row["model"]) for one in found.order if one.row}
    return [
        *said,
        f"{tried}; simulated by neuron-sim {', '.join(sorted(models))}",
        f"SURE: {sure_ratio():.2f} times as fast as the next or more; hardware orders {100 * SURE:.0f} of 100 such pairs in the same way (neff-bench explain SURE)",
    ]


def front(found: Tuned) -> set[str]:
    """Return the ids of the variants that no other one beats both in time and in the bytes that it moves from and to HBM."""
    best, least = set(), float("inf")
    for one in found.order:
        moved = _hbm_bytes(one)
        if one.refused is None and moved < least:
            best.add(str(one.id))
            least = moved
    return best


def _hbm_bytes(one: Answer) -> float:
    row = one.row or {}
    return float((row.get("hbm_read_bytes") or 0) + (row.get("hbm_write_bytes") or 0))


def page(found: Tuned) -> str:
    """Return one HTML file: the variants by time and by bytes of HBM, those of the front marked, and the ranks."""
    (grid,) = answer_of(found).grids
    shown, best = grid.shown(), front(found)
    head = "".join(f"<th>{escape(column.head)}</th>" for column in shown.columns)
    body = "".join(
        f"<tr{' class=front' if str(one.id) in best else ''}>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>"
        for one, line in zip(found.order, shown.lines, strict=True)
    )
    parts = {
        "TITLE": escape(found.kernel),
        "DOTS": "".join(_dots(found, best)),
        "TABLE": f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>",
        "NOTES": "".join(f"<p>{escape(note)}</p>" for note in grid.notes),
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in parts.items():
        text = text.replace(f"<!--{name}-->", value)
    return text


def _dots(found: Tuned, best: set[str]) -> Iterator[str]:
    """Yield the variants as circles in a plot of 600 x 300."""
    times = [one.total_time_us or 0.0 for one in found.order]
    moved = [_hbm_bytes(one) for one in found.order]
    if not times:
        return
    wide, high = max(times) - min(times) or 1.0, max(moved) - min(moved) or 1.0
    for one, time, count in zip(found.order, times, moved, strict=True):
        x, y = 600 * (time - min(times)) / wide, 300 - 300 * (count - min(moved)) / high
        said = escape(f"{one.id}: {time:.2f} us, {count / 1e6:.2f} MB of HBM")
        kind = "front" if str(one.id) in best else "refused" if one.refused else "dot"
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="{kind}"><title>{said}</title></circle>'
    yield f'<text x="0" y="325">{min(times):.2f} us</text><text x="600" y="325" text-anchor="end">{max(times):.2f} us</text>'
    yield f'<text x="-8" y="300" text-anchor="end">{min(moved) / 1e6:.2f} MB</text><text x="-8" y="6" text-anchor="end">{max(moved) / 1e6:.2f} MB</text>'
