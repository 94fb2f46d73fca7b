"""The critical path of a timeline."""

from neff_bench.parsers.event_rows import LinkedDmaRow, LinkedInstructionRow, Predecessor, Timeline
from neff_bench.viewer.critical_path import critical_path


def row(number, begin, duration, engine, opcode="COPY", after=()):
    return LinkedInstructionRow(
        timestamp=begin, duration=duration, subgroup=engine, opcode=opcode, id=number,
        predecessors=[Predecessor(one) for one in after],
    )  # fmt: skip


def path(rows, packets=()):
    timeline = Timeline("x", False, {}, rows, list(packets), [])
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
