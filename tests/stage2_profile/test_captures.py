"""Several captures of one case on a device."""

import json

import numpy as np
import pytest


@pytest.fixture
def rows(make_bundle, profile_neffs, monkeypatch):
    """Rows of a store with one bundle, whose captures take these percentages longer, in turn."""

    def profile(*words, noise=(0,)):
        monkeypatch.setenv("FAKE_NOISE", json.dumps(noise))
        result = profile_neffs(*words, "--format", "json")
        return result, json.loads(result.stdout) if result.stdout else []

    make_bundle(out=np.arange(8))
    return profile


def test_captures_give_a_median_with_its_interval(rows):
    result, (row,) = rows("--captures", 6, noise=[0, 1, 2, 3, 4, 5])
    assert result.exit_code == 0, result.output
    assert row["capture_count"] == 6
    assert row["total_time_us"] == pytest.approx(102 * 1.025)
    assert (row["total_time_ci_low_us"], row["total_time_ci_high_us"]) == pytest.approx((102, 102 * 1.05))


def test_until_captures_again_until_the_interval_is_narrow(rows):
    result, (row,) = rows("--until", "1%", noise=[0, 20, 10, 10, 10, 10, 10, 10, 10, 10, 10])
    assert result.exit_code == 0, result.output
    assert row["capture_count"] == 9  # the smallest and the largest fall out of the interval with the ninth
    assert row["warnings"] == []


def test_until_ends_at_the_bound_and_says_so(rows):
    _, (row,) = rows("--until", "1%", "--captures", 7, noise=[0, 30])
    assert row["capture_count"] == 7
    assert row["warnings"] == ["after 7 captures half the confidence interval is 15 %, --until 1%"]


def test_a_second_call_goes_on_with_the_series(rows, tmp_path):
    rows("--captures", 2)
    _, (row,) = rows("--captures", 3)
    assert row["capture_count"] == 3
    assert len((tmp_path / "calls").read_text()) == 3


def test_a_plain_capture_is_not_of_a_series(rows):
    rows("--num-exec", 2)
    _, (row,) = rows("--captures", 2)
    assert row["capture_count"] == 2


def test_a_capture_that_fails_leaves_the_others(rows, faults, monkeypatch):
    faults("none", "none", "device")
    _, (row,) = rows("--captures", 4)
    assert (row["status"], row["capture_count"]) == ("profiled", 2)
    assert "capture 3 of the series" in row["warnings"][0]


@pytest.mark.parametrize(
    "words", [("--until", "much"), ("--until", "1%", "--parse-only"), ("--captures", 2, "--view-only")]
)
def test_what_makes_no_sense_is_a_wrong_call(rows, words):
    result, _ = rows(*words)
    assert result.exit_code == 2
