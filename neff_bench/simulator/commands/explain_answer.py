"""Writes an explanation as an answer: JSON for programs, one table for each of its parts for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from neff_bench.simulator.commands.explain import Explanation, explain
from neff_bench.simulator.commands.view import Profile
from neff_bench.simulator.files.in_process import shown, with_sensitivities
from neff_bench.simulator.timing.counters import summarise
from neff_bench.simulator.timing.sensitivity import INSTRUCTIONS_MAX
from neff_bench.terminal.answer import Answer, Column, Grid
from neff_bench.viewer.advice import Advice, advise, held_up, sensitivity
from neff_bench.viewer.critical_path import BOUNDS, critical_path

FIELDS = ("part", "what", "core", "engine", "waits_for", "time_us", "engine_time_us", "gain_us", "evidence")


class Findings(NamedTuple):
    """Advice by gain, the largest first. `sensitivity` is empty for a program that it would take long for. `held_up`: how little it
    saves to mend the bound alone; empty where it saves more."""

    advice: tuple[Advice, ...]
    sensitivity: tuple[Advice, ...]
    held_up: str


def explained(profile: Profile, neff_name: str) -> tuple[Explanation, Findings]:
    """Return where the time of a profile goes, and the same advice that `neff-bench view` and the pages give."""
    program, schedule = profile.neff.program, profile.schedule
    keys = summarise(program, schedule, profile.timeline, profile.core_ids)
    timeline = with_sensitivities(shown(neff_name, program, schedule, profile.timeline, keys), program, schedule)
    path = critical_path(timeline)
    findings = Findings(advise(timeline, path), sensitivity(timeline), held_up(timeline, path))
    return explain(program, schedule, timeline, path), findings


def answer(explanation: Explanation, changed: dict[str, float], findings: Findings, lines: int) -> Answer:
    """Return the report. `changed`: what-if constant -> total in microseconds with it. `lines`: rows of each table, the longest times first."""
    head = [
        f"simulated: {round(explanation.total_us, 3):.1f} us in all, {explanation.fixed_us:.1f} us of it before and after the kernel",
        f"bound by {explanation.bound_by}",
    ]
    if explanation.path_us:
        times = explanation.path_us.values()
        head[1] += f", {100 * max(times) / sum(times):.0f} % of the critical path"
    if findings.held_up:
        head.append(findings.held_up)
    if explanation.unlike:
        head.append(f"widest range (*): {explanation.unlike}")
    if explanation.uncompared:
        head.append(f"never compared with hardware: {', '.join(explanation.uncompared)}")
    if not findings.sensitivity:
        head.append(
            f"what each constant would gain is worked out for programs of up to {INSTRUCTIONS_MAX} instructions"
        )
    grids = [
        Grid((), (), head),
        _grid(
            "critical path: the chain of work and waits that the kernel's time consists of (words: neff-bench explain WORD)",
            ("", "us", "%"),
            _path(explanation),
        ),
        _grid(
            "waits: how long each engine had nothing to do, and what it waited for",
            ("core", "engine", "waits for", "us"),
            list(_waits(explanation))[:lines],
        ),
        _grid(
            f"{_WHOSE[explanation.from_hlo]}. critical path: of DMAs that move at the same time, only the one that ends last is on it; engine time: work of engines, without what DMAs move",
            ("source", "critical path us", "engine time us"),
            list(_lines(explanation))[:lines],
        ),
        _grid(
            "what if: the total time with what --what-if changes", ("change", "us", "%"), _what_if(explanation, changed)
        ),
        advice_grid(findings.advice, explanation.from_hlo),
        _grid(
            "what if the chip were better: each of its constants by a factor of two (neff-bench explain CONSTANT says what it is)",
            ("constant", "saves us", "total time"),
            list(_advice(findings.sensitivity))[:lines],
        ),
    ]
    said = [grid for grid in grids if grid.lines or grid.notes]
    return Answer(
        list(_records(explanation, changed, findings)), FIELDS, said, explanation_json(explanation, changed, findings)
    )


_WHOSE = {
    False: "lines of your source",
    True: "operations of the HLO that jax made of your function, by their results (%mul.1 is a multiplication)",
}
"""What the lines of a program are, by whether it comes from HLO."""


_ADVICE = {
    False: "advice",
    True: "advice for an NKI kernel in the place of this program, which the simulator's compiler wrote",
}
"""Who can follow the advice, by whether a program comes from HLO."""


def advice_grid(found: Sequence[Advice], from_hlo: bool) -> Grid:
    """Return the table of advice."""
    if not found:
        return Grid((), (), ["no rule found anything that would save 2 % of the time"], title="advice")
    return _grid(
        f"{_ADVICE[from_hlo]}, the largest gain first; gain: a guess of what the edit saves; it can save more, less, or cost time",
        ("do", "gain us", "why"),
        _advice(found),
    )


def _grid(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Grid:
    numbers = ("us", "%", "critical path us", "engine time us", "gain us", "saves us")
    wraps = ("source", "do", "why", "total time")
    return Grid([Column(head, head in numbers, head in wraps) for head in heads], list(rows), title=title)


def _path(explanation: Explanation) -> Iterable[tuple[str, ...]]:
    whole_us = sum(explanation.path_us.values())
    for what, us in explanation.path_us.items():
        yield BOUNDS[what], f"{us:.1f}", f"{100 * us / whole_us:.1f}"


def _waits(explanation: Explanation) -> Iterable[tuple[str, ...]]:
    for (core, engine, whom), us in explanation.waits_us.items():
        yield str(core), engine, whom, f"{us:.1f}"


def _lines(explanation: Explanation) -> Iterable[tuple[str, ...]]:
    for source, path, busy in explanation.lines:
        yield source or "unknown", f"{path:.1f}", f"{busy:.1f}"


def _what_if(explanation: Explanation, changed: dict[str, float]) -> Iterable[tuple[str, ...]]:
    for change, us in changed.items():
        yield change, f"{us:.1f}", f"{100 * (us / explanation.total_us - 1):+.1f}"


def _advice(findings: Iterable[Advice]) -> Iterable[tuple[str, ...]]:
    for one in findings:
        yield one.title, "" if one.gain_us is None else f"{one.gain_us:.1f}", one.evidence


def _records(explanation: Explanation, changed: dict[str, float], findings: Findings) -> Iterable[dict[str, Any]]:
    yield {"part": "total", "what": explanation.bound_by, "time_us": explanation.total_us}
    for named in explanation.uncompared:
        yield {"part": "never compared", "what": named}
    for what, us in explanation.path_us.items():
        yield {"part": "critical path", "what": BOUNDS[what], "time_us": us}
    for (core, engine, whom), us in explanation.waits_us.items():
        yield {"part": "wait", "core": core, "engine": engine, "waits_for": whom, "time_us": us}
    for source, path, busy in explanation.lines:
        yield {"part": "line", "what": source, "time_us": path, "engine_time_us": busy}
    for change, us in changed.items():
        yield {"part": "what if", "what": change, "time_us": us}
    for part, found in (("advice", findings.advice), ("constant", findings.sensitivity)):
        for one in found:
            yield {"part": part, "what": one.title, "gain_us": one.gain_us, "evidence": one.evidence}


def explanation_json(explanation: Explanation, changed: dict[str, float], findings: Findings) -> dict[str, Any]:
    """Return the report. `changed`: what-if constant -> total in microseconds with it."""
    return {
        "is_simulation": True,
        "total_time_us": explanation.total_us,
        "fixed_overhead_us": explanation.fixed_us,
        "bound_by": explanation.bound_by,
        "held_up": findings.held_up,
        "uncompared_operations": list(explanation.uncompared),
        "critical_path_us": explanation.path_us,
        "waits_us": [
            {"core": core, "engine": engine, "waits_for": whom, "time_us": us}
            for (core, engine, whom), us in explanation.waits_us.items()
        ],
        "lines": [
            {"source": source, "critical_path_us": path, "engine_time_us": busy}
            for source, path, busy in explanation.lines
        ],
        "what_if": [{"change": change, "total_time_us": us} for change, us in changed.items()],
        "advice": [asdict(one) for one in findings.advice],
        "sensitivity": [asdict(one) for one in findings.sensitivity],
    }
