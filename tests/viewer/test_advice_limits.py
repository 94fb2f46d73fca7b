"""What advice on DMAs and on engines can save at most, beside the other."""

import pytest

from neff_bench.parsers.event_rows import DmaRow, LinkedDmaRow, LinkedInstructionRow, Predecessor, Timeline
from neff_bench.viewer.advice import held_up
from neff_bench.viewer.critical_path import PathStep
from tests.viewer.test_advice_boundaries import advice


def test_better_dmas_save_no_more_than_the_busiest_engine_is_idle():
    loads = [LinkedInstructionRow(3000 * at, 50, 0, "Sync", "sg00", "DMA_DIRECT2D", id=at) for at in range(8)]
    beside = LinkedInstructionRow(0, 22_000, 0, "Vector", "sg00", "COPY", id=9)
    after = [Predecessor(at) for at in range(8)]
    last = LinkedInstructionRow(24_000, 50, 0, "Tensor", "sg00", "MATMUL", id=8, predecessors=after)
    moves = [LinkedDmaRow(3000 * at + 1000, 10, 64, trigger=at) for at in range(8)]
    assert advice("Move more with each DMA", [*loads, last, beside], moves).gain_us == pytest.approx(2.05)
    assert advice("Move more with each DMA", [*loads, last], moves).gain_us > 20


def on_engine(begin, duration, engine):
    return DmaRow(timestamp=begin, duration=duration, transfer_size=4096, dma_engine=engine)


def of_gpsimd(opcode="COPY", operands="", engine="GpSimd"):
    """Ten instructions, of 1 us each, one after the other: all of a critical path."""
    return [
        LinkedInstructionRow(
            1000 * at, 1000, 0, engine, "sg00", opcode, id=at, operands=operands, predecessors=[Predecessor(at - 1)]
        )
        for at in range(10)
    ]


@pytest.mark.parametrize(
    ("dma", "gain_us"),
    [
        ([], 5.0),
        ([on_engine(0, 4000, "0")], 5.0),
        ([on_engine(0, 6000, "0")], 4.0),
        ([on_engine(-9000, 12_000, "0"), on_engine(7000, 9000, "0")], 4.0),
        ([on_engine(0, 5000, "0"), on_engine(5000, 5000, "1")], 5.0),
        ([on_engine(0, 6000, "0"), on_engine(0, 9000, "1")], 1.0),
        ([on_engine(0, 6000, 0)], 4.0),
        ([on_engine(0, 9000, "")], 5.0),
    ],
)
def test_faster_engines_save_no_more_than_the_busiest_dma_engine_is_idle_on_the_path(dma, gain_us):
    assert advice("Move work from GpSimd", of_gpsimd(), dma).gain_us == pytest.approx(gain_us)


def test_a_gain_that_dmas_leave_too_little_of_is_not_said():
    assert advice("Move work from GpSimd", of_gpsimd(), [on_engine(0, 9801, "0")], total_time=1e-5) is None
    assert advice("Move work from GpSimd", of_gpsimd(), [on_engine(0, 9799, "0")], total_time=1e-5)


def test_narrower_operands_leave_dmas_less_to_move():
    products = of_gpsimd("MATMUL", "src=float32@0x4000[1,0,0][512,1,1]", "Tensor")
    assert advice("Give the Tensor Engine bfloat16", products, [on_engine(0, 9000, "0")]).gain_us == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("engine", "busy_ns", "said"),
    [
        ("GpSimd", 9001, "a faster GpSimd alone saves at most 1.0 us: a DMA engine moves data for 90 % of the path"),
        ("GpSimd", 9000, ""),
        ("DMA", 9001, ""),
    ],
)
def test_dmas_hold_up_the_engine_of_the_bound_that_could_save_less_than_a_tenth_of_its_time(engine, busy_ns, said):
    timeline = Timeline("x", False, {}, of_gpsimd(), [on_engine(0, busy_ns, "0")], [])
    path = [PathStep(0, 0.0, 10_000.0, ((engine, 10_000.0),))]
    assert held_up(timeline, path) == said
    assert held_up(timeline, ()) == ""
