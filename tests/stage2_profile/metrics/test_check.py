from __future__ import annotations

import numpy as np
import pytest

from neff_bench.stage2_profile.metrics.check import check_outputs


@pytest.fixture
def checked(make_bundle, tmp_path):
    def go(ref, out):
        bundle = make_bundle(ref=ref)
        (tmp_path / "out").write_bytes(np.asarray(out, np.float32).tobytes())
        return check_outputs(bundle, tmp_path, {"out": "out"})

    return go


def test_within_tolerance_passes_with_the_largest_error(checked):
    verdict = checked([1.0] * 8, [1.0] * 7 + [1.0015])
    assert verdict.check == "passed"
    assert verdict.max_abs_error == pytest.approx(0.0015, rel=1e-3)


def test_tolerance_is_absolute_plus_relative(checked):
    assert checked([10.0] * 8, [10.0109] * 8).check == "passed"
    assert checked([10.0] * 8, [10.0112] * 8).check == "failed"


def test_one_wrong_element_fails(checked):
    verdict = checked([1.0] * 8, [1.0] * 7 + [2.0])
    assert (verdict.check, verdict.max_abs_error) == ("failed", 1.0)
    assert "1 of 8 values" in verdict.reason


def test_zeros_are_called_zero_unless_the_reference_is_zero(checked):
    assert checked([1.0] * 8, [0.0] * 8).check == "zero"
    assert checked([0.0] * 8, [0.0] * 8).check == "passed"


def test_nan_fails_without_an_error_number(checked):
    verdict = checked([1.0] * 8, [1.0] * 7 + [float("nan")])
    assert (verdict.check, verdict.max_abs_error) == ("failed", None)


def test_the_same_infinities_pass(checked):
    assert checked([np.inf, -np.inf, np.nan, *[1.0] * 5], [np.inf, -np.inf, np.nan, *[1.0] * 5]).check == "passed"
    assert checked([np.inf] * 8, [-np.inf] * 8).check == "failed"


def test_another_size_fails(checked):
    assert "4 bytes instead of 32" in checked([1.0] * 8, [1.0]).reason


def test_an_output_that_was_not_saved_is_unchecked(make_bundle, tmp_path):
    verdict = check_outputs(make_bundle(), tmp_path, {})
    assert verdict.check == "unchecked"
