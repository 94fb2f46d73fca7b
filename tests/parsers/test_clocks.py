"""Ticks of a trace as picoseconds."""

import dataclasses

import numpy as np
import pytest

from neff_bench.parsers.clocks import one_clock

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
