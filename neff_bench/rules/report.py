"""Shows rules in full, and findings for people and programs: lines, a matrix of files and releases, JSON, annotations of GitHub, SARIF 2.1.0."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neff_bench.rules import RULES, Rule
from neff_bench.rules.findings import Finding, refused_by
from neff_bench.rules.rule import SOURCES
from neff_bench.sdk.release import names

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
REFUSES, CANNOT_TELL = "refuses it", "cannot tell"
_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}


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


def line(finding: Finding) -> str:
    """Return a finding as one line."""
    return f"{finding.place}: {finding.level} {finding.code} {finding.text}"


def verdict(findings: Iterable[Finding], untold: str, release: str) -> str:
    """Return what a release makes of a file. It never says that AWS accepts one: only the rules that are known were asked."""
    refused = refused_by(findings, release)
    if refused is not None:
        return f"{REFUSES} ({refused.code})"
    return CANNOT_TELL if untold else "no known rule broken"


MANY_INSTRUCTIONS = 100_000


def forecast(path: str, instructions: int) -> str:
    """Return what the compilation of a large kernel may cost, beside what people report; "" for a small one."""
    if instructions < MANY_INSTRUCTIONS:
        return ""
    return (
        f"{path}: {instructions:,} instructions with its loops unrolled. Large unrolled kernels took AWS's compiler hours and 40 GB"
        " (aws-neuron-sdk#1374), and it refused graphs of more than 5,000,000 (#819); nl.fori_loop is not unrolled"
    )


def matrix(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the files and chips by release. A row has `path`, `target`, `verdicts` by release, and `untold`."""
    head = ("file", "chip", *(rows[0]["verdicts"] if rows else ()), "")
    lines = [(row["path"], row["target"], *row["verdicts"].values(), _why(row)) for row in rows]
    widths = [max(len(cells[at]) for cells in (head, *lines)) for at in range(len(head) - 1)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(cells, [*widths, 0])).rstrip() for cells in (head, *lines)
    ]


def _why(row: Mapping[str, Any]) -> str:
    """Return why a release cannot tell; empty where each one can."""
    return str(row["untold"]) if CANNOT_TELL in row["verdicts"].values() else ""


def fingerprint(finding: Finding, text: str) -> str:
    """Return what stays the same when lines are added above: the code, the file and the line's own text. `text`: of the file."""
    lines = text.splitlines()
    own = lines[finding.line - 1].strip() if 0 < finding.line <= len(lines) else ""
    return hashlib.sha256(f"{finding.code}\n{finding.file}\n{own}".encode()).hexdigest()[:16]


def as_json(finding: Finding) -> dict[str, Any]:
    """Return a finding as an object."""
    rule = RULES[finding.code]
    return {
        "code": finding.code,
        "level": finding.level,
        "file": finding.file,
        "line": finding.line,
        "text": finding.text,
        "releases": list(finding.releases),
        "chips": list(rule.chips),
        "says": rule.says or None,
        "source": list(rule.source),
        "url": address(finding.code),
    }


def as_annotation(finding: Finding) -> str:
    """Return a finding as a command of a GitHub workflow."""
    text = finding.text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return f"::{_GITHUB[finding.level]} file={finding.file},line={finding.line},title={finding.code}::{text}"


def sarif(findings: Sequence[Finding], texts: Mapping[str, str], version: str) -> dict[str, Any]:
    """Return a SARIF log for GitHub's code scanning. `texts`: of the files, by name."""
    codes = sorted({one.code for one in findings})
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {"name": "neff-bench check", "version": version, "rules": [_rule(code) for code in codes]}
                },
                "results": [_result(one, codes, texts) for one in findings],
            }
        ],
    }


def _rule(code: str) -> dict[str, Any]:
    rule = RULES[code]
    return {
        "id": code,
        "shortDescription": {"text": rule.forbids},
        "fullDescription": {"text": f"{rule.forbids}. Instead: {rule.instead}."},
        "help": {"text": f"{rule.forbids}. Instead: {rule.instead}. Known by: {rule.known_by}."},
        **({"helpUri": where} if (where := address(code)) else {}),
        "defaultConfiguration": {"level": rule.level},
        "properties": {"chips": list(rule.chips) or ["all"], "releases": list(rule.releases)},
    }


def _result(finding: Finding, codes: Sequence[str], texts: Mapping[str, str]) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": finding.file.lstrip("/")}, "region": {"startLine": max(finding.line, 1)}}
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": finding.level,
        "message": {"text": finding.text},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint(finding, texts.get(finding.file, ""))},
        "properties": {"releases": list(finding.releases), "known": RULES[finding.code].known_by},
    }
