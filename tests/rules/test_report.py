"""A rule in full."""

from neff_bench.rules.report import explained


def test_a_rule_in_full_says_what_aws_says_and_where_it_is_from():
    text = explained("NBLE603")
    assert "invalid kwarg 'op0': unsupported operator 'divide'" in text
    assert "from 2.29" in text and "release-notes" in text and "documented, seen refused" in text
