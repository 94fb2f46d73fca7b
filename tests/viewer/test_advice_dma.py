"""Where the rules on DMAs along a critical path begin, and what they say can be gained."""

import pytest

from neff_bench.chips import CHIPS
from neff_bench.parsers.event_rows import (
    InstructionRow,
    LinkedDmaRow,
    LinkedInstructionRow,
    Predecessor,
    SensitivityRow,
    Timeline,
)
from neff_bench.viewer.advice import advise
from neff_bench.viewer.advice.dma import _converts, _partitions
from tests.viewer.test_advice_boundaries import advice, issues


def test_only_the_dmas_of_the_engine_with_one_queue_take_its_time():
    beside = [InstructionRow(400 * at + 250, 100, 0, "Sync", "sg00", "WRITE") for at in range(9)]
    found = advice("Issue DMAs from several", [*issues("Sync", 9), *beside])
    assert found.gain_us == pytest.approx(9 * 0.2 * 2 / 3)
    assert found.evidence.startswith("9 of 9 DMAs are issued by Sync; their issue takes 1.8 us")
    assert "repeats" not in found.evidence


@pytest.mark.parametrize(
    ("begin", "moves", "gain"), [(1000, 10, 8.99), (1000, 4000, 5.0), (0, 9000, None), (0, 8000, 1.0)]
)
def test_a_wait_for_dmas_is_what_the_path_waits_beyond_the_time_that_packets_move(begin, moves, gain):
    load = LinkedInstructionRow(0, 50, 0, "Sync", "sg00", "DMA_DIRECT2D", id=0)
    last = LinkedInstructionRow(9000, 50, 0, "Tensor", "sg00", "MATMUL", id=1, predecessors=[Predecessor(0)])
    found = advice("Load the next tile", [load, last], [LinkedDmaRow(begin, moves, 4096, trigger=0)], instance_type="")
    assert (found is None) == (gain is None)
    if found:
        assert found.gain_us == pytest.approx(gain)
        said_so = f"the critical path waits 9.0 us for DMAs, whose packets move for {moves / 1000:.1f} us"
        assert found.evidence == said_so


@pytest.mark.parametrize(
    ("count", "row_bytes", "said_so"), [(8, 64, True), (7, 64, False), (8, 1024, False), (8, 1023, True)]
)
def test_a_dma_of_128_kib_is_not_small(count, row_bytes, said_so):
    """128 packets each, of which the file tells what triggered them. The product after them all makes a critical path."""
    loads = [LinkedInstructionRow(3000 * at, 50, 0, "Sync", "sg00", "DMA_DIRECT2D", id=at) for at in range(count)]
    after = [Predecessor(at) for at in range(count)]
    last = LinkedInstructionRow(3000 * count, 50, 0, "Tensor", "sg00", "MATMUL", id=count, predecessors=after)
    moves = [
        LinkedDmaRow(3000 * at + 1000 + part, 10, row_bytes * 8, trigger=at)
        for at in range(count)
        for part in range(16)
    ]
    found = advice("Move more with each DMA", [*loads, last], moves)
    assert (found is not None) == said_so
    if found:
        chip, moved = CHIPS["trn2"], count * 16 * row_bytes * 8
        one_dma_ns = chip.dma_start_ns + chip.dma_wait_ns + moved / (chip.dma_engine_bandwidth * chip.dma_engines)
        assert found.gain_us == pytest.approx(3 * count - one_dma_ns / 1000)


@pytest.mark.parametrize(("packet_bytes", "said_so"), [(511, True), (512, False)])
def test_a_large_dma_in_packets_of_less_than_512_bytes_is_small(packet_bytes, said_so):
    loads = [LinkedInstructionRow(3000 * at, 50, 0, "Sync", "sg00", "DMA_DIRECT2D", id=at) for at in range(8)]
    after = [Predecessor(at) for at in range(8)]
    last = LinkedInstructionRow(24_000, 50, 0, "Tensor", "sg00", "MATMUL", id=8, predecessors=after)
    moves = [LinkedDmaRow(3000 * at + 1000, 10, packet_bytes, trigger=at) for at in range(8) for _ in range(300)]
    found = advice("Move more with each DMA", [*loads, last], moves)
    assert (found is not None) == said_so
    if found:
        assert found.evidence.startswith("8 of 8 DMAs move 153300 bytes each, in packets of 511 bytes")


@pytest.mark.parametrize(("count", "said_so"), [(1023, False), (1024, True)])
def test_a_dma_that_moves_its_elements_one_by_one_is_1024_of_them(count, said_so):
    load = LinkedInstructionRow(0, 50, 0, "Sync", "sg00", "DMA_DIRECT2D", id=0)
    last = LinkedInstructionRow(9000, 50, 0, "Tensor", "sg00", "MATMUL", id=1, predecessors=[Predecessor(0)])
    found = advice("Let DMAs move whole rows", [load, last], [LinkedDmaRow(1000, 10, 2, trigger=0)] * count)
    assert (found is not None) == said_so
    if found:
        assert f"1 DMAs move {count} single elements" in found.evidence and found.gain_us == pytest.approx(9.0, rel=0.1)


def test_a_small_dma_says_what_it_moves_for_each_partition():
    operands = "src=bfloat16@hbm:x+0[512,1][128,128] dst=bfloat16@sbuf:t+0[128,1][128,128]"
    loads = [
        LinkedInstructionRow(3000 * at, 50, 0, "Sync", "sg00", "DMA_DIRECT2D", 0, operands, id=at) for at in range(8)
    ]
    last = LinkedInstructionRow(
        24000, 50, 0, "Tensor", "sg00", "MATMUL", id=8, predecessors=[*map(Predecessor, range(8))]
    )
    moves = [LinkedDmaRow(3000 * at + 1000, 10, 32768, trigger=at) for at in range(8)]
    found = advice("Move more with each DMA", [*loads, last], moves)
    assert "move 256 bytes for each of 128 partitions, in packets of 32768 bytes" in found.evidence
    mixed = [*moves, *(LinkedDmaRow(100 + at, 1, 512, trigger=0) for at in range(8))]
    assert "in packets of 16640 bytes on average" in advice("Move more with each DMA", [*loads, last], mixed).evidence


@pytest.mark.parametrize(("engine", "gain_us"), [("GpSimd", 0.3), ("Sync", 0.4), ("Scalar", 0.4)])
def test_several_engines_save_what_the_simulator_worked_out_for_an_issue_of_half_the_time(engine, gain_us):
    loads = [LinkedInstructionRow(200 * at, 50, 0, engine, "sg00", "DMA_DIRECT2D", id=at) for at in range(8)]
    worked_out = [
        SensitivityRow("software_dma_issue_ns", "0.5x", 9.7), SensitivityRow("dma_issue_ns", "0.5x", 9.6),
    ]  # fmt: skip
    summary = {"total_time": 1e-5, "simulator_left_out_bytes": 512}
    timeline = Timeline("x", False, summary, loads, [], [], sensitivity=worked_out)
    [found] = [one for one in advise(timeline) if one.title.startswith("Issue DMAs from several")]
    assert found.gain_us == pytest.approx(gain_us)
    assert f"; with an issue of half the time the total would be {gain_us} us less" in found.evidence
    assert "; a load that repeats another is left out only while you choose no engine for it" in found.evidence


@pytest.mark.parametrize(
    ("rows", "gain_us"),
    [
        ([], 1.0),
        ([SensitivityRow("dma_convert_factor", "0.5x", 9.6), SensitivityRow("dma_issue_ns", "0.5x", 9.9)], 0.4),
        ([SensitivityRow("dma_issue_ns", "0.5x", 9.9)], None),
    ],
)
def test_a_dma_that_does_not_convert_saves_what_the_simulator_worked_out_where_it_did(rows, gain_us):
    operands = "src=bfloat16@hbm:x+0[512,1][128,512] dst=float32@sbuf:t+0[512,1][128,512]"
    load = LinkedInstructionRow(0, 50, 0, "Sync", "sg00", "DMA_DIRECT2D", 0, operands, id=0)
    last = LinkedInstructionRow(2000, 50, 0, "Tensor", "sg00", "MATMUL", id=1, predecessors=[Predecessor(0)])
    summary = {"total_time": 1e-5, "instance_type": "trn2.3xlarge"}
    moves = [LinkedDmaRow(100, 1000, 65536, trigger=0)]
    timeline = Timeline("x", False, summary, [load, last], moves, [], sensitivity=rows)
    found = [one.gain_us for one in advise(timeline) if one.title.startswith("Give a tile the dtype")]
    assert found == ([] if gain_us is None else [pytest.approx(gain_us)])


@pytest.mark.parametrize(
    ("partitions", "pace", "gain_us"), [(64, "dma", 1.5), (32, "dma", 2.25), (65, "dma", None), (64, "hbm", None)]
)
def test_dmas_of_at_most_64_partitions_leave_dma_engines_idle_while_these_set_their_pace(partitions, pace, gain_us):
    """Two DMAs one behind the other: latency until 1000 ns, movement until 4000, and a MATMUL after that."""
    operands = f"src=bfloat16@hbm:x+0[512,1][{partitions},512] dst=bfloat16@sbuf:t+0[512,1][{partitions},512]"
    loads = [
        LinkedInstructionRow(
            50 * at, 50, 0, "Sync", "sg00", "DMA_DIRECT2D", 0, operands, id=at, dma_start_ns=1000, dma_pace=pace,
            nki_source_location=f"k.py:{at}",
        )
        for at in range(2)
    ]  # fmt: skip
    last = LinkedInstructionRow(4500, 50, 0, "Tensor", "sg00", "MATMUL", id=2, predecessors=[Predecessor(1)])
    moves = [LinkedDmaRow(1000 + 1500 * at, 1500, 65536, dma_engine="0", trigger=at) for at in range(2)]
    found = advice("Load and store 128 partitions", [*loads, last], moves, total_time=1e-5)
    assert (found and found.gain_us) == (gain_us and pytest.approx(gain_us))
    if found:
        evidence = (
            f"2 of 2 DMAs fill or read {partitions} partitions; their packets move for 3.0 us of the critical path"
        )
        assert found.evidence == f"{evidence}; most at k.py:0, k.py:1"


@pytest.mark.parametrize(
    ("text", "partitions"),
    [
        ("src=float32@hbm:x+0[4,1][64,4] dst=float32@sbuf:t+0[4,1][32,4]", 32), ("src=float32@sbuf:x+0[4,1][64,4] dst=float32@sbuf:t+0[4,1][32,4]", 64),
        ("src=float32@hbm:x+0[4,1][64,4]", 0), ("src=float32@0x10[1][8]", 0), ("src=float32@0x10[1][8] channels=16", 16), ("", 0),
    ],
)  # fmt: skip
def test_a_dma_fills_or_reads_the_partitions_that_it_says_of_sbuf(text, partitions):
    assert _partitions(text) == partitions


@pytest.mark.parametrize(
    ("text", "converts"),
    [("src=float32@0x0[1][8] dst=bfloat16@0x0[1][8]", True), ("src=float32@0x0[1][8] dst=float32@0x9[1][8]", False), ("src=0x0[1][8] dst=float32@0x9[1][8]", False), ("", False)],
)  # fmt: skip
def test_a_dma_converts_that_reads_one_dtype_and_writes_another(text, converts):
    assert _converts(text) is converts
