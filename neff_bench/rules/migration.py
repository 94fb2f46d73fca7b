"""Says what a kernel of the old dialect (`neuronxcc.nki`) has to change for the current one, from the same rules and fixes as `check`."""

from __future__ import annotations

import ast
from typing import NamedTuple

from neff_bench.rules import RULES
from neff_bench.rules.findings import OLD_IMPORT, judged_source
from neff_bench.rules.fixes import applied, edits
from neff_bench.rules.source import Source

CODES = (
    *(code for code, rule in sorted(RULES.items()) if code[3] == "N" and rule.until is None and "O" not in rule.sure),
    *("NBLP214", "NBLP215", "NBLP216", "NBLP217", "NBLM505"),
)
"""The rules that tell the dialects apart: names and arguments that are gone for good, and what tiles do no longer."""
_STILL = tuple(code for code in CODES if RULES[code].until is None)
"""The rules that hold for a file that already imports the current dialect: it may be half way."""

NEW_IMPORT = "the same from nki"
"""What takes the place of an old import: the rule itself sends its reader to this command."""


class Use(NamedTuple):
    """One thing to change. `name`: what stands in the source; `instead`: what takes its place; `fixed`: a patch does it."""

    line: int
    name: str
    instead: str
    fixed: bool


def uses(source: Source) -> list[Use]:
    """Return what a source has to change, by line; also what a patch left of it."""
    found = set()
    for code in _codes(source):
        rule = RULES[code]
        for node, said in judged_source(rule, source):
            fixed = rule.fix is not None and any(True for _ in rule.fix(node, source))
            told = f"{ast.unparse(node)} -> {NEW_IMPORT}" if code == OLD_IMPORT else said or rule.forbids
            name, _, instead = told.partition(" -> ")
            found.add(Use(getattr(node, "lineno", 0), name, instead or rule.instead, fixed))
    return sorted(found)


def patched(source: Source) -> str:
    """Return the source with all that a patch does."""
    return applied(source, edits(source, _codes(source)))


def _codes(source: Source) -> tuple[str, ...]:
    return CODES if source.old else _STILL
