"""Which packets are of which DMA, and what they stood behind."""

import pytest

from neff_bench.parsers.event_columns import IdIndex
from neff_bench.parsers.event_rows import LinkedDmaRow, LinkedInstructionRow, Timeline
from neff_bench.viewer.packets import Packets


def packets(*rows):
    """Packets as (begin, duration, bytes, trigger, DMA engine, queue), of the instructions 10, 11 and 12."""
    instructions = [LinkedInstructionRow(0, 1, "Sync", "DMA_DIRECT2D", id=10 + at) for at in range(3)]
    moved = [
        LinkedDmaRow(begin, duration, size, trigger=trigger, dma_engine=engine, dma_queue=queue)
        for begin, duration, size, trigger, engine, queue in rows
    ]
    return Packets(Timeline("x", False, {}, instructions, moved, []), IdIndex(instructions))


def test_packets_know_the_instruction_that_started_them_and_their_times():
    found = packets((5, 3, 512, 11, "0", "a"), (7, 0, 4, -1, "0", "a"), (9, 1, 512, 77, "0", "a"))
    assert found.trigger.tolist() == [1, -1, -1]
    assert (found.begin_ns.tolist(), found.end_ns.tolist()) == ([5, 7, 9], [8, 7, 10])


@pytest.mark.parametrize(
    ("rows", "last"),
    [
        ([(5, 9, 512, 10), (6, 3, 512, 10), (7, 1, 512, 12)], [0, -1, 2]),
        ([(5, 3, 512, 10), (5, 3, 512, 10)], [1, -1, -1]),  # of several the last one
        ([(5, 3, 512, 10), (50, 3, 4, 10)], [0, -1, -1]), ([(5, 3, 512, 10), (50, 3, 5, 10)], [1, -1, -1]),
        ([(5, 3, 4, 10), (50, 3, 4, 10), (60, 3, 4, 11), (5, 3, 512, 11)], [1, 3, -1]),  # a DMA of so few bytes
        ([(5, 3, 512, -1), (5, 3, 4, -1)], [-1, -1, -1]), ([], [-1, -1, -1]),
    ],
)  # fmt: skip
def test_the_last_packet_of_a_dma_is_one_of_data_where_it_has_any(rows, last):
    assert packets(*((*row, "0", "a") for row in rows)).last(3).tolist() == last


# Instruction 10 has two packets in a row, then one behind 11; 12 is alone in its queue.
QUEUED = [
    (30, 9, 512, 11, "0", "a"), (10, 9, 512, 10, "0", "a"), (20, 9, 512, 10, "0", "a"), (40, 9, 512, 10, "0", "a"),
    (15, 9, 512, 12, "0", "b"), (16, 9, 512, 12, "1", "a"), (50, 9, 512, -1, "1", "a"), (60, 9, 512, -1, "1", "a"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("packet", "begin", "before"),
    [(1, 10, -1), (2, 10, -1), (0, 30, 2), (3, 40, 0), (4, 15, -1), (5, 16, -1), (6, 50, 5), (7, 50, 5)],
)
def test_a_packet_stands_behind_the_packet_of_another_dma_in_its_queue(packet, begin, before):
    found = packets(*QUEUED)
    assert found.behind(packet) == (begin, before)
    for other in range(len(QUEUED)):  # in whatever order they are asked for
        found.behind(other)
    assert found.behind(packet) == (begin, before)


def test_packets_that_begin_together_stand_in_the_order_of_the_file():
    found = packets(*((10, 1, 512, trigger, "0", "a") for trigger in (12, 11, 10)))
    assert [found.behind(at)[1] for at in range(3)] == [-1, 0, 1]
    first = packets((10, 1, 512, -1, "0", "a"), (20, 1, 512, 10, "0", "a"))
    assert first.behind(0) == (10, -1) and first.behind(1) == (20, 0)
