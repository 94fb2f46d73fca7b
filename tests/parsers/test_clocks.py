"""Ticks of a trace as picoseconds."""

import dataclasses

import numpy as np
import pytest

from neff_bench.parsers.clocks import _offset, one_clock

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
    assert _offset(events, events[:3] + 700, 3_000) == 700
    assert _offset(np.append(events, 1_000_000), events[:3] + 700, 3_000) is None


def test_votes_lie_within_the_window_and_their_median_is_the_offset():
    events = np.array([0, 10_000_000, 27_000_000])
    assert _offset(events, events + np.array([0, 1_000, 3_000]), 3_000) == 1_000
    assert _offset(events, events + np.array([0, 1_000, 3_001]), 3_000) is None
