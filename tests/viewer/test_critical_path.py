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
