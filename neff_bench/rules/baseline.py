"""Keeps a baseline: findings that are known and not asked about again, by what stays the same when lines are added above them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from neff_bench.errors import WrongCall
from neff_bench.rules.findings import Finding
from neff_bench.rules.report import fingerprint


def write(path: Path, findings: Iterable[Finding], texts: Mapping[str, str]) -> None:
    """Leave a file with all findings."""
    known = {fingerprint(one, texts.get(one.file, "")): f"{one.code} {one.file}" for one in findings}
    path.write_text(
        json.dumps(dict(sorted(known.items(), key=lambda item: item[1])), indent=1) + "\n", encoding="utf-8"
    )


def new(path: Path, findings: Iterable[Finding], texts: Mapping[str, str]) -> list[Finding]:
    """Return the findings that a baseline does not hold. Raises WrongCall for a file that is no baseline."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(known, dict):
            raise ValueError("expected an object")
    except (OSError, ValueError, RecursionError) as error:
        raise WrongCall(f"{path}: no baseline of `neff-bench check`: {error}") from error
    return [one for one in findings if fingerprint(one, texts.get(one.file, "")) not in known]
