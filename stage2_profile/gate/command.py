"""Says what `neff-bench gate` does once its options are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from neff_bench.errors import DONE, FAILED, WrongCall
from neff_bench.stage2_profile.compare import baseline as baselines
from neff_bench.stage2_profile.compare.baseline import Rows, load
from neff_bench.stage2_profile.compare.command import check_common
from neff_bench.stage2_profile.compare.comparison import pair_rows
from neff_bench.stage2_profile.compare.verdict import Judged, Pairing, first_failure, judge
from neff_bench.stage2_profile.gate.asked import GateOptions
from neff_bench.stage2_profile.gate.config import read_config
from neff_bench.stage2_profile.gate.lines import Change, Line, changed_lines, lines_of
from neff_bench.stage2_profile.gate.report import answer
from neff_bench.stage2_profile.metrics.exactness import exact_part
from neff_bench.terminal.answer import many
from neff_bench.terminal.output import write_answer
from neff_bench.terminal.streams import error, notice

NOT_COVERED = "not covered: "


def run_gate(options: GateOptions) -> int:
    """Judge, print, take over what got better; returns the exit code. Raises `WrongCall`."""
    before, config, format_ = options.before, read_config(options.config), options.format
    if options.update and before.is_dir():
        raise WrongCall(f"--update: {before} is a store; name a file, which becomes the baseline")
    newer = load(options.after)
    older = Rows(str(before), []) if options.update and not before.exists() else load(before)
    pairing = pair_rows(older, newer, False)
    if older.records:
        check_common(pairing, older.name, newer.name)
    judged = judge(pairing, config)
    moved = [each.case for each in judged if each.verdict in ("worse", "better")]
    lines = _changes(pairing, list(dict.fromkeys(moved)), older, newer)
    new = [str(row["case"]) for row in pairing.only_b]
    notes = [*_not_covered(options.changed), *_simulated(newer.records)]
    write_answer(answer(judged, lines, new, notes, "Kernel gate"), format_, options.output)
    if options.update:
        _take_over(before, older, newer, judged)
    worse = first_failure(judged)
    if worse is not None:
        error(worse)
    return DONE if worse is None else FAILED


def _changes(pairing: Pairing, moved: Sequence[str], older: Rows, newer: Rows) -> dict[str, Sequence[Change] | str]:
    """Return for each case that moved its changed lines, or why they are not known."""
    named = {str(pair.b["case"]): str(pair.a["case"]) for pair in pairing.pairs if pair.b["case"] in moved}
    was, now = _lines(older, list(named.values())), _lines(newer, list(named))
    found: dict[str, Sequence[Change] | str] = {}
    for case, former in named.items():
        a, b = was.get(former, f"{older.name} keeps none"), now.get(case, f"{newer.name} keeps none")
        found[case] = a if isinstance(a, str) else b if isinstance(b, str) else changed_lines(a, b)
    return found


def _lines(rows: Rows, cases: Sequence[str]) -> Mapping[str, Any]:
    path = Path(rows.name)
    if path.is_dir():
        return lines_of(path, cases)
    try:
        return {case: msgspec.convert(rows.lines[case], tuple[Line, ...]) for case in cases if case in rows.lines}
    except msgspec.ValidationError as wrong:
        raise WrongCall(f"{path}: lines: {wrong}") from None


def _take_over(before: Path, older: Rows, newer: Rows, judged: Sequence[Judged]) -> None:
    """Write the baseline again: what got better and what is new comes from the newer side, everything else stays."""
    worse = {each.case for each in judged if each.fails}
    better = {each.case for each in judged if each.verdict == "better"} - worse
    known = {str(row["case"]): row for row in older.records}
    taken = {
        str(row["case"]): row
        for row in newer.records
        if row["case"] in better or (row["case"] not in known and row.get("status") == "profiled")
    }
    if not taken:
        notice(f"{before}: nothing got better, so the baseline stays as it is")
        return
    lines = {case: found for case, found in _lines(newer, list(taken)).items() if not isinstance(found, str)}
    baselines.save(before, list({**known, **taken}.values()), {**older.lines, **lines})
    notice(f"{before}: {many(len(taken), 'case')} written to the baseline")


def _not_covered(changed: Path | None) -> list[str]:
    if changed is None:
        return []
    try:
        said = changed.read_text(encoding="utf-8").splitlines()
    except OSError as wrong:
        raise WrongCall(f"--changed {changed}: cannot read it: {wrong.strerror}") from None
    names = [line.removeprefix(NOT_COVERED) for line in said if line.startswith(NOT_COVERED)]
    return [f"NOT COVERED: {name}: it changed, no case builds it, and nothing below speaks for it." for name in names]


def _simulated(records: Sequence[Mapping[str, Any]]) -> list[str]:
    simulated = [row for row in records if row.get("source") == "simulated"]
    models = sorted({str(row.get("model") or "model not recorded") for row in simulated})
    exact = exact_part({row.get("time_error") for row in simulated})
    said = f"SIMULATED by neuron-sim ({', '.join(models)}): {exact}, times are estimates. Whether hardware has both in the same order: neff-bench explain SURE."
    return [said] if models else []
