"""The page of the rules is made from their declarations; each error code that AWS's compiler pages document has a rule, or why it has none."""

import os
from pathlib import Path

import pytest

from neff_bench.rules import RULES
from neff_bench.rules.report import address
from tests.checkouts import NEURON_SDK, find
from tools.rules import ERROR_CODES, UNJUDGED, page

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


def test_the_page_is_that_of_the_declarations():
    assert PAGE.read_text() == page(), "python -m tools.rules > docs/rules.md"


def test_each_rule_has_an_anchor_and_most_have_a_source_with_an_address():
    text = page()
    assert all(f'<a id="{code.lower()}"></a>{code}' in text for code in RULES)
    known = [where for code in RULES if (where := address(code))]
    assert len(known) > 0.9 * len(RULES) and all(where.startswith("https://") for where in known)


def test_no_rule_takes_a_code_that_is_kept_for_what_has_no_judge():
    assert not RULES.keys() & UNJUDGED.keys()


def test_the_rules_that_stand_for_codes_are_declared():
    assert {said for said in ERROR_CODES.values() if said.startswith("NBL")} <= {*RULES, *UNJUDGED}


@pytest.mark.skipif(
    not {"CHECKOUTS", NEURON_SDK.variable} & set(os.environ), reason="needs AWS's pages of the error codes"
)
def test_every_documented_code_is_there():
    pages = find(NEURON_SDK) / "compiler/error-codes"
    assert set(ERROR_CODES) == {page.stem for page in pages.glob("E*.rst")}
