"""Writes a rule in full, the list of all, and the page of the documentation."""

from __future__ import annotations

from neff_bench.rules import RULES
from neff_bench.rules.error_codes import ERROR_CODES
from neff_bench.rules.rule import SOURCES, Rule
from neff_bench.rules.unjudged import UNJUDGED
from neff_bench.sdk.release import names

_FAMILIES = {
    "N": "Names and arguments",
    "B": "The old dialect",
    "P": "Python forms inside a kernel",
    "D": "Element types",
    "S": "Shapes, sizes and indices",
    "M": "Memories",
    "E": "Operators, engines and chips",
    "X": "DMA and transfers",
    "L": "Launches",
    "C": "Collectives",
    "K": "Libraries",
}


def address(code: str) -> str | None:
    """Return where the first source of a rule that is a page can be read; None for a rule that is known from measuring alone."""
    return next(
        (where for _, where in (SOURCES[key] for key in RULES[code].source) if where.startswith("https://")), None
    )


def listed() -> list[str]:
    """Return one line for each rule."""
    return [f"{code} {rule.level:7} {rule.forbids}" for code, rule in sorted(RULES.items())]


def explained(code: str) -> str:
    """Return a rule in full."""
    rule = RULES[code]
    lines = [
        f"{code}: {rule.forbids}.",
        f"Instead: {rule.instead}.",
        f"Level: {rule.level} ({rule.known_by}).",
        f"Chips: {', '.join(rule.chips) or 'all'}. Releases of the SDK: {_releases(rule)}.",
        *([f"AWS says: {rule.says}"] if rule.says else []),
        *(f"Source: {what}{f', {where}' if where else ''}" for what, where in (SOURCES[key] for key in rule.source)),
    ]
    return "\n".join(lines)


def page() -> str:
    """docs/rules.md."""
    lines = [
        "# Rules of AWS's compiler",
        "",
        f"`neff-bench check` knows {len(RULES)} rules. This page is made from their declarations by `python -m neff_bench.rules`.",
        "",
        "An *error* has public words of AWS (a page, a declaration, the source of its parser, or a message of its compiler that somebody published)",
        "and was refused by a tool of AWS. A *warning* has one of the two. A *note* is deprecated, inferred, or done by AWS's own library or another",
        "kernel that ran on a device. A kernel that breaks no rule may still be refused.",
    ]
    for letter, title in _FAMILIES.items():
        lines += ["", f"## {title}"]
        for code, rule in sorted(RULES.items()):
            if code[3] == letter:
                lines += ["", *_section(rule)]
    lines += [
        "",
        "## Without a judge",
        "",
        "AWS refuses these too, or is said to. `neff-bench check` does not find them.",
        "",
    ]
    lines += [f"- {code}: {what}. Why: {why}." for code, (what, why) in sorted(UNJUDGED.items())]
    lines += ["", "## Error codes of AWS's compiler", "", "| code | rule, or why none |", "|---|---|"]
    lines += [f"| NCC_{code} | {_linked(said)} |" for code, said in sorted(ERROR_CODES.items())]
    return "\n".join(lines) + "\n"


def _linked(said: str) -> str:
    return f"[{said}](#{said.lower()})" if said in RULES else said


def _section(rule: Rule) -> list[str]:
    sources = ", ".join(
        f"[{what}]({where})" if where else what for what, where in (SOURCES[key] for key in rule.source)
    )
    return [
        f'### <a id="{rule.code.lower()}"></a>{rule.code}',
        "",
        f"{rule.forbids[0].upper()}{rule.forbids[1:]}. Instead: {rule.instead}.",
        "",
        f"{rule.level.capitalize()} ({rule.known_by}). Chips: {', '.join(rule.chips) or 'all'}. SDK: {_releases(rule)}. Source: {sources}.",
        *([f"AWS says: `{rule.says}`."] if rule.says else []),
    ]


def _releases(rule: Rule) -> str:
    if rule.since is None and rule.until is None:
        return "all that are known"
    if rule.since == rule.until:
        return str(rule.since)
    if rule.until is None:
        return f"from {rule.since}"
    return f"up to {rule.until}" if rule.since in (None, names()[0]) else f"{rule.since} to {rule.until}"
