"""Ticks of a trace as picoseconds."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from neff_bench.parsers.clocks import _offset, _vote, one_clock

TICKS = np.array([1_000_000_000, 3_000_000_000])


@pytest.mark.parametrize(("scale", "expected"), [(1.0, [7, 2_000_000_007]), (1 - 20e-6, [7, 1_999_960_007])])
def test_semaphores_are_shifted_and_scaled_by_the_first_engines_clock(scale, expected):
    scales = np.array([scale, 0.5, 0.5, 0.5, 0.5])
    clock = dataclasses.replace(
        one_clock(1_000_000_000, None),
        scale=scales if scale != 1 else np.ones(5),
        semaphore_offset=7,
    )
    assert clock.semaphore_ps(TICKS).tolist() == expected


def test_instructions_are_shifted_by_their_engine_then_scaled_by_its_clock():
    engine = np.array([0, 1])
    clock = dataclasses.replace(one_clock(1_000_000_000, None), offset=np.array([0, 500, 0, 0, 0]))
    assert clock.instruction_ps(engine, TICKS).tolist() == [0, 2_000_000_500]
    slower = dataclasses.replace(clock, scale=np.array([1.0, 1 - 20e-6, 1, 1, 1]))
    assert slower.instruction_ps(engine, TICKS).tolist() == [0, 2_000_000_500 - 40_000]


def test_packets_count_ticks_of_an_epoch_of_their_own_and_each_engine_starts_apart():
    clock = dataclasses.replace(one_clock(0, None), dma_tick_ps=(20_000, 17), dma_epoch=100, dma_offset=-50)
    starts = np.arange(16) * 1000
    moved = dataclasses.replace(clock, dma_engine_offset=starts)
    engine, ticks = np.array([0, 3]), np.array([100, 117])
    assert clock.dma_ps(engine, ticks).tolist() == [-50, 19_950]
    assert moved.dma_ps(engine, ticks).tolist() == [-50, 22_950]
    assert dataclasses.replace(moved, dma_scale=0.5).dma_ps(engine, ticks).tolist() == [-25, 9_975 + 3000]
    halfway = np.array([0]), np.array([101])
    assert clock.dma_ps(*halfway).tolist() == [1126] and clock.dma_ps(*halfway).dtype == np.int64
    same = dataclasses.replace(one_clock(100, None), dma_offset=-50)
    assert same.dma_ps(engine, ticks).tolist() == [-50, -33] and same.instruction_ps(engine, ticks).tolist() == [0, 17]
    with pytest.raises(ValueError, match="no DMA clock"):
        dataclasses.replace(clock, dma_offset=None).dma_ps(engine, ticks)


def test_an_offset_needs_three_events_on_each_side_and_the_votes_of_three_fifths():
    events = np.array([0, 10_000, 27_000, 64_000, 125_000])
    assert _offset(events[:3], events[:3] + 700, 3_000) == 700
    assert _offset(events[:2], events + 700, 3_000) is None
    assert _offset(events, events[:2] + 700, 3_000) is None
    assert _offset(events[:0], events, 3_000) is _offset(events, events[:0], 3_000) is None
    assert _offset(np.array([0, 1, 2]), np.array([700, 701]), 3_000) is None
    assert _offset(events, events[:3] + 700, 3_000) == 700
    assert _offset(np.append(events, 1_000_000), events[:3] + 700, 3_000) is None


def test_votes_lie_within_the_window_and_their_median_is_the_offset():
    events = np.array([0, 10_000_000, 27_000_000])
    assert _offset(events, events + np.array([0, 1_000, 3_000]), 3_000) == 1_000
    assert _offset(events, events + np.array([0, 1_000, 3_001]), 3_000) is None


TIMES = np.array([0, 10_000, 27_000, 64_000, 125_000, 300_000]) * 100
EVENT_SEMAPHORE = 0xA0


def voters(engines=(0, 2), family="inf2", version=5, packets=True):
    """A trace whose clocks start apart: semaphores 5000 ps, engine 2 another 300 ps, DMA ticks 700 ps behind engine 0."""
    engine = np.repeat(engines, len(TIMES))
    ends = np.concatenate([TIMES - (300 if one == 2 else 0) for one in engines])
    rows = SimpleNamespace(engine=engine, opcode=np.full(len(engine), EVENT_SEMAPHORE), end=ends)
    by_dma = TIMES * 17 // 20_000 * 20_000 // 17
    ticks = np.concatenate([np.tile(TIMES + 5000, len(engines)), by_dma + 5000])
    writer = np.concatenate([engine + 1, np.full(len(TIMES), 6)])
    updates = SimpleNamespace(ticks=ticks, writer=writer)
    done = SimpleNamespace(done=TIMES * 17 // 20_000 + 4000) if packets else None
    return SimpleNamespace(version=version, family=family), 77, rows, updates, done


def test_engines_agree_with_semaphores_and_packets_by_vote():
    clock = _vote(*voters(family="trn1"))
    assert clock.zero == 77 + 5000 and clock.known.tolist() == [True, False, True, False, False]
    assert clock.offset.tolist() == [5000, 0, 5300, 0, 0] and clock.scale.tolist() == [1.0] * 5
    assert (clock.dma_epoch, clock.dma_offset, clock.dma_tick_ps) == (4000, 5000 - 5077, (20_000, 17))
    assert (clock.semaphore_offset, clock.dma_scale, clock.end_ps) == (
        0,
        1.0,
        None,
    ) and not clock.dma_engine_offset.any()
    assert _vote(*voters(family="inf2", version=4)).offset.tolist() == clock.offset.tolist()


def test_traces_of_inf2_are_calibrated():
    """In picoseconds and parts of a million, as measured on public traces."""
    clock = _vote(*voters())
    assert clock.offset.tolist() == [5000, 10_800, 17_400, 1_600, 15_000]
    assert clock.scale.tolist() == [1 - 27.3e-6] * 3 + [1 - 28.4e-6, 1 - 27.3e-6]
    assert (clock.semaphore_offset, clock.dma_offset, clock.dma_scale) == (-34_300, -77 - 178_000, 1 - 28.07e-6)
    assert clock.dma_engine_offset.tolist() == [
        -5050, -1400, 2050, -10900, -7350, -3850, -1400, 2050, 5600, -2650, 900, 4450, 11500, 7950, 900, -2600,
    ]  # fmt: skip


def test_without_the_first_engine_there_is_no_clock_and_without_packets_none_of_theirs():
    assert _vote(*voters(engines=(1, 2))) is None
    container, opened, rows, _, done = voters()
    assert _vote(container, opened, rows, None, done) is None
    clock = _vote(*voters(packets=False))
    assert clock.dma_offset is None and clock.zero == 5077
