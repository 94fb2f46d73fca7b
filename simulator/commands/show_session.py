"""`show-session`: what one trace holds, without its NEFF.

Fields: github aws-neuron/nki-library test/utils/metrics_collector.py. CycleCount is in picoseconds, as in real sessions.
"""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.files.ntff import TraceHead


def session_json(head: TraceHead) -> dict[str, Any]:
    """What `show-session --json` prints: time in ps, instructions and events of each core of a trace."""
    rows = zip(head.core_ids, head.core_ps, head.core_instructions, head.core_events, strict=True)
    graphs = [
        {"NC": core, "CycleCount": time, "TotalInstructionTraceCount": instructions, "EventsCount": events, "ErrorCount": 0}
        for core, time, instructions, events in rows
    ]  # fmt: skip
    return {"Name": head.name, "IsSimulation": True, "NeffNodes": [{"NodeInfo": {"Name": head.name, "Graphs": graphs}}]}


def session_text(head: TraceHead) -> str:
    """What `show-session` prints: a line for each core of a trace."""
    lines = [f"Model {head.name} (simulated)"]
    for graph in session_json(head)["NeffNodes"][0]["NodeInfo"]["Graphs"]:
        lines.append(
            f"  NC {graph['NC']}: {graph['CycleCount'] / 1000:.3f} ns, {graph['TotalInstructionTraceCount']} instructions,"
            f" {graph['EventsCount']} events, {graph['ErrorCount']} errors"
        )
    return "\n".join(lines) + "\n"
