"""What the rules of advice ask a timeline for."""

import pytest

from neff_bench.parsers.event_rows import InstructionRow, LinkedDmaRow, LinkedInstructionRow, Timeline
from neff_bench.viewer.advice.facts import ELEMENTS_MIN, Facts
from tests.viewer.test_advice_rules import on_tile, rows, said


def facts(instructions=(), dma=(), **summary):
    return Facts(Timeline("x", False, summary, list(instructions), list(dma), []))


def test_a_dma_moves_what_its_packets_of_data_have_those_of_semaphores_aside():
    """A packet of 4 bytes is a semaphore's; one that nobody started, or that an unknown instruction did, counts for none."""
    starts = [LinkedInstructionRow(at, 1, 0, "Sync", "sg00", "DMA_DIRECT2D", id=10 + at) for at in range(4)]
    moved = [(10, 512), (10, 5), (10, 4), (12, 64), (13, 4), (-1, 512), (99, 512)]
    found = facts(starts, [LinkedDmaRow(0, 1, size, trigger=trigger) for trigger, size in moved])
    assert found.dmas == {0: (517, 2), 2: (64, 1)}
    assert facts(starts).dmas == {} == facts(starts).single_elements


@pytest.mark.parametrize("count", [ELEMENTS_MIN - 1, ELEMENTS_MIN])
def test_single_elements_are_packets_of_four_bytes_at_most_where_they_are_many(count):
    starts = [LinkedInstructionRow(0, 1, 0, "Sync", "sg00", "DMA_DIRECT2D", id=7)]
    packets = [LinkedDmaRow(0, 1, 4, trigger=7)] * count + [LinkedDmaRow(0, 1, 5, trigger=7)]
    assert facts(starts, packets).single_elements == ({0: count} if count == ELEMENTS_MIN else {})


def test_the_kernels_own_rows_are_those_that_are_not_the_runtimes():
    found = facts([InstructionRow(alignment=one) for one in ("", "runtime", "compiled", "unaligned", "runtime")])
    assert found.of_kernel.tolist() == [0, 2, 3]


def test_work_lasts_from_the_first_to_the_last_instruction_that_does_some():
    names = [("DRAIN", 0, 50), ("COPY", 1000, 500), ("COPY", 3000, 100), ("COPY", 2900, 1100), ("DRAIN", 9000, 10)]
    work = [InstructionRow(begin, duration, 0, "Vector", "sg00", name) for name, begin, duration in names]
    assert facts(work).span_us == 3.0 and facts(work[:1]).span_us == 0.0
    assert facts(work).busy_us == {("sg00", "Vector"): pytest.approx(1.6)}
    assert facts(work).idle_us == pytest.approx(1.4) and facts().idle_us == 0.0


def test_a_counter_is_a_number_of_the_summary():
    found = facts(a=1, b=2.5, c="3", d=None)
    assert [found.number(key) for key in "abcde"] == [1.0, 2.5, None, None, None]


@pytest.mark.parametrize(("partitions", "few"), [(1, True), (64, True), (65, False), (128, False)])
def test_few_partitions_are_half_of_them_at_most(partitions, few):
    found = [
        one
        for title, one in said(rows("Vector", "TENSOR_TENSOR", on_tile(512, partitions))).items()
        if title.startswith("Fill")
    ]
    assert bool(found) == few
    if few:
        assert found[0].gain_us == pytest.approx(12 * 0.2 * (1 - partitions / 128))
        assert found[0].evidence.startswith(
            f"12 of 12 instructions of Vector and Scalar use {partitions} partitions, 2.4 us "
        )
