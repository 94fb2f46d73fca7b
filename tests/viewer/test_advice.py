"""Advice: findings with evidence, the largest gain first."""

from neff_bench.parsers.event_tables import DmaRow, InstructionRow, Timeline
from neff_bench.viewer.advice import advise


def timeline(instructions=(), dma=(), total_us=100.0):
    return Timeline("x.json", True, {"total_time": total_us / 1e6}, list(instructions), list(dma), [])


def test_small_packets_are_found_where_nothing_else_runs():
    packets = [DmaRow(timestamp=at, duration=100, transfer_size=64, subgroup="Q1-E0") for at in range(0, 10_000, 100)]
    (advice,) = advise(timeline(dma=packets))
    assert advice.gain_us == 10.0 and advice.metric == "dma_packet_count" and "100 of 100" in advice.evidence
    beside = InstructionRow(timestamp=0, duration=9_000, subgroup="Tensor", opcode="MATMUL")
    assert advise(timeline([beside], packets)) == ()


def test_large_packets_give_no_advice():
    assert advise(timeline(dma=[DmaRow(timestamp=0, duration=10_000, transfer_size=4096, subgroup="Q1-E0")])) == ()
