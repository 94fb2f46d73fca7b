"""What advice on DMAs and on engines can save at most, beside the other."""

import pytest

from neff_bench.parsers.event_rows import DmaRow, LinkedDmaRow, LinkedInstructionRow, Predecessor, Timeline
from neff_bench.viewer.advice import held_up
from neff_bench.viewer.critical_path import PathStep
from tests.viewer.test_advice_boundaries import advice, issues
from tests.viewer.test_advice_rules import rows, said


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
    ("bound", "busy_ns", "said"),
    [
        ("GpSimd", 2501, "a faster GpSimd alone would save at most 7.5 us: a DMA engine moves data for 25 % of the path"),
        ("GpSimd", 2500, ""),
        ("latency", 9000, "less latency alone would save at most 1.0 us: a DMA engine moves data for 90 % of the path"),
        ("DMA issue", 9000, "a faster issue of DMAs alone would save at most 1.0 us: a DMA engine moves data for 90 % of the path"),
        ("DMA", 9001, ""),
        ("HBM bandwidth", 9001, ""),
        ("DMA with its latency", 9001, ""),
    ],
)  # fmt: skip
def test_what_is_busy_beside_the_bound_leaves_less_than_three_quarters_of_its_time_to_save(bound, busy_ns, said):
    timeline = Timeline("x", False, {}, of_gpsimd(), [on_engine(0, busy_ns, "0")], [])
    path = [PathStep(0, 0.0, 10_000.0, ((bound, 10_000.0),))]
    assert held_up(timeline, path) == said
    assert held_up(timeline, ()) == ""


def taken(*rows, bound="latency", simulated=True):
    """What is said of an engine with instructions of (begin, wait, opcode), 50 ns each, on a path of 10 us."""
    made = [
        LinkedInstructionRow(begin, 50, wait, "Scalar", "sg00", opcode, id=at) for at, (begin, wait, opcode) in enumerate(rows)
    ]  # fmt: skip
    timeline = Timeline("x", simulated, {}, made, [], [])
    return held_up(timeline, [PathStep(0, 0.0, 10_000.0, ((bound, 10_000.0),))])


COPIES, DMAS = ([(1000 * at, 200, name) for at in range(11)] for name in ("COPY", "DMA_DIRECT2D"))


def test_an_engine_is_busy_from_an_instruction_until_it_could_begin_the_next():
    assert taken(*COPIES) == "less latency alone would save at most 2.0 us: Scalar is busy for 80 % of the path"
    assert taken(*COPIES, simulated=False) == taken(*COPIES, bound="Scalar") == ""
    assert "at most 6.8 us: Scalar is busy for 32 %" in taken(*COPIES[:5])  # the last is busy for its own time alone


def test_an_engine_that_is_busy_with_the_issue_of_dmas_is_named_so_and_is_not_told_beside_that_bound():
    issuing = "Scalar is busy for 80 % of the path, mostly with the issue of DMAs"
    assert taken(*DMAS).endswith(issuing) and taken(*DMAS, bound="Scalar").endswith(issuing)
    assert taken(*DMAS[:6], *COPIES[6:]).endswith(issuing) and not taken(*DMAS[:5], *COPIES[5:]).endswith(issuing)
    assert taken(*DMAS, bound="DMA issue") == ""


def test_what_the_runtime_does_takes_no_time_of_an_engine():
    rows = [LinkedInstructionRow(at, 50, 0, "Scalar", "sg00", id=at) for at in (0, 9000)]
    rows[1].alignment = "runtime"
    path = [PathStep(0, 0.0, 10_000.0, (("latency", 10_000.0),))]
    assert held_up(Timeline("x", True, {}, rows, [], []), path) == ""


def test_the_largest_gain_is_said_first():
    found = said([*issues("Sync", 8, 20), *rows("GpSimd", "TENSOR_TENSOR", "", 20)], total_time=1e-5).values()
    assert [(one.title.split()[0], one.gain_us) for one in found] == [
        ("Move", pytest.approx(2.0)), ("Issue", pytest.approx(8 * 0.2 * 2 / 3)),
    ]  # fmt: skip
