"""Rules of `--fail-on`."""

import pytest

from neff_bench.stage2_profile.compare.command import _broken, parse_rule
from neff_bench.stage2_profile.compare.verdict import Pair


@pytest.mark.parametrize(
    ("rule", "a", "b", "says"),
    [
        ("total_time_us:5", 100.0, 105.0, None),
        ("total_time_us:5", 100.0, 105.1, "allowed 5 %"),
        ("total_time_us:5", 100.0, 50.0, None),
        ("total_time_us:=5", 100.0, 95.0, None),
        ("total_time_us:=5", 100.0, 94.9, "allowed ±5 %"),
        ("mfu_percent:5", 40.0, 38.0, None),
        ("mfu_percent:5", 40.0, 37.9, "allowed 5 %"),
        ("total_time_us:5", None, None, None),
        ("total_time_us:5", None, 100.0, "known on one side only"),
        ("total_time_us:5", 100.0, None, "known on one side only"),
    ],
)
def test_a_rule_is_broken_by_more_than_it_allows_and_by_what_one_side_does_not_know(rule, a, b, says):
    parsed = parse_rule(rule)
    found = _broken(Pair("case", {parsed.metric: a}, {parsed.metric: b}), parsed)
    assert len(found) == (says is not None) and all(says in line for line in found)
