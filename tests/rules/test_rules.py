"""Every rule is broken by a kernel of its own, and silent on kernels that are right."""

import pytest

from neff_bench.rules import RULES
from neff_bench.rules.rule import PREFIX, SOURCES, chosen
from neff_bench.rules.rule import rule as declare
from tests.rules.kernels import broken, found, listed, right

CODES = sorted(listed())


def test_there_is_a_kernel_for_each_rule_and_no_other():
    assert {PREFIX + code for code in CODES} == set(RULES)
    assert len(RULES) >= 220


@pytest.mark.parametrize("code", CODES)
def test_a_kernel_breaks_the_rule(code, tmp_path):
    every, _ = found(*broken(code), tmp_path / "kernel.py")
    assert PREFIX + code in {one.code for one in every}, sorted({one.code for one in every})
    rule = RULES[PREFIX + code]
    assert rule.releases == next(one.releases for one in every if one.code == rule.code)
    assert rule.forbids and rule.instead and rule.releases and all(source in SOURCES for source in rule.source)


@pytest.mark.parametrize("code", CODES)
def test_the_kernel_breaks_no_rule_once_it_is_mended(code, tmp_path):
    every, refused = found(*right(code), tmp_path / "kernel.py")
    release = RULES[PREFIX + code].releases[-1]
    of_dialect = {"NBLN156"} if code.startswith("B") or "neuronxcc" in right(code)[0] else set()
    assert [
        one.text
        for one in every
        if one.code == PREFIX + code or (release in one.releases and one.level != "note" and one.code not in of_dialect)
    ] == []
    assert refused == ""


def test_a_rule_is_named_by_the_beginning_of_its_code():
    assert chosen(["E603"]) == chosen(["NBLE603"]) == {"NBLE603"}
    assert chosen(["E60"]) > {"NBLE602", "NBLE603"}


def test_a_code_is_never_used_twice():
    with pytest.raises(ValueError, match="the code is taken"):
        declare("E603", "", "", "isa", "D", RULES["NBLE603"].judges[0])
    with pytest.raises(ValueError, match="not known"):
        declare("E699", "", "", "nowhere", "D", RULES["NBLE603"].judges[0])
