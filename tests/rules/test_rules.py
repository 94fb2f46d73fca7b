"""Every rule is broken by a kernel of its own, and silent on kernels that are right."""

import re

import pytest

from neff_bench.rules import RULES
from neff_bench.rules.rule import PREFIX, SOURCES, chosen
from neff_bench.rules.rule import rule as declare
from neff_bench.sdk.identify import newest_published
from tests.rules.kernels import found, kernels

CODES = sorted(kernels("broken"))


def test_there_is_a_kernel_for_each_rule_and_no_other():
    assert {PREFIX + code for code in CODES} == set(RULES)
    assert len(RULES) >= 220


@pytest.mark.parametrize("code", CODES)
def test_a_kernel_breaks_the_rule(code, tmp_path):
    text, target, lnc = kernels("broken")[code]
    every = found(text, target, lnc, tmp_path / "kernel.py")
    assert PREFIX + code in {one.code for one in every}, sorted({one.code for one in every})
    rule = RULES[PREFIX + code]
    assert rule.releases == next(one.releases for one in every if one.code == rule.code)
    assert rule.forbids and rule.instead and rule.releases and all(source in SOURCES for source in rule.source)


RIGHT = sorted(kernels("right"))


@pytest.mark.parametrize("name", RIGHT)
def test_no_rule_is_broken_by_a_kernel_that_is_right(name, tmp_path):
    text, target, lnc = kernels("right")[name]
    newest = newest_published().name
    every = found(text, target, lnc, tmp_path / "kernel.py")
    assert [(one.code, one.text) for one in every if newest in one.releases and one.level != "note"] == []


def test_each_instruction_that_breaks_a_rule_stands_in_a_kernel_that_is_right():
    right = set(re.findall(r"nisa\.(\w+)\(", " ".join(text for text, *_ in kernels("right").values())))
    broken = {name for text, *_ in kernels("broken").values() for name in re.findall(r"nisa\.(\w+)\(", text)}
    gone = {"tensor_copy_dynamic_src", "rsqrt", "activation_reduce"}
    assert broken - right - gone == set()


def test_a_rule_is_named_by_the_beginning_of_its_code():
    assert chosen(["E603"]) == chosen(["NBLE603"]) == {"NBLE603"}
    assert chosen(["E60"]) > {"NBLE602", "NBLE603"}


def test_a_code_is_never_used_twice():
    with pytest.raises(ValueError, match="the code is taken"):
        declare("E603", "", "", "isa", "D", RULES["NBLE603"].judges[0])
    with pytest.raises(ValueError, match="not known"):
        declare("E699", "", "", "nowhere", "D", RULES["NBLE603"].judges[0])
