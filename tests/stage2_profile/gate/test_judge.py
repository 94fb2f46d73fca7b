"""Worse, better, same, cannot tell."""

import pytest

from neff_bench.stage2_profile.compare.comparison import pair_cases
from neff_bench.stage2_profile.gate.config import Config
from neff_bench.stage2_profile.gate.judge import judge, verdict_of
from neff_bench.stage2_profile.metrics.rows import Row, to_dict


def row(case="mlp_1", **changes):
    fields = {
        "case": case,
        "kernel": "mlp",
        "implementation": "nkilib",
        "dims": (("b", 1),),
        "dtype": "bfloat16",
        "target": "trn2",
        "lnc": 2,
        "source": "simulated",
        "model": "m1",
        "status": "profiled",
        "check": "passed",
        "total_time_us": 100.0,
        "dma_packet_count": 50,
    }
    return to_dict(Row(**{**fields, **changes}))


def verdicts(before, after):
    found = judge(pair_cases([before], [after], False), Config())
    return {finding.metric: (finding.verdict, finding.fails) for finding in found}


def measured(low, high, **changes):
    interval = {"total_time_ci_low_us": low, "total_time_ci_high_us": high}
    return row(source="measured", model=None, total_time_us=(low + high) / 2, **interval, **changes)


def test_any_rise_of_a_counter_is_worse_and_a_fall_is_better():
    assert verdicts(row(), row(dma_packet_count=51))["dma_packet_count"] == ("worse", True)
    assert verdicts(row(), row(dma_packet_count=49))["dma_packet_count"] == ("better", False)
    assert verdicts(row(), row())["dma_packet_count"] == ("same", False)


def test_a_simulated_time_is_compared_for_equality():
    assert verdicts(row(), row(total_time_us=100.001))["total_time_us"] == ("worse", True)
    assert verdicts(row(), row(total_time_us=99.999))["total_time_us"] == ("better", False)


def test_a_counter_that_rose_is_the_price_of_a_better_time():
    found = verdicts(row(), row(total_time_us=90.0, dma_packet_count=60))
    assert found == {"total_time_us": ("better", False), "dma_packet_count": ("worse", False)}


def test_times_of_two_models_tell_nothing_but_counters_do():
    found = verdicts(row(), row(model="m2", total_time_us=150.0, dma_packet_count=51))
    assert found == {"total_time_us": ("cannot tell", False), "dma_packet_count": ("worse", True)}


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        (measured(102.0, 103.0), "worse"),
        (measured(97.0, 98.0), "better"),
        (measured(99.8, 100.3), "same"),
        (measured(100.0, 105.0), "cannot tell"),
    ],
)
def test_a_measured_time_is_judged_by_its_interval(after, verdict):
    assert verdicts(measured(99.8, 100.2), after)["total_time_us"][0] == verdict


def test_one_measured_execution_has_no_noise_to_judge_by():
    one = row(source="measured", model=None)
    assert verdicts(one, row(source="measured", model=None, total_time_us=500.0))["total_time_us"][0] == "cannot tell"


def test_a_case_that_no_longer_builds_or_is_wrong_is_worse():
    assert verdicts(row(), row(status="failed", reason="no"))["status"] == ("worse", True)
    assert verdicts(row(status="failed"), row())["status"] == ("better", False)
    assert verdicts(row(status="failed"), row(status="failed"))["status"] == ("cannot tell", False)
    assert verdicts(row(), row(check="wrong"))["check"] == ("worse", True)


def test_a_case_that_is_gone_is_told():
    (finding,) = judge(pair_cases([row()], [], False), Config())
    assert (finding.verdict, finding.why) == ("cannot tell", "not there any more")


def test_a_number_is_its_own_interval():
    assert verdict_of((0.0, 0.0), (1.0, 1.0), 0.0) == "worse"
    assert verdict_of((3.0, 3.0), (3.0 + 1e-12, 3.0 + 1e-12), 0.0) == "same"
