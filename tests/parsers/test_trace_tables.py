"""The timeline of a trace: rows in order of time, in whole ns rounded down, with what the NEFF adds."""

import json

import pytest

from neff_bench.parsers.trace_tables import semaphore_names, shown, timeline_of_trace

NS = 1000


def records(*pairs):
    return [record for pair in pairs for record in pair]


@pytest.fixture
def timeline(files, write):
    """A function that makes the timeline of a trace, with or without its NEFF (one core; its queue has semaphore 8)."""

    def make(*, named=False, **parts):
        members = files.neff_members(lnc=1)
        definition = json.loads(members["sg00/def.json"])
        definition |= {"runtime_semaphore_count": 3, "dma_queue": {"qSPDynamicHW": {"semaphore_set": [8]}, "other": {}}}
        members["sg00/def.json"] = json.dumps(definition).encode()
        neff = write("file.neff", files.neff_of(members, lnc=1)) if named else None
        return timeline_of_trace(write("a.ntff", files.ntff_of(**parts)), neff)

    return make


def test_instructions_are_in_the_order_of_time_in_whole_ns_rounded_down(timeline, files):
    late, early = files.instruction(1, 1, 3 * NS + 999, 5 * NS + 1, wait=1200), files.instruction(0, 0, 1, NS, wait=6)
    found = timeline(instructions=records(late, early))
    assert [(row.timestamp, row.duration, row.evt_wait_time) for row in found.instructions] == [(0, 0, 5), (3, 1, 999)]
    assert [(row.subgroup, row.opcode, row.pc, row.subgraph) for row in found.instructions] == [
        ("Tensor", "MATMUL", 0, "sg00"), ("Scalar", "ACTIVATE", 1, "sg00")
    ]  # fmt: skip
    assert not found.simulated and found.unnamed_count is None and found.summary["total_time"] == 5e-6
    assert found.notes == ("read by neff-bench, with no profiler; exact: equal to what AWS's profiler reads",)


def test_an_instance_of_no_known_clock_waits_for_no_known_time(timeline, files):
    found = timeline(instructions=records(files.instruction(0, 0, 0, NS, wait=6)), instance="new9.large")
    assert [(row.opcode, row.evt_wait_time) for row in found.instructions] == [("MATMUL", 0)]


def test_packets_have_the_names_of_their_engine_and_queue(timeline, files):
    queues = [(64 + 3, 1, "qSPDynamicHW"), (64 + 4, 2, "qPoolDynamic"), (64 + 5, 0, "qActTable")]
    sent = [(5, 0, 8, 9 * NS), (3, 1, 512, 7 * NS), (4, 2, 64, 6 * NS), (6, 9, 16, 5 * NS)]
    packets = records(*(files.packet(engine, queue, size, begin, begin + 1999) for engine, queue, size, begin in sent))
    found = timeline(packets=packets, queues=queues, total=20 * NS).dma
    assert [(row.timestamp, row.duration, row.transfer_size, row.subgroup) for row in found] == [
        (5, 1, 16, "Q9-E70"), (6, 1, 64, "Q2-E68"), (7, 1, 512, "Q1-E67"), (9, 1, 8, "Q0-E69")
    ]  # fmt: skip
    assert [(row.queue_type, row.queue_name, row.dma_engine, row.dma_queue) for row in found] == [
        ("instruction", "", "70", "9"), ("software_dynamic", "qGpSimdDynamic", "68", "2"),
        ("hardware_dynamic", "qSyncDynamicHW", "67", "1"), ("data", "qScalarTable", "69", "0"),
    ]  # fmt: skip
    assert {(row.subgraph, row.variable) for row in found} == {("sg00", "unknown")}


def test_packets_that_the_report_leaves_out_are_left_out(timeline, files):
    packets = records(files.packet(1, 14, 64, -5, 5), files.packet(1, 14, 64, 10, 20), files.packet(2, 0, 32, 10, 20))
    assert [row.transfer_size for row in timeline(packets=packets).dma] == [32]


def test_updates_are_those_of_semaphores_by_name_where_the_neff_has_one(timeline, files):
    updates = [files.semaphore(7, 9, 4 * NS), files.semaphore(8, 2, 3 * NS + 999), files.semaphore(3, 1, 5 * NS)]
    event = files.record(0x83000000 | 1 << 26 | 0xF2 << 16 | 5, 1, files.START + NS)
    for named, names in ((False, ["8", "7", "3"]), (True, ["S[8] (qSyncDynamicHW)", "7", "S[3] (GpSimd)"])):
        found = timeline(semaphores=[event, *updates], named=named).semaphores
        assert [(row.timestamp, row.id, row.value, row.subgraph) for row in found] == [
            (time, name, value, "sg00") for time, name, value in zip((3, 4, 5), names, (2, 9, 1), strict=True)
        ]


def test_what_a_simulated_trace_holds_has_numbers_for_names(timeline, files):
    found = timeline(semaphores=[files.semaphore(8, 2, NS)], version=230, instance="trn2.sim", named=True)
    assert found.simulated and [row.id for row in found.semaphores] == ["8"]


def test_a_neff_adds_the_sizes_of_its_tensors(timeline):
    assert timeline(named=True).summary["weight_size_bytes"] == 0 and "weight_size_bytes" not in timeline().summary


def test_semaphores_are_named_for_each_core_by_the_definition_of_its_subgraph(files, write):
    members = files.neff_members()
    for core, definition in enumerate(
        (
            {"runtime_semaphore_count": 2, "dma_queue": {"qActTable": {"semaphore_set": [9, 10]}}},
            {"dma_queue": {"qPESpill": {"semaphore_set": [2]}}},
        )
    ):
        members[f"sg{core:02d}/def.json"] = json.dumps(definition).encode()
    neff = write("file.neff", files.neff_of(members))
    assert semaphore_names(neff, [4, 7]) == {
        (4, 2): "S[2] (GpSimd)", (4, 3): "S[3] (Scalar)", (4, 4): "S[4] (Tensor)", (4, 5): "S[5] (Vector)",
        (4, 9): "S[9] (qScalarTable)", (4, 10): "S[10] (qScalarTable)", (7, 2): "S[2] (qTensorSpill)",
    }  # fmt: skip
    assert {core for core, _ in semaphore_names(neff, [4, 7, 9])} == {4, 7}


@pytest.mark.parametrize(
    ("queue", "name"),
    [
        ("qSPDynamicHW", "qSyncDynamicHW"), ("qPoolIo", "qGpSimdIo"), ("qDveIo", "qVectorIo"), ("qDVEIo", "qVectorIo"),
        ("qActivationIo", "qScalarIo"), ("qActIo", "qScalarIo"), ("qPe", "qTensor"), ("SPDynamic", "SPDynamic"), ("", ""),
    ],
)  # fmt: skip
def test_a_queue_has_the_name_of_its_engine(queue, name):
    assert shown(queue) == name
