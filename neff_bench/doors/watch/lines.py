"""Writes a save as lines: for people and problem matchers, or one line of JSON."""

from __future__ import annotations

import msgspec

from neff_bench.doors.watch.session import State
from neff_bench.terminal.text import plain


def as_text(state: State) -> str:
    """Return the diagnostics as `file:line: severity: message`, then a line for each case, or why there is none."""
    said = [
        f"{one.file or 'neff-bench'}:{max(one.line, 1)}: {one.severity}: {f'{one.code}: ' if one.code else ''}{one.message}"
        for one in state.diagnostics
    ]
    was = {one.case: one.total for one in state.since_last}
    for row in () if state.broken else state.rows:
        total, low, high = (row[f"total_time_{name}us"] for name in ("", "low_", "high_"))
        if total is None:
            continue
        known = f" ({low:.0f}-{high:.0f})" if low is not None else ""
        by = f", {was[row['case']].delta_us:+.2f}" if row["case"] in was else ""
        said.append(f"{row['case']}: {total:.2f} us{known}{by}, {row['check'] or 'unchecked'}")
    said.append(f"save {state.save} at {state.at}: {'broken' if state.broken else 'done'}")
    return "\n".join(map(plain, said))


def begun(state: State) -> str:
    """Return the line that stands before those of a save."""
    return f"save {state.save} at {state.at}: looking"


def as_json(state: State) -> str:
    """Return the same for programs."""
    told = {
        "save": state.save,
        "at": state.at,
        "broken": state.broken,
        "diagnostics": state.diagnostics,
        "rows": [] if state.broken else state.rows,
        "since_last": state.since_last,
        "since_pinned": state.since_pinned,
    }
    return msgspec.json.encode(told).decode()
