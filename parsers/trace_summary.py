"""Computes the keys of AWS's summary that follow from a trace, and from its NEFF."""

from __future__ import annotations

from pathlib import Path

import msgspec

from neff_bench.parsers.document import decode
from neff_bench.parsers.formats.neff import DEFINITION
from neff_bench.parsers.neff import read_members, read_neff
from neff_bench.parsers.trace import Ntff
from neff_bench.system.decoding import prepare


class _Variable(msgspec.Struct):
    type: str = ""
    size: int = 0


class _Definition(msgspec.Struct):
    var: dict[str, _Variable] = {}


prepare(_Definition)


def summary_of_trace(trace: Ntff) -> dict[str, object]:
    """Return the keys of the report that follow from the trace."""
    keys: dict[str, object] = {
        "total_time": trace.total_time_s,
        "total_active_time": trace.total_active_time_s,
        "neuroncore_cycle_count": trace.neuroncore_cycle_count,
        "event_count": trace.event_count,
        "trace_count": trace.trace_count,
        "matmul_instruction_count": trace.matmul_instruction_count,
        "activate_instruction_count": trace.activate_instruction_count,
        "dma_queue_count": len(trace.queues) or None,
        "instance_type": trace.instance_type,
    }
    for engine, time in trace.engines.items():
        keys[f"{engine}_engine_instruction_count"] = time.instruction_count
        keys[f"{engine}_engine_instruction_time"] = time.instruction_time_s
        keys[f"{engine}_engine_active_time"] = time.active_time_s
    if trace.dma is not None:
        keys |= {"dma_active_time": trace.dma.active_time_s, "dma_packet_time": trace.dma.packet_time_s}
    for kind, dma in trace.dma_kinds.items():
        keys[f"{kind}_dma_packet_count"], keys[f"{kind}_dma_size"] = dma.packets, dma.bytes
        keys[f"{kind}_dma_active_time"] = dma.active_time_s
    return {key: value for key, value in (keys | _shares(trace)).items() if value is not None}


def _shares(trace: Ntff) -> dict[str, object]:
    """Return the parts of the total time, of the DMA's active time, packets and bytes, as fractions, and what ACTIVATE takes."""
    keys: dict[str, object] = {}
    total, dma = trace.total_time_s, trace.dma
    active = {f"{engine}_engine_active_time": time.active_time_s for engine, time in trace.engines.items()}
    if trace.total_active_time_s is not None:
        active["total_active_time"] = trace.total_active_time_s
    if dma is not None:
        active["dma_active_time"] = dma.active_time_s
    if total:
        keys |= {f"{key}_percent": time / total for key, time in active.items()}
    if dma is not None and dma.packets and dma.bytes and dma.active_time_s:
        found: dict[str, tuple[float, ...]] = {
            kind: (time.packets, time.bytes, time.active_time_s) for kind, time in trace.dma_kinds.items()
        }
        dynamic = [parts for kind, parts in found.items() if kind != "static"]
        if dynamic:
            found["dynamic"] = tuple(map(sum, zip(*dynamic)))
        names = ("dma_packet_percent", "dma_size_percent", "dma_active_time_percent")
        whole = (dma.packets, dma.bytes, dma.active_time_s)
        for kind, parts in found.items():
            keys |= {f"{kind}_{name}": part / of for name, part, of in zip(names, parts, whole)}
    rows = trace.instructions
    if "ACTIVATE" in rows.opcode_names and trace.activate_instruction_count is not None:
        chosen = rows.opcode == rows.opcode_names.index("ACTIVATE")
        keys["activate_instruction_time"] = int(rows.duration_ps[chosen].sum()) / 1e12
    return keys


def sizes_of(neff: Path) -> dict[str, object]:
    """Return the sizes of the tensors, in bytes. Raises ParseError."""
    found = read_neff(neff)
    member = f"sg00/{DEFINITION}"
    definition: _Definition = decode(
        str(neff), memoryview(read_members(neff, {member}).get(member, b"{}")), _Definition
    )
    weights = sum(one.size for one in definition.var.values() if one.type == "file")
    inputs, outputs = ([tensor.bytes for tensor in tensors] for tensors in (found.inputs, found.outputs))
    keys: dict[str, object] = {"weight_size_bytes": weights}
    if None not in inputs:
        keys["inputs_and_weights_size_bytes"] = sum(filter(None, inputs)) + weights
        if None not in outputs:
            keys["inputs_outputs_weights_size_bytes"] = sum(filter(None, [*inputs, *outputs])) + weights
    return keys
