"""Each error code that AWS's compiler pages document has a rule, or why it has none."""

import os

import pytest

from neff_bench.rules import RULES
from neff_bench.rules.error_codes import ERROR_CODES
from neff_bench.rules.unjudged import UNJUDGED
from tests.checkouts import NEURON_SDK, find


def test_the_rules_that_stand_for_codes_are_declared():
    assert {said for said in ERROR_CODES.values() if said.startswith("NBL")} <= {*RULES, *UNJUDGED}


@pytest.mark.skipif(
    not {"CHECKOUTS", NEURON_SDK.variable} & set(os.environ), reason="needs AWS's pages of the error codes"
)
def test_every_documented_code_is_there():
    pages = find(NEURON_SDK) / "compiler/error-codes"
    assert set(ERROR_CODES) == {page.stem for page in pages.glob("E*.rst")}
