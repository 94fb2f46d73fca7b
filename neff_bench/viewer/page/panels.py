"""Writes what stands beside a timeline, as HTML that needs no script: shares, critical path, source lines, roofline, advice, figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from neff_bench.viewer.advice import Advice, held_up
from neff_bench.viewer.advice.facts import total_us
from neff_bench.viewer.critical_path import PathStep, path_totals
from neff_bench.viewer.page.events import FAMILIES, Events, Side
from neff_bench.viewer.page.html import heading, table, text, us
from neff_bench.viewer.page.plots import bar
from neff_bench.viewer.page.totals import LineTotal, TrackTotal, engine_shares, total_ns

LINES_MAX = 400
"""The most lines of a table of source lines."""
FIRST = 3
"""Pieces of advice on the first screen."""


def percent(part: float, whole: float) -> str:
    """Return a share for people."""
    return f"{100 * part / whole:.1f} %" if whole else ""


def glance(
    sides: Sequence[Side], events: Events, steps: Sequence[PathStep], found: Sequence[Advice], simulated: bool
) -> str:
    """Return what is seen first: how long it takes, what bounds it, what to do, and how busy the engines are."""
    totals = "".join(
        f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for side in sides for name, value in _facts(side, sides[0])
    )
    bound = f"<dt>bound by</dt><dd>{text(_bound(sides[0], events, steps))}</dd>" if len(sides) == 1 else ""
    first = "".join(f"<li>{text(one.title)}{_gain(one)}</li>" for one in found[:FIRST])
    none = "<p class=dim>No rule found anything that would save 2 % of the time.</p>"
    todo = (
        f"<div>{heading(3, 'What to do first', simulated)}{f'<ol>{first}</ol>' if first else none}</div>"
        if len(sides) == 1
        else ""
    )
    return f'<section class="glance"><dl>{totals}{bound}</dl>{todo}{"".join(_bars(side, events) for side in sides)}</section>'


def _facts(side: Side, first: Side) -> Iterable[tuple[str, str]]:
    summary = side.timeline.summary
    name = f"{side.letter} total" if side.letter else "total"
    total = total_us(side.timeline)
    low, high = (summary.get(f"simulator_{end}_total_time") for end in ("low", "high"))
    within = f" ({1e6 * low:.2f} to {1e6 * high:.2f})" if isinstance(low, float) and isinstance(high, float) else ""
    base = total_us(first.timeline)
    change = f", {total - base:+.2f} us, {total / base:.3f} of {first.letter}" if side is not first and base else ""
    yield name, f"{total:.2f} us{within}{change}" if total else "the file does not say"
    instance = summary.get("instance_type")
    if isinstance(instance, str) and instance and side is first:
        yield "on", f"{instance}{', SIMULATED' if side.timeline.simulated else ''}"


def _bound(side: Side, events: Events, steps: Sequence[PathStep]) -> str:
    """Return what most of the critical path is spent on; without a path, the busiest engine."""
    if steps:
        times = path_totals(steps)
        name = next(iter(times))
        whole = sum(times.values())
        share = f"{name}, {percent(times[name], whole)} of the critical path, which is {us(whole)} us long"
        return "; ".join(filter(None, (share, held_up(side.timeline, steps))))
    unknown, busy = "not known: the file does not say which instruction waits for which", _busy(side, events)
    if not busy:
        return unknown
    busiest = max(busy, key=busy.__getitem__)
    return f"{unknown}. The busiest is {FAMILIES[busiest]}, {percent(busy[busiest], 1)} of the total"


def _gain(one: Advice) -> str:
    return "" if one.gain_us is None else f" <b>gain {one.gain_us:.2f} us</b>"


def _busy(side: Side, events: Events) -> dict[str, float]:
    """Return the part of the time in which each engine works: the profiler's figure, which the row has too, else what the events add up to."""
    keys = {family: f"{family}_{'' if family == 'dma' else 'engine_'}active_time_percent" for family in FAMILIES}
    said = {family: side.timeline.summary.get(key) for family, key in keys.items()}
    return engine_shares(events, side.letter, {family: one for family, one in said.items() if isinstance(one, float)})


def _bars(side: Side, events: Events) -> str:
    rows = "".join(
        f'<tr><th scope=row>{text(f"{side.letter} {FAMILIES[family]}".strip())}</th><td>{bar(share, family)}</td><td class="n">{100 * share:.1f} %</td></tr>'
        for family, share in _busy(side, events).items()
    )
    return f'<table class="bars" aria-label="Busy, of the total"><tbody>{rows}</tbody></table>'


def shares(events: Events, tracks: Sequence[TrackTotal]) -> str:
    """Return how long each engine and each queue is busy."""
    total = total_ns(events)
    lines = []
    for one in tracks:
        cells = (one.title, str(one.events), us(one.busy_ns), percent(one.busy_ns, total))
        moved = "" if one.bytes is None else f"{one.bytes:,}"
        lines.append((cells, moved, bar(one.busy_ns / total if total else 0.0, one.family)))
    head = ("", "events", "busy us", "of total", "", "bytes")
    body = "".join(
        f"<tr><td>{text(name)}</td>"
        + "".join(f'<td class="n">{text(cell)}</td>' for cell in numbers)
        + f'<td>{drawn}</td><td class="n">{text(moved)}</td></tr>'
        for (name, *numbers), moved, drawn in lines
    )
    heads = "".join(f'<th scope=col class="n">{name}</th>' if name else "<td></td>" for name in head)
    note = (
        "Busy: at least one of its instructions or packets runs; EVENT_SEMAPHORE, which only waits, is left out. TensorMatrix: the MATMULs of the Tensor "
        "Engine; Tensor: its other instructions."
    )
    return f'<div class="scroll" tabindex=0><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div><p class="dim">{note}</p>'


def path(steps: Sequence[PathStep]) -> str:
    """Return what the critical path is spent on."""
    if not steps:
        return "<p>Not known: the file does not say which instruction waits for which.</p>"
    times = path_totals(steps)
    whole = sum(times.values())
    lines = [(title, us(ns), percent(ns, whole)) for title, ns in times.items()]
    return table(("", "us", "of path"), lines, (False, True, True)) + f'<p class="dim">{len(steps)} instructions.</p>'


def lines(events: Events, totals: Sequence[LineTotal], has_path: bool) -> str:
    """Return the source lines by time. `has_path`: whether a critical path is known."""
    if not totals:
        return (
            "<p>The profile names no source lines. AWS's compiler writes them into the NEFF with NEURON_FRAMEWORK_DEBUG=1 and NKI_DEBUG_INFO=1, "
            "which generate-neffs --debug-info sets.</p>"
        )
    heads = ("line or operation", *(["path us"] if has_path else []), "own us", "with calls us", "events")
    rows = [
        (
            events.lines[one.line],
            *([us(one.path_ns)] if has_path else []),
            us(one.own_ns),
            us(one.with_calls_ns),
            str(one.events),
        )
        for one in totals[:LINES_MAX]
    ]
    more = f"<p class=dim>and {len(totals) - LINES_MAX} more lines</p>" if len(totals) > LINES_MAX else ""
    return table(heads, rows, (False, *(True for _ in heads[1:])), [str(one.line) for one in totals[:LINES_MAX]]) + more


def advice(found: Sequence[Advice]) -> str:
    """Return the findings, the largest gain first."""
    if not found:
        return "<p>No rule found anything that would save 2 % of the time.</p>"
    rows = [(one.title, one.evidence, "" if one.gain_us is None else f"{one.gain_us:.2f}", one.metric) for one in found]
    return table(("what to do", "evidence", "gain, us", "see"), rows, (False, False, True, False))


def constants(found: Sequence[Advice]) -> str:
    """Return what a better chip would gain: where the model says that the time goes."""
    rows = [(one.title, one.evidence, "" if one.gain_us is None else f"{one.gain_us:.2f}") for one in found]
    return table(("constant", "total", "gain us"), rows, (False, False, True))


def figures(summary: Mapping[str, object]) -> str:
    """Return the keys of the profiler's summary."""
    rows = [(key, str(value)) for key, value in sorted(summary.items()) if not isinstance(value, (list, dict))]
    return f"<details><summary>{len(rows)} figures of the summary</summary>{table(('key', 'value'), rows)}</details>"
