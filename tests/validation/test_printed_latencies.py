"""What the latencies of kda-for-trainium are of the total time of their own profiles."""

import pytest

from validation.correlation.measured import Measured
from validation.correlation.nkibench import VARIANTS, halved

PEAK_FLOPS_A_US = 78.6432e6


def row(total_us, **figures):
    return Measured(*VARIANTS, "matmul", "matmul", "v", "trn2", 1, "beta", total_us, lambda: None, {}, figures)


@pytest.mark.parametrize(
    ("by_profile_us", "factor"),
    [(1000.0, 1.0), (1300.0, 1.0), (2000.0, 1.0), (950.0, 1.0), (500.0, 0.5), (535.0, 0.5), (640.0, 0.64)],
)
def test_the_mfu_of_a_row_says_whether_its_latency_is_the_half_the_whole_or_neither(by_profile_us, factor):
    summary = {"hardware_flops": 0.4 * PEAK_FLOPS_A_US * by_profile_us, "transpose_flops": 0}
    assert halved(row(1000.0, MFU_pct=40.0), summary) == pytest.approx(factor)


def test_a_row_whose_mfu_is_too_coarse_keeps_its_latency():
    assert halved(row(1000.0, MFU_pct=4.0), {"hardware_flops": 1, "transpose_flops": 0}) == 1.0
    assert halved(row(1000.0), {"hardware_flops": 1, "transpose_flops": 0}) == 1.0
