"""What stands beside a timeline, as HTML that needs no script: shares, critical path, source lines, roofline, advice, figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from neff_bench.viewer.advice import Advice
from neff_bench.viewer.critical_path import PathStep
from neff_bench.viewer.page.events import Events
from neff_bench.viewer.page.html import table, text
from neff_bench.viewer.page.plots import bar
from neff_bench.viewer.page.totals import LineTotal, line_totals, path_totals, total_ns, track_totals
from neff_bench.viewer.sources import place_of

NS_PER_US = 1000.0
CONTEXT_LINES = 6
"""Lines that are shown before and after one that took time."""
LINES_MAX = 400
"""Of a table of source lines."""


def us(ns: float) -> str:
    """A time for people, in microseconds."""
    return f"{ns / NS_PER_US:.3f}"


def percent(part: float, whole: float) -> str:
    """A share for people."""
    return f"{100 * part / whole:.1f} %" if whole else ""


def shares(events: Events) -> str:
    """How long each engine and each queue is busy."""
    total = total_ns(events)
    lines = []
    for one in track_totals(events):
        cells = (one.title, str(one.events), us(one.busy_ns), percent(one.busy_ns, total))
        moved = "" if one.bytes is None else f"{one.bytes:,}"
        lines.append((cells, moved, bar(one.busy_ns / total if total else 0.0)))
    head = ("", "events", "busy us", "of total", "", "bytes")
    body = "".join(
        f"<tr><td>{text(name)}</td>"
        + "".join(f'<td class="n">{text(cell)}</td>' for cell in numbers)
        + f'<td>{drawn}</td><td class="n">{text(moved)}</td></tr>'
        for (name, *numbers), moved, drawn in lines
    )
    heads = "".join(f'<th scope=col class="n">{name}</th>' for name in head)
    note = "Busy: at least one of its instructions or packets runs; EVENT_SEMAPHORE, which only waits, is left out."
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div><p class="dim">{note}</p>'


def path(steps: Sequence[PathStep]) -> str:
    """What the critical path is spent on."""
    if not steps:
        return "<p>Not known: the file does not say which instruction waits for which.</p>"
    times = path_totals(steps)
    whole = sum(times.values())
    lines = [(title, us(ns), percent(ns, whole)) for title, ns in times.items()]
    return table(("", "us", "of path"), lines, (False, True, True)) + f'<p class="dim">{len(steps)} instructions.</p>'


def lines(events: Events, steps: Sequence[PathStep], texts: Mapping[str, str]) -> str:
    """Source lines by time, and the text around them with the heat of each."""
    totals = line_totals(events, steps)
    if not totals:
        return (
            "<p>The profile names no source lines. NKI kernels: set NKI_DEBUG_INFO=True before compiling; "
            "other frameworks: NEURON_FRAMEWORK_DEBUG=1.</p>"
        )
    files = "".join(_files(events, totals, texts, bool(steps)))
    none = (
        ""
        if files or not any(map(place_of, events.lines))
        else (
            '<p class="dim">The text of these files is not below the directories that were searched; neff-bench view takes --sources DIR.</p>'
        )
    )
    return _line_table(events, totals, bool(steps)) + files + none


def _line_table(events: Events, totals: Sequence[LineTotal], has_path: bool) -> str:
    """`has_path`: whether a critical path is known."""
    body = "".join(
        f'<tr data-line="{one.line}" tabindex=0><td>{text(events.lines[one.line])}</td>'
        + "".join(
            f'<td class="n">{cell}</td>'
            for cell in (*_on_path(one, has_path), us(one.own_ns), us(one.with_calls_ns), one.events)
        )
        + "</tr>"
        for one in totals[:LINES_MAX]
    )
    names = ("line or operation", *(["path us"] if has_path else []), "own us", "with calls us", "events")
    heads = "".join(f"<th scope=col>{name}</th>" for name in names)
    more = f"<p class=dim>and {len(totals) - LINES_MAX} more lines</p>" if len(totals) > LINES_MAX else ""
    return f'<div class="scroll tall"><table class="lines"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>{more}'


def _on_path(total: LineTotal, has_path: bool) -> list[str]:
    return [us(total.path_ns)] if has_path else []


def _files(events: Events, totals: Sequence[LineTotal], texts: Mapping[str, str], has_path: bool) -> Iterator[str]:
    """Each file whose text is known: its hot lines and what is around them."""
    hot: dict[str, dict[int, LineTotal]] = {}
    for one in totals:
        place = place_of(events.lines[one.line])
        if place is not None and place.file in texts:
            hot.setdefault(place.file, {})[place.number] = one
    most = max((one.with_calls_ns for one in totals), default=0.0) or 1.0
    for file, marked in hot.items():
        content = texts[file].split("\n")
        shown = sorted({
            near for number in marked for near in range(number - CONTEXT_LINES, number + CONTEXT_LINES + 1)
            if 1 <= near <= len(content)
        })  # fmt: skip
        rows, before = [], 0
        for number in shown:
            if number != before + 1:
                rows.append(f'<tr class="gap"><td colspan={3 + has_path}>…</td></tr>')
            rows.append(_source_row(number, content[number - 1], marked.get(number), most, has_path))
            before = number
        on_path = "<th scope=col>path us</th>" if has_path else ""
        heads = f"<thead><tr>{on_path}<th scope=col>with calls us</th><th scope=col>line</th><th></th></tr></thead>"
        yield f'<h4>{text(file)}</h4><div class="scroll tall"><table class="source">{heads}<tbody>{"".join(rows)}</tbody></table></div>'


def _source_row(number: int, content: str, total: LineTotal | None, most: float, has_path: bool) -> str:
    code = f"<td class=code>{text(content.expandtabs(4))}</td>"
    if total is None:
        return f'<tr>{"<td></td>" * (1 + has_path)}<td class="n">{number}</td>{code}</tr>'
    on_path = [f'<td class="n">{cell}</td>' for cell in _on_path(total, has_path)]
    heat = f"--heat:{100 * total.with_calls_ns / most:.1f}%"
    return (
        f'<tr class="hot" style="{heat}" data-line="{total.line}" tabindex=0>{"".join(on_path)}'
        f'<td class="n">{us(total.with_calls_ns)}</td><td class="n">{number}</td>{code}</tr>'
    )


def advice(found: Sequence[Advice]) -> str:
    """Findings, the largest gain first."""
    if not found:
        return "<p>No rule found anything that would save 2 % of the time.</p>"
    rows = [(one.title, one.evidence, "" if one.gain_us is None else f"{one.gain_us:.2f}", one.metric) for one in found]
    return table(("what to do", "evidence", "could save, us", "see"), rows, (False, False, True, False))


def constants(found: Sequence[Advice]) -> str:
    """What a better chip would gain: where the model says that the time goes."""
    rows = [(one.title, one.evidence, "" if one.gain_us is None else f"{one.gain_us:.2f}") for one in found]
    return table(("constant", "total", "gain us"), rows, (False, False, True))


def figures(summary: Mapping[str, object]) -> str:
    """The keys of the profiler's summary."""
    rows = [(key, str(value)) for key, value in sorted(summary.items()) if not isinstance(value, (list, dict))]
    return f"<details><summary>{len(rows)} figures of the summary</summary>{table(('key', 'value'), rows)}</details>"
