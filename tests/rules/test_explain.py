"""The page of the rules is made from their declarations."""

from pathlib import Path

from neff_bench.rules import RULES
from neff_bench.rules.explain import address, explained, page

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


def test_the_page_is_that_of_the_declarations():
    assert PAGE.read_text() == page(), "python -m neff_bench.rules > docs/rules.md"


def test_each_rule_has_an_anchor_and_most_have_a_source_with_an_address():
    text = page()
    assert all(f'<a id="{code.lower()}"></a>{code}' in text for code in RULES)
    known = [where for code in RULES if (where := address(code))]
    assert len(known) > 0.9 * len(RULES) and all(where.startswith("https://") for where in known)


def test_a_rule_in_full_says_what_aws_says_and_where_it_is_from():
    text = explained("NBLE603")
    assert "invalid kwarg 'op0': unsupported operator 'divide'" in text
    assert "from 2.29" in text and "release-notes" in text and "documented, seen refused" in text
