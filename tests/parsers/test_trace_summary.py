"""The keys of AWS's summary that follow from a trace, and from its NEFF."""

import json
from dataclasses import replace

import numpy as np
import pytest

from neff_bench.parsers.ntff import read_ntff
from neff_bench.parsers.trace import DmaTime, EngineTime
from neff_bench.parsers.trace_summary import sizes_of, summary_of_trace


@pytest.fixture
def trace(files, write):
    """An execution of 5 us with a MATMUL, two ACTIVATEs and no packet, to which tests add figures."""
    records = [*files.instruction(0, 0, 0, 100), *files.instruction(1, 1, 0, 40), *files.instruction(1, 1, 50, 80)]
    return read_ntff(write("a.ntff", files.ntff_of(records)))


def test_what_the_trace_says_stands_under_the_keys_of_the_report(trace):
    whole = replace(
        trace,
        engines={"tensor": EngineTime(3, 2e-6, 1e-6)},
        dma=DmaTime(4, 64, 3e-6, 2e-6, 0),
        dma_kinds={"static": DmaTime(1, 16, 1e-6, 5e-7, 0)},
        total_active_time_s=2.5e-6,
        queues={(0, 0): "q", (0, 1): "r"},
    )
    assert summary_of_trace(whole) == {
        "total_time": 5e-6, "total_active_time": 2.5e-6, "total_active_time_percent": 0.5, "neuroncore_cycle_count": 6000,
        "event_count": 0, "trace_count": 3 + 0 + 4, "matmul_instruction_count": 1, "activate_instruction_count": 2,
        "activate_instruction_time": pytest.approx(70e-12), "dma_queue_count": 2, "instance_type": "trn2.3xlarge",
        "tensor_engine_instruction_count": 3, "tensor_engine_instruction_time": 2e-6, "tensor_engine_active_time": 1e-6,
        "tensor_engine_active_time_percent": pytest.approx(0.2),
        "dma_active_time": 2e-6, "dma_packet_time": 3e-6, "dma_active_time_percent": pytest.approx(0.4),
        "static_dma_packet_count": 1, "static_dma_size": 16, "static_dma_active_time": 5e-7,
        "static_dma_packet_percent": 0.25, "static_dma_size_percent": 0.25, "static_dma_active_time_percent": 0.25,
    }  # fmt: skip


def test_dynamic_packets_of_both_kinds_are_summed_and_static_ones_are_not(trace):
    kinds = {
        "static": DmaTime(1, 10, 0.0, 1e-6, 0),
        "software_dynamic": DmaTime(2, 30, 0.0, 2e-6, 0),
        "hardware_dynamic": DmaTime(5, 60, 0.0, 4e-6, 0),
    }
    keys = summary_of_trace(replace(trace, dma=DmaTime(8, 100, 0.0, 8e-6, 0), dma_kinds=kinds))
    assert [keys[f"dynamic_dma_{what}_percent"] for what in ("packet", "size", "active_time")] == pytest.approx(
        [7 / 8, 0.9, 0.75]
    )
    only = summary_of_trace(replace(trace, dma=DmaTime(1, 10, 0.0, 1e-6, 0), dma_kinds={"static": kinds["static"]}))
    assert not [key for key in only if key.startswith("dynamic")] and only["static_dma_size_percent"] == 1.0


@pytest.mark.parametrize(
    "nothing", [DmaTime(0, 10, 0.0, 1e-6, 0), DmaTime(1, 0, 0.0, 1e-6, 0), DmaTime(1, 10, 0.0, 0.0, 0)]
)
def test_there_are_no_parts_of_nothing(trace, nothing):
    keys = summary_of_trace(replace(trace, dma=nothing, dma_kinds={"static": DmaTime(0, 0, 0.0, 0.0, 0)}))
    assert not [key for key in keys if key.startswith("static") and key.endswith("percent")]
    assert "dma_active_time_percent" in keys


def test_what_is_not_known_has_no_key(trace):
    unknown = replace(
        trace, total_time_ps=None, dma=None, total_active_time_s=None, matmul_instruction_count=None,
        activate_instruction_count=None, engines={"vector": EngineTime(0, 0.0, 0.0)}, queues={},
    )  # fmt: skip
    keys = summary_of_trace(unknown)
    assert not {
        "total_time",
        "dma_active_time",
        "total_active_time",
        "activate_instruction_time",
        "dma_queue_count",
    } & {*keys}
    assert not [key for key in keys if key.endswith("percent")]
    assert keys["vector_engine_active_time"] == 0.0
    assert "activate_instruction_time" not in summary_of_trace(replace(trace, activate_instruction_count=None))


def test_an_opcode_that_another_file_names_otherwise_takes_no_time_of_activate(trace):
    names = tuple("OTHER" if name == "ACTIVATE" else name for name in trace.instructions.opcode_names)
    rows = replace(trace.instructions, opcode_names=names)
    assert "activate_instruction_time" not in summary_of_trace(replace(trace, instructions=rows))
    none = replace(trace.instructions, opcode=np.zeros_like(trace.instructions.opcode))
    assert summary_of_trace(replace(trace, instructions=none))["activate_instruction_time"] == 0.0


def neff_of(files, write, lacks=(), **variables):
    """A NEFF with inputs x (64 bytes) and y (32), and an output of 16, unless `lacks` says that one has no known size."""
    members = files.neff_members()
    graph = json.loads(members["neff.json"])
    for at, name in enumerate(("x", "y", "out")):
        if name in lacks:
            graph["attrs"]["dltype"][1][at] = "void8"
    definition = json.loads(members["sg00/def.json"])
    definition["var"] = variables
    members["neff.json"], members["sg00/def.json"] = json.dumps(graph).encode(), json.dumps(definition).encode()
    return write("file.neff", files.neff_of(members))


def test_sizes_are_those_of_tensors_and_of_files_of_weights(files, write):
    weights = {name: {"type": "file", "size": size} for name, size in (("w", 100), ("v", 20))}
    other = {"t": {"type": "tmp", "size": 7}}
    assert sizes_of(neff_of(files, write, **weights, **other)) == {
        "weight_size_bytes": 120,
        "inputs_and_weights_size_bytes": 64 + 32 + 120,
        "inputs_outputs_weights_size_bytes": 64 + 32 + 16 + 120,
    }


def test_a_tensor_of_unknown_size_leaves_its_sums_out(files, write):
    assert sizes_of(neff_of(files, write, lacks=("y",))) == {"weight_size_bytes": 0}
    assert sizes_of(neff_of(files, write, lacks=("out",))) == {
        "weight_size_bytes": 0, "inputs_and_weights_size_bytes": 96
    }  # fmt: skip


def test_a_neff_without_a_definition_has_no_weights(files, write):
    members = {name: data for name, data in files.neff_members(lnc=1).items() if name != "sg00/def.json"}
    graph = json.loads(members["kelf-0.json"])
    graph["graphs"] = []
    members["kelf-0.json"] = json.dumps(graph).encode()
    assert sizes_of(write("file.neff", files.neff_of(members, lnc=1)))["weight_size_bytes"] == 0
