"""The critical path of a timeline."""

from collections import Counter

import pytest

from neff_bench.doors.estimation import record_kernel, simulated
from neff_bench.parsers.event_rows import LinkedDmaRow, LinkedInstructionRow, Predecessor, Timeline
from neff_bench.simulator.commands.explain import critical_path as simulated_path
from neff_bench.simulator.files.in_process import shown
from neff_bench.viewer.critical_path import DMA, critical_path


def row(number, begin, duration, engine, opcode="COPY", after=()):
    return LinkedInstructionRow(
        timestamp=begin, duration=duration, subgroup=engine, opcode=opcode, id=number,
        predecessors=[Predecessor(one) for one in after],
    )  # fmt: skip


def path(rows, packets=(), instance=""):
    timeline = Timeline("x", False, {"instance_type": instance}, rows, list(packets), [])
    return [(rows[step.index].id, step.begin_ns, step.end_ns, step.spent_on) for step in critical_path(timeline)]


def test_it_follows_what_was_done_last_signal_or_engine():
    rows = [
        row(1, 0, 10, "Vector"),
        row(2, 0, 30, "Scalar"),
        row(3, 30, 5, "Vector", after=[1, 2]),
        row(4, 34, 9, "Vector", after=[2]),
    ]
    assert path(rows) == [(2, 0, 30, "Scalar"), (3, 30, 34, "Vector"), (4, 34, 43, "Vector")]


def test_a_dma_lasts_until_its_last_packet():
    rows = [row(1, 0, 10, "Sync", "DMA_DIRECT2D"), row(2, 90, 10, "Tensor", "MATMUL", after=[1])]
    packets = [LinkedDmaRow(20, 60, 512, trigger=1), LinkedDmaRow(20, 5, 512, trigger=1)]
    assert path(rows, packets) == [(1, 0, 90, "DMA"), (2, 90, 100, "Tensor")]


def test_where_packets_are_not_known_a_long_wait_was_for_the_dma():
    rows = [
        row(1, 0, 10, "Sync", "DMA_DIRECT2D"),
        row(2, 0, 50, "Tensor", "MATMUL"),
        row(3, 900, 10, "Tensor", "MATMUL", after=[1]),
    ]
    assert path(rows) == [(1, 0, 900, "DMA"), (3, 900, 910, "Tensor")]
    rows[2] = row(3, 100, 10, "Tensor", "MATMUL", after=[1])
    assert path(rows)[0] == (2, 0, 100, "Tensor")


def test_a_timeline_that_tells_no_dependences_has_none():
    assert path([row(1, 0, 10, "Vector")]) == []


def test_a_wait_of_200_ns_is_still_a_signal():
    rows = [
        row(1, 0, 10, "Sync", "DMA_DIRECT2D"),
        row(2, 0, 50, "Tensor", "MATMUL"),
        row(3, 250, 10, "Tensor", "MATMUL", after=[1]),
    ]
    assert path(rows)[0] == (2, 0, 250, "Tensor")
    rows[2] = row(3, 251, 10, "Tensor", "MATMUL", after=[1])
    assert path(rows)[0] == (1, 0, 251, "DMA")


def test_of_several_dmas_whose_packets_are_not_known_the_last_that_began_was_waited_for():
    rows = [
        row(1, 0, 10, "Sync", "DMA_DIRECT2D"),
        row(2, 20, 10, "Scalar", "DMA_DIRECT2D"),
        row(3, 900, 10, "Tensor", "MATMUL", after=[1, 2]),
    ]
    assert path(rows) == [(2, 20, 900, "DMA"), (3, 900, 910, "Tensor")]


def test_what_is_done_after_a_row_began_is_not_what_it_waited_for():
    rows = [row(1, 0, 10, "Vector"), row(2, 0, 21, "Scalar"), row(3, 20, 5, "Vector", after=[1, 2])]
    assert path(rows) == [(1, 0, 20, "Vector"), (3, 20, 25, "Vector")]
    rows[1] = row(2, 0, 20, "Scalar")
    assert path(rows) == [(2, 0, 20, "Scalar"), (3, 20, 25, "Vector")]


def test_an_engine_takes_its_next_instruction_before_the_last_is_done():
    rows = [row(1, 0, 30, "Vector"), row(2, 0, 12, "Scalar"), row(3, 20, 15, "Vector", after=[2])]
    assert path(rows) == [(1, 0, 20, "Vector"), (3, 20, 35, "Vector")]


def test_the_path_is_of_work_and_ends_with_the_packets_of_the_last_dma():
    rows = [
        row(1, 0, 10, "Vector", "EVENT_SEMAPHORE"),
        row(2, 10, 5, "Vector", after=[1]),
        row(3, 15, 5, "Sync", "DMA_DIRECT2D", after=[2]),
        row(4, 900, 10, "Sync", "DRAIN", after=[3]),
    ]
    packets = [LinkedDmaRow(30, 10, 512, trigger=3), LinkedDmaRow(50, 900, 512, trigger=-1)]
    assert path(rows, packets) == [(2, 10, 15, "Vector"), (3, 15, 40, "DMA")]


def test_engines_of_two_cores_are_two():
    rows = [row(1, 0, 10, "Vector"), row(2, 5, 20, "Vector"), row(3, 30, 10, "Vector", after=[1])]
    rows[1].subgraph = "sg01"
    assert path(rows) == [(1, 0, 30, "Vector"), (3, 30, 40, "Vector")]


def test_what_began_with_a_row_is_not_before_it():
    rows = [row(1, 0, 10, "Vector"), row(2, 10, 0, "Scalar"), row(3, 10, 5, "Vector", after=[2])]
    assert path(rows) == [(1, 0, 10, "Vector"), (3, 10, 15, "Vector")]


def test_an_engine_that_waits_for_its_own_dma_waits_for_the_packets():
    rows = [row(1, 0, 10, "Scalar", "DMA_DIRECT2D"), row(2, 95, 10, "Scalar", after=[1])]
    assert path(rows, [LinkedDmaRow(20, 60, 512, trigger=1)])[0] == (1, 0, 95, "DMA")
    rows[1].predecessors = []
    rows[0].predecessors = [Predecessor(2)]
    assert path(rows, [LinkedDmaRow(20, 60, 512, trigger=1)])[0] == (1, 0, 95, "Scalar")


def test_a_dma_is_known_to_be_done_later_than_its_last_packet():
    rows = [
        row(1, 0, 10, "Sync", "DMA_DIRECT2D"),
        row(2, 0, 50, "Scalar"),
        row(3, 500, 10, "Vector", after=[1, 2]),
    ]
    packets = [LinkedDmaRow(20, 20, 512, trigger=1)]  # the last one ends before the instruction of Scalar
    assert path(rows, packets)[0] == (2, 0, 500, "Scalar")
    assert path(rows, packets, "inf2.xlarge")[0] == (1, 0, 500, "DMA")


def test_a_write_with_packets_is_a_dma():
    rows = [row(1, 0, 10, "Sync", "WRITE"), row(2, 0, 50, "Scalar"), row(3, 90, 10, "Vector", after=[1, 2])]
    assert path(rows, [LinkedDmaRow(20, 60, 512, trigger=1)])[0] == (1, 0, 90, "DMA")


KERNELS = "neff_bench.stage1_generate.kernels."


@pytest.mark.parametrize("target, lnc", [("trn2", 1), ("trn2", 2), ("inf2", 1)])
@pytest.mark.parametrize("kernel, implementation", [("matmul_nki:matmul", "nki"), ("matmul_xla:matmul", "xla")])
def test_the_path_of_a_simulated_timeline_is_the_one_that_explain_tells(target, lnc, kernel, implementation):
    inputs = {"lhs": ((256, 1024), "bfloat16"), "rhs": ((1024, 512), "bfloat16")}
    program = record_kernel(KERNELS + kernel, inputs, target, lnc, {}, implementation)
    timed = simulated(program)
    exact, shown_us = Counter(), Counter()
    for segment in simulated_path(timed.schedule):
        code = timed.schedule.cores[segment.core].code
        waits = code.transfer[segment.index] >= 0 and segment.what != "issue"
        exact["waits for DMA" if waits else "engines"] += segment.end_ns - segment.start_ns
    for step in critical_path(shown("x", program, timed.schedule, timed.timeline, timed.keys)):
        shown_us["waits for DMA" if step.spent_on == DMA else "engines"] += step.end_ns - step.begin_ns
    assert shown_us["waits for DMA"] == pytest.approx(exact["waits for DMA"], abs=100)
    assert shown_us["engines"] == pytest.approx(
        exact["engines"], abs=500
    )  # and what the runtime does before the kernel
