"""Implements `show-session`: what one trace holds, without its NEFF. CycleCount is in picoseconds, as in real sessions."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.files.ntff import TraceHead


def session_json(head: TraceHead) -> dict[str, Any]:
    """Return what `show-session --json` prints: time in ps, instructions and events of each core of a trace."""
    rows = zip(head.core_ids, head.core_ps, head.core_instructions, head.core_events, strict=True)
    graphs = [
        {"NC": core, "CycleCount": time, "TotalInstructionTraceCount": instructions, "EventsCount": events, "ErrorCount": 0}
        for core, time, instructions, events in rows
    ]  # fmt: skip
    return {"Name": head.name, "IsSimulation": True, "NeffNodes": [{"NodeInfo": {"Name": head.name, "Graphs": graphs}}]}


HEADS = ("NODE ID", "EXEC TIME (NS)", "EXECUTOR", "NAME", "TRACE", "CYCLES", "EVENTS", "ERRORS")


def session_text(head: TraceHead) -> str:
    """Return what `show-session` prints: the table of AWS's tool, a line for each core of a trace. CYCLES are picoseconds."""
    rows = []
    for number, graph in enumerate(session_json(head)["NeffNodes"][0]["NodeInfo"]["Graphs"]):
        first = ("0", "0") if number == 0 else ("", "")
        executor = f"ND 0 NC {graph['NC']}"
        counts = (graph["TotalInstructionTraceCount"], graph["CycleCount"], graph["EventsCount"], graph["ErrorCount"])
        rows.append((*first, executor, f"sg{number:02d}", *map(str, counts)))
    widths = [max(map(len, column)) for column in zip(HEADS, *rows)]
    rule = "+".join(["", *("-" * (width + 2) for width in widths), ""])
    heads = "|".join(["", *(f" {name:^{width}} " for name, width in zip(HEADS, widths)), ""])
    lines = ["|".join(["", *(f" {cell:>{width}} " for cell, width in zip(row, widths)), ""]) for row in rows]
    return "\n".join([f"Model {head.name} (simulated)", rule, heads, rule, *lines, rule]) + "\n"
