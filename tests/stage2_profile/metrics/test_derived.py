"""Metrics that are made of others."""

from types import SimpleNamespace

import pytest

from neff_bench.stage2_profile.metrics import derived
from neff_bench.stage2_profile.metrics.metric import Evidence


def executions(*totals_s, throttle=None):
    return tuple(SimpleNamespace(total_time_s=each, throttle=throttle or {}) for each in totals_s)


@pytest.mark.parametrize(
    ("flops", "peak", "total_us", "percent"),
    [(10**9, 100.0, 100.0, 10.0), (None, 100.0, 100.0, None), (10**9, None, 100.0, None), (10**9, 100.0, None, None), (10**9, 100.0, 0.0, None), (0, 100.0, 100.0, None)],
)  # fmt: skip
def test_mfu_is_the_share_of_what_the_peak_does_in_the_time(flops, peak, total_us, percent):
    found = derived.mfu_percent(Evidence(model_flops=flops, peak_tflops=peak), {"total_time_us": total_us})
    assert found == (percent and pytest.approx(percent))


@pytest.mark.parametrize(
    ("flops", "read", "write", "intensity"),
    [(100, 30, 20, 2.0), (100, 50, None, 2.0), (100, None, 50, 2.0), (100, None, None, None), (100, 0, 0, None), (None, 30, 20, None), (0, 30, 20, None)],
)  # fmt: skip
def test_arithmetic_intensity_is_over_what_is_read_and_written(flops, read, write, intensity):
    numbers = {"hbm_read_bytes": read, "hbm_write_bytes": write}
    assert derived.arithmetic_intensity(Evidence(model_flops=flops), numbers) == intensity


def test_two_totals_have_an_interquartile_range():
    assert derived.total_time_iqr_us(Evidence(summaries=executions(1e-6, None)), {}) is None
    assert derived.total_time_iqr_us(Evidence(summaries=executions(1e-6, 3e-6, None)), {}) == pytest.approx(1.0)


def test_throttling_is_the_median_of_the_worst_core():
    said = {
        "throttle_active_nc0_time_ns": 2000,
        "throttle_active_nc1_time_ns": 5000,
        "throttle_total_nc1_time_ns": 9000,
    }
    several = (
        executions(1.0, throttle=said)
        + executions(1.0, throttle={"throttle_active_nc0_time_ns": 1000})
        + executions(1.0)
    )
    assert derived.throttle_active_us(Evidence(summaries=several), {}) == 3.0
    assert derived.throttle_active_us(Evidence(summaries=executions(1.0)), {}) is None


def test_each_capture_is_one_sample():
    assert derived.total_times_s([executions(1.0, 5.0, 2.0), executions(None), (), executions(None, 7.0)]) == [2.0, 7.0]


@pytest.mark.parametrize(
    ("count", "ends"),
    [
        (5, None),
        (6, (1, 6)),
        (8, (1, 8)),
        (9, (2, 8)),
        (11, (2, 10)),
        (12, (3, 10)),
        (14, (3, 12)),
        (15, (4, 12)),
        (20, (6, 15)),
        (30, (10, 21)),
    ],
)
def test_the_interval_of_the_median_is_that_of_the_sign_test(count, ends):
    values = list(range(count, 0, -1))
    assert derived.median_interval(values) == ends
    assert derived.half_width_percent(values) == (ends and pytest.approx(50 * (ends[1] - ends[0]) / ((count + 1) / 2)))


def test_the_ends_are_of_the_executions_of_one_capture_or_of_several_captures():
    six = executions(*(number * 1e-6 for number in range(1, 7)), None)
    one, several = Evidence(summaries=six), Evidence(summaries=six, captures=tuple((each,) for each in six))
    assert (derived.execution_ci_low_us(one, {}), derived.execution_ci_high_us(one, {})) == pytest.approx((1.0, 6.0))
    assert derived.total_time_ci_low_us(one, {}) is None and derived.execution_ci_low_us(several, {}) is None
    assert (derived.total_time_ci_low_us(several, {}), derived.total_time_ci_high_us(several, {})) == pytest.approx(
        (1.0, 6.0)
    )
