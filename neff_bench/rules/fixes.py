"""Makes fixes: what takes the place of a piece of a source. Only those are here that keep what a kernel computes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from neff_bench.rules import RULES
from neff_bench.rules.findings import judged_source
from neff_bench.rules.source import Source


class Edit(NamedTuple):
    """The bytes from `start` to `end` of a file become `text`."""

    start: int
    end: int
    text: str


def edits(source: Source, codes: Iterable[str]) -> list[Edit]:
    """Return what the fixes of some rules change in a source, from its end to its beginning."""
    lines = source.text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def at(line: int, column: int) -> int:
        return starts[line - 1] + column

    found = set()
    for code in codes:
        rule = RULES[code]
        for node, _ in judged_source(rule, source) if rule.fix else ():
            found |= {Edit(at(*begin), at(*end), text) for begin, end, text in rule.fix(node, source)}  # type: ignore[misc]
    return sorted(found, reverse=True)


def applied(source: Source, changes: Iterable[Edit]) -> str:
    """Return the source with the changes; one that overlaps with a later one is left out."""
    data = source.text.encode()
    before = len(data) + 1
    for start, end, text in changes:
        if end <= before:
            data = data[:start] + text.encode() + data[end:]
            before = start
    return data.decode()
