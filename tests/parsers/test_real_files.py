"""Real files that others published, where `../shared/data` is there: traces against the JSON that AWS's profiler made of them."""

import json
from pathlib import Path

import numpy as np
import pytest

from neff_bench.parsers.container import same_program
from neff_bench.parsers.event_tables import read_timeline
from neff_bench.parsers.formats.ntff import DMA_KINDS
from neff_bench.parsers.neff import read_neff
from neff_bench.parsers.ntff import read_ntff
from neff_bench.parsers.profile_json import read_metadata, read_profile, read_summary
from neff_bench.parsers.selfcheck import check
from neff_bench.parsers.summary import attribute
from validation.pairs import words

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "real"
NEFFS, TRACES, PROFILES = (sorted(DATA.rglob(f"*.{suffix}")) for suffix in ("neff", "ntff", "json"))

if not NEFFS:
    pytest.skip("no real files beside the repository", allow_module_level=True)


def name(path):
    return str(path.relative_to(DATA))


def report_of(trace):
    return json.loads((trace.parent / "ntff.json").read_bytes())


@pytest.mark.parametrize("path", TRACES, ids=name)
def test_figures_equal_the_report(path):
    trace, report = read_ntff(path), report_of(path)
    summary, exact = report["summary"][0], trace.version == 6
    near = 0 if exact else 1e-4
    assert trace.certainty == ("exact" if exact else "calibrated")
    assert trace.total_time_s == summary["total_time"]
    assert trace.neuroncore_cycle_count == summary["neuroncore_cycle_count"]
    for key in ("event_count", "matmul_instruction_count", "activate_instruction_count"):
        assert getattr(trace, key) == summary[key]
    assert len(trace.engines) == 5
    for engine, figures in trace.engines.items():
        assert figures.instruction_count == summary[f"{engine}_engine_instruction_count"]
        assert figures.instruction_time_s == pytest.approx(
            summary[f"{engine}_engine_instruction_time"], rel=near, abs=0
        )
        assert figures.active_time_s == pytest.approx(summary[f"{engine}_engine_active_time"], rel=near, abs=0)
    packets = [row for row in report["dma"] if row["aggregated"] == "no"]
    assert (trace.dma.packets, trace.dma.bytes) == (len(packets), sum(row["transfer_size"] for row in packets))
    assert trace.dma.packet_time_s == pytest.approx(summary["dma_packet_time"], rel=near, abs=0)
    assert trace.dma.active_time_s == pytest.approx(summary["dma_active_time"], rel=0 if exact else 2e-4, abs=0)


@pytest.mark.parametrize("path", TRACES, ids=name)
def test_what_follows_from_a_trace_equals_the_report(path):
    trace, summary = read_ntff(path), report_of(path)["summary"][0]
    exact = trace.version == 6
    assert len(trace.queues) == summary["dma_queue_count"]
    assert trace.total_active_time_s == (summary["total_active_time"] if exact else None)
    assert trace.trace_count == (summary["trace_count"] if exact else None)
    for kind in DMA_KINDS:
        ours = trace.dma_kinds.get(kind)
        assert (ours.packets if ours else 0) == summary.get(f"{kind}_dma_packet_count", 0)
        assert (ours.bytes if ours else 0) == summary.get(f"{kind}_dma_size", 0)
        if ours:
            stated = summary[f"{kind}_dma_active_time"]
            assert ours.active_time_s == pytest.approx(stated, rel=0 if exact else 5e-3, abs=0)


@pytest.mark.parametrize("path", TRACES, ids=name)
def test_rows_equal_the_report(path):
    trace, report = read_ntff(path), report_of(path)
    slack_ns = 0 if trace.version == 6 else 1
    updates = trace.semaphores
    ours = sorted(zip((updates.time_ps[~updates.event] // 1000).tolist(), updates.value[~updates.event].tolist()))
    theirs = sorted((row["timestamp"], row["value"]) for row in report["semaphore_update"])
    assert [value for _, value in ours] == [value for _, value in theirs]
    assert max(abs(one[0] - other[0]) for one, other in zip(ours, theirs)) <= slack_ns
    rows = trace.instructions
    engine_names = ("Tensor", "Scalar", "GpSimd", "Vector", "Sync")
    key = [
        (engine_names[engine], pc, rows.opcode_names[opcode], begin // 1000)
        for engine, pc, opcode, begin in zip(
            rows.engine.tolist(), rows.pc.tolist(), rows.opcode.tolist(), rows.begin_ps.tolist()
        )
    ]
    theirs_by = [(row["subgroup"], row["pc"], row["opcode"], row["timestamp"]) for row in report["instruction"]]
    ours_sorted, theirs_sorted = sorted(key), sorted(theirs_by)
    assert [one[:3] for one in ours_sorted] == [other[:3] for other in theirs_sorted]
    assert max(abs(one[3] - other[3]) for one, other in zip(ours_sorted, theirs_sorted)) <= slack_ns
    waits = sorted(rows.wait_ns.tolist())
    assert np.abs(np.array(waits) - sorted(row["evt_wait_time"] for row in report["instruction"])).max() <= 1


@pytest.mark.parametrize("path", [path for path in TRACES if list(path.parent.glob("*.neff"))], ids=name)
def test_the_timeline_of_a_trace_with_its_neff_equals_that_of_the_report(path):
    ours = read_timeline(path, next(path.parent.glob("*.neff")))
    theirs = read_timeline(path.parent / "ntff.json")

    def instructions(timeline):
        return sorted(
            (row.subgraph, row.subgroup, row.pc, row.opcode, row.timestamp, row.duration, row.bir_instruction_name)
            for row in timeline.instructions
        )

    def packets(timeline):
        return sorted(
            (row.dma_engine, row.dma_queue, row.queue_type, row.transfer_size, row.timestamp, row.duration)
            for row in timeline.dma
        )

    def updates(timeline):
        return sorted((row.subgraph, row.id, row.timestamp, row.value) for row in timeline.semaphores)

    assert instructions(ours) == instructions(theirs)
    assert packets(ours) == packets(theirs)
    assert updates(ours) == updates(theirs)
    assert all(theirs.summary[key] == value for key, value in ours.summary.items())


@pytest.mark.parametrize("path", TRACES, ids=name)
def test_operands_equal_the_report(path):
    neff = next(path.parent.glob("*.neff"), None)
    ours, report = read_timeline(path, neff), report_of(path)["instruction"]
    named = neff is not None
    mine = sorted((row.subgroup, row.pc, words(row.operands, named)) for row in ours.instructions)
    assert mine == sorted((row["subgroup"], row["pc"], words(row["operands"], named)) for row in report)


@pytest.mark.parametrize("path", TRACES, ids=name)
def test_traces_carry_the_uuid_of_their_program(path):
    trace, header = read_ntff(path), report_of(path)["neff_header"][0]
    assert same_program(trace.uuid, header["uuid"])
    for neff in path.parent.glob("*.neff"):
        assert read_neff(neff).uuid == header["uuid"]


@pytest.mark.parametrize("path", PROFILES, ids=name)
def test_summaries_are_read_whole_and_agree_with_their_counters(path):
    report, summary = json.loads(path.read_bytes()), read_summary(path)
    assert not summary.unknown and summary.is_simulation is False
    for key, value in report["summary"][0].items():
        stated = summary.throttle[attribute(key)] if key.startswith("throttle_") else getattr(summary, attribute(key))
        assert stated == value
    checks = check(summary, read_metadata(path)[0])
    assert len(checks) >= 25 and [one for one in checks if not one.agrees] == []


@pytest.mark.parametrize("path", PROFILES, ids=name)
def test_events_of_a_profile_and_of_its_trace_are_the_same(path):
    profile = read_profile(path)
    trace = read_ntff(next(path.parent.glob("*.ntff")))
    assert len(profile.instructions.pc) == len(trace.instructions.pc)
    assert sorted(profile.instructions.engine.tolist()) == sorted(trace.instructions.engine.tolist())
    reported = profile.dma_packets.reported
    assert profile.dma_packets.bytes[reported].sum() == trace.dma.bytes
    ours = trace.dma_packets.engine[trace.dma_packets.reported] + 16 * trace.dma_packets.core[
        trace.dma_packets.reported
    ].astype(int)
    theirs = profile.dma_packets.engine[reported] + 16 * profile.dma_packets.core[reported].astype(int)
    assert sorted(ours.tolist()) == sorted(theirs.tolist())


@pytest.mark.parametrize("path", NEFFS, ids=name)
def test_neffs_tell_tensors_target_and_compiler(path):
    neff = read_neff(path)
    assert (neff.target, neff.lnc, neff.compiler_version) == ("trn2", 2, "2.23.6484.0+3b612583")
    assert (
        neff.inputs and len(neff.outputs) == 1 and set(neff.engines) == {"tensor", "scalar", "gpsimd", "vector", "sync"}
    )
    for tensor in (*neff.inputs, *neff.outputs):
        assert tensor.bytes == np.prod(tensor.shape) * {"float32": 4, "float16": 2, "bfloat16": 2}[tensor.dtype]
    if neff.hlo_mac_count:
        (m, k), (_, n) = (tensor.shape for tensor in neff.inputs)
        assert neff.hlo_mac_count == m * k * n
