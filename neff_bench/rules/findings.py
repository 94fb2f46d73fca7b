"""Judges: holds rules against calls, a source or a refusal, and gives findings in plain data."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from typing import TypeAlias

import msgspec

from neff_bench.rules import RULES, Rule
from neff_bench.rules.call import Call, Kernel
from neff_bench.rules.rule import Found, Level, OfCalls, OfKernel, OfReleases, OfSource, Refusal
from neff_bench.rules.source import Source

OLD_IMPORT = "NBLN156"
"""The rule that imports of the old dialect break: it holds on all chips."""
_AWS_ERROR = re.compile(r"\berr_\w+")
"""How AWS's list names an error, in what a rule says."""
TRANSFERS = frozenset({"dma_copy", "dma_transpose", "dma_compute"})


class Finding(msgspec.Struct, frozen=True, order=True):
    """A rule that a kernel breaks. `place`: "file.py:33". `releases`: of the SDK that refuse it, oldest first."""

    place: str
    code: str
    level: Level
    text: str
    releases: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """The file of the place."""
        return self.place.rpartition(":")[0]

    @property
    def line(self) -> int:
        """The line of the place."""
        return int(self.place.rpartition(":")[2] or 0)


def of_calls(calls: Iterable[Call], target: str) -> list[Finding]:
    """Return what the recorded calls of a kernel break, once for each line and rule."""
    tests = _tests(target)
    found: dict[tuple[str, str], Finding] = {}
    for call in calls:
        for rule, test in tests.get(call.op, [] if call.op in TRANSFERS else tests[""]):
            if (said := test(call)) and (call.place, rule.code) not in found:
                found[call.place, rule.code] = _finding(rule, call.place, said if isinstance(said, str) else "")
    return sorted(found.values())


def of_kernel(kernel: Kernel, target: str) -> list[Finding]:
    """Return what a kernel breaks as a whole."""
    place = kernel.tiles[0].place if kernel.tiles else ""
    said = ((rule, test(kernel)) for rule, test in _of_whole(target))
    return sorted(_finding(rule, place, one if isinstance(one, str) else "") for rule, one in said if one)


def of_source(source: Source, target: str) -> list[Finding]:
    """Return what a source breaks. Of the old dialect that it is old, once, and the rules of that dialect alone: its own names are right there."""
    found = set(_of_old(source) if source.old else ())
    for rule in _rules(target):
        if rule.of_old != source.old:
            continue
        for node, said in judged_source(rule, source):
            found.add(_finding(rule, f"{source.path}:{getattr(node, 'lineno', 0)}", said))
    return sorted(found | (_of_releases(source, found, target) if not source.old else set()))


def _of_releases(source: Source, known: set[Finding], target: str) -> set[Finding]:
    """Return what does not fit the declarations of single releases, where no other rule of names and arguments speaks of the line."""
    told: dict[str, set[str]] = defaultdict(set)
    for one in known:
        if one.code[3] in "NC":
            told[one.place].update(one.releases)
    found = set()
    for rule in _rules(target):
        for judge in rule.judges:
            for node, said, releases in judge.find(source) if isinstance(judge, OfReleases) else ():
                place = f"{source.path}:{getattr(node, 'lineno', 0)}"
                if left := tuple(one for one in releases if one not in told[place]):
                    found.add(msgspec.structs.replace(_finding(rule, place, said), releases=left))
    return found


def _of_old(source: Source) -> list[Finding]:
    """Return one finding for all imports of the old dialect, at the first of them."""
    rule = RULES[OLD_IMPORT]
    lines = sorted(getattr(node, "lineno", 0) for node, _ in judged_source(rule, source))
    return [_finding(rule, f"{source.path}:{lines[0]}", "")] if lines else []


def judged_source(rule: Rule, source: Source) -> Iterator[tuple[ast.AST, str]]:
    """Yield the places of a source that break a rule, each with what stands there."""
    for judge in rule.judges:
        if isinstance(judge, OfSource):
            yield from judge.find(source)


def of_refusal(what: str, place: str, target: str, kind: str = "") -> Finding | None:
    """Return the rule that a refusal of the simulator stands for, if any. `kind`: the name of its exception."""
    for rule in _rules(target):
        for judge in rule.judges:
            if isinstance(judge, Refusal) and (judge.pattern.search(what) or judge.pattern.search(f"{kind}: {what}")):
                found = _finding(rule, place, what)
                return msgspec.structs.replace(found, level="error", text=what)
    return None


def refused_by(findings: Iterable[Finding], release: str) -> Finding | None:
    """Return the first finding for which a release refuses a kernel."""
    return min((one for one in findings if release in one.releases and one.level == "error"), default=None)


def once(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in order; of several for one error of AWS's list at one place, the first."""
    found: dict[tuple[str, str], Finding] = {}
    for one in sorted(findings):
        error = _AWS_ERROR.search(RULES[one.code].says)
        found.setdefault((one.place, error[0] if error else one.text), one)
    return list(found.values())


def kept(findings: Iterable[Finding], source: Source | None, codes: Collection[str]) -> list[Finding]:
    """Return the findings of some codes that no comment of their file's source allows."""
    return [one for one in findings if one.code in codes and not (source and _allowed(one, source))]


def _allowed(finding: Finding, source: Source) -> bool:
    allowed = source.ignored.get(finding.line) if finding.file == source.path else None
    return allowed is not None and (not allowed or any(finding.code.endswith(code) for code in allowed))


def _finding(rule: Rule, place: str, said: str) -> Finding:
    what = f"{said}: {rule.forbids}" if said else rule.forbids
    text = f"{what}; instead: {rule.instead}" if rule.instead else what
    return Finding(place, rule.code, rule.level, f"{text} [{rule.known_by}]", rule.releases)


def _rules(target: str) -> Iterator[Rule]:
    return (rule for rule in RULES.values() if rule.holds(target))


@cache
def _of_whole(target: str) -> list[tuple[Rule, Callable[[Kernel], Found]]]:
    return [(rule, judge.test) for rule in _rules(target) for judge in rule.judges if isinstance(judge, OfKernel)]


Tests: TypeAlias = "defaultdict[str, list[tuple[Rule, Callable[[Call], Found]]]]"
"""The tests of each operation, with their rules."""


@cache
def _tests(target: str) -> Tests:
    """Return the tests of each operation; under "" those of all that compute."""
    tests: Tests = defaultdict(list)
    for rule in _rules(target):
        for judge in rule.judges:
            if isinstance(judge, OfCalls):
                for op in judge.ops or ("",):
                    tests[op].append((rule, judge.test))
    every = tests[""]
    for op in tests:
        if op and op not in TRANSFERS:
            tests[op] += every
    return tests
