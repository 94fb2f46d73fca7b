"""Writes a rule in full, and the list of all. tools/rules.py writes the page of the documentation."""

from __future__ import annotations

from neff_bench.rules import RULES
from neff_bench.rules.rule import SOURCES, Rule
from neff_bench.sdk.release import names


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
        f"Chips: {', '.join(rule.chips) or 'all'}. Releases of the SDK: {releases_of(rule)}.",
        *([f"AWS says: {rule.says}"] if rule.says else []),
        *(f"Source: {what}{f', {where}' if where else ''}" for what, where in (SOURCES[key] for key in rule.source)),
    ]
    return "\n".join(lines)


def releases_of(rule: Rule) -> str:
    """Return the releases that refuse what breaks a rule, in words."""
    if rule.since is None and rule.until is None:
        return "all that are known"
    if rule.since == rule.until:
        return str(rule.since)
    if rule.until is None:
        return f"from {rule.since}"
    return f"up to {rule.until}" if rule.since in (None, names()[0]) else f"{rule.since} to {rule.until}"
