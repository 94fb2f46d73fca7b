"""Figures that no device can have are refused or named."""

import json

import pytest

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.plausibility import PEAK_FACTOR, active_s, beside_program, first_execution, impossible
from neff_bench.parsers.profile_json import read_summary


def summary(**keys):
    return read_summary(json.dumps({"total_time": 1e-5, **keys}).encode())


def doubts(found):
    return impossible(found, PEAK_FACTOR)


def test_a_plausible_summary_has_no_doubts():
    assert doubts(summary(mfu_estimated_percent=0.6, hfu_estimated_percent=1.9, dma_active_time=1.001e-5)) == ()


def test_utilisation_far_above_the_peak_is_named():
    (doubt,) = doubts(summary(mfu_estimated_percent=45.2))
    assert "4520%" in doubt


def test_an_engine_that_worked_longer_than_all_is_named():
    (doubt,) = doubts(summary(vector_engine_active_time=2e-5))
    assert "vector_engine_active_time" in doubt


@pytest.mark.parametrize(("active", "named"), [(6e-6, True), (2e-4, False)])
def test_a_first_execution_is_named(active, named):
    found = first_execution(1.87e-3, active)
    assert bool(found) is named and "first (cold) execution" in (found or "first (cold) execution")


def test_the_work_of_a_first_execution_is_the_sum_that_a_trace_has_too():
    found = summary(total_time=1.87e-3, total_active_time=6e-6, tensor_engine_active_time=5e-6, dma_active_time=2.5e-6)
    assert "active for at most 8 of 1870 us" in first_execution(found.total_time_s, active_s(found))


@pytest.mark.parametrize("key", ["total_time", "hbm_read_bytes", "mfu_estimated_percent", "event_count"])
def test_negative_figures_are_refused(key):
    with pytest.raises(ParseError, match=f"{key}: -1 is negative"):
        summary(**{key: -1})


def test_a_time_of_which_a_twentieth_is_work_is_no_first_execution():
    assert first_execution(1.0, 0.05) is None and first_execution(1.0, 0.0499)
    assert first_execution(1.0, None) is None and first_execution(0.0, 0.0) is None


@pytest.mark.parametrize(
    ("ran", "loaded", "named"),
    [(98, {}, False), (97, {}, True), (1400, {}, False), (1401, {}, True), (122, {"vector": 120}, False), (123, {"vector": 120}, True)],
)  # fmt: skip
def test_an_engine_may_lose_a_fiftieth_and_gain_what_a_loader_adds(ran, loaded, named):
    found = beside_program(summary(vector_engine_instruction_count=ran), {"vector": 100}, loaded)
    assert bool(found) is named
    assert all(f"the {'trace' if loaded and ran > 100 else 'NEFF'} has" in one for one in found)
    assert beside_program(summary(), {"vector": 100}, {}) == ()


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"vector_engine_active_time": 1.02e-5}, False),
        ({"vector_engine_active_time": 1.0201e-5}, True),
        ({"mfu_estimated_percent": 4.08}, False),
        ({"mfu_estimated_percent": 4.0801}, True),
        ({"total_time": 0.0}, True),
    ],
)
def test_figures_may_pass_their_bound_by_a_fiftieth(keys, named):
    assert bool(doubts(summary(**keys))) is named


def test_the_part_of_the_peak_that_a_kernel_may_reach_is_said_by_the_caller_and_passes_are_counted_by_hfu_alone():
    for name in ("mfu_estimated", "mfu_hlo_estimated", "mfu_inst_estimated", "mbu_estimated"):
        assert impossible(summary(**{f"{name}_percent": 1.02}), 1) == ()
        assert impossible(summary(**{f"{name}_percent": 1.03}), 1) == (
            f"{name}_percent is 103% of the peak, which no device reaches",
        )
    assert impossible(summary(hfu_estimated_percent=4.08), 1) == ()
    assert len(impossible(summary(hfu_estimated_percent=4.09), 9)) == 1
