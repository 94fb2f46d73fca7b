"""What a comparison ends with: what cannot be compared, which rules are broken."""

import json
from types import SimpleNamespace

import pytest

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.compare import page
from neff_bench.stage2_profile.compare.asked import CompareOptions
from neff_bench.stage2_profile.compare.baseline import Rows
from neff_bench.stage2_profile.compare.command import (
    Rule,
    about,
    broken_rules,
    check_common,
    compare_rows,
    parse_rule,
)
from neff_bench.stage2_profile.compare.verdict import Pair, Pairing
from tests.stage2_profile.compare.test_verdict import row


def pair(before=None, after=None, mixed=""):
    return Pair("mlp", row(**before or {}), row(**after or {}), mixed)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("total_time_us:5%", ("total_time_us", 5.0, False)),
        ("hbm_read_bytes:=0", ("hbm_read_bytes", 0.0, True)),
        ("mfu_percent:1.5%", ("mfu_percent", 1.5, False)),
    ],
)
def test_a_rule_is_a_metric_and_what_it_may_change(text, rule):
    assert parse_rule(text) == Rule(*rule)


RULES = [parse_rule("total_time_us:5%")]


@pytest.mark.parametrize(
    ("pairing", "lines"),
    [
        (Pairing([pair()]), []), (Pairing([], [], [row("x")]), ["x: not there any more"]), (Pairing([], [pair(mixed="lnc 1 against 2")]), ["mlp: not compared (lnc 1 against 2)"]),
        (Pairing([], [], [], [row("new")]), []), (Pairing([pair(after={"status": "failed", "reason": "broke", "total_time_us": None})]), ["mlp: broke"]),
        (Pairing([pair(after={"status": "captured", "check": "wrong"})]), ["mlp: captured"]), (Pairing([pair({"status": "failed"}, {"status": "failed"})]), []),
        (Pairing([pair(after={"check": "suspect"})]), ["mlp: check suspect, was passed"]), (Pairing([pair({"check": "wrong"}, {"check": "suspect"})]), []),
        (Pairing([pair(after={"check": "wrong", "total_time_us": 106.0})]), ["mlp: check wrong, was passed", "mlp: total_time_us 100 -> 106 (+6.00 %, allowed 5 %)"]),
    ],
)  # fmt: skip
def test_a_rule_is_broken_by_a_case_that_is_lost_failed_or_worse(pairing, lines):
    assert broken_rules(pairing, RULES) == lines


@pytest.mark.parametrize(
    ("pairing", "says"),
    [
        (Pairing([pair()]), None), (Pairing([pair({"status": "captured"})]), "old is not profiled yet; run: profile-neffs old"),
        (Pairing([pair(after={"status": "unprofiled"})]), "new is not profiled yet; run: profile-neffs new"), (Pairing([pair({"status": "captured"}), pair()]), None),
        (Pairing([], [pair(mixed="lnc 1 against 2")] * 2), "2 cases cannot be compared, such as mlp: lnc 1 against 2; --mixed compares them all the same"),
        (Pairing([], [], [row("x")], [row("y"), row("z")]), "no case in common: old has x, new has y"), (Pairing(), "no case in common: old has nothing, new has nothing"),
    ],
)  # fmt: skip
def test_something_must_be_comparable(pairing, says):
    if says is None:
        assert check_common(pairing, "old", "new") is None
    else:
        with pytest.raises(WrongCall) as caught:
            check_common(pairing, "old", "new")
        assert str(caught.value) == says


def test_a_baseline_says_what_it_was_made_with():
    environment = {
        "created": "2026",
        "tools": ["neuron-sim 1"],
        "models": ["m1"],
        "neff_bench": "0.1",
        "python": "3.11",
        "platform": "Linux",
    }
    assert about(Rows("b", [], environment)) == [
        "Baseline of 2026: neuron-sim 1, model m1; neff-bench 0.1, Python 3.11, Linux."
    ]
    assert about(Rows("b", [], {"created": "2026"})) == [
        "Baseline of 2026: no tool; neff-bench None, Python None, None."
    ]
    assert about(SimpleNamespace(environment={})) == []


@pytest.mark.parametrize(
    ("given", "before", "after"),
    [({"second": "b"}, "a", ["b"]), ({"second": "b", "more": ("c",)}, "a", ["b", "c"]), ({"baseline": "b"}, None, ["a"]), ({"between": ("nki", "nkilib")}, "a", ["a"])],
)  # fmt: skip
def test_a_page_has_the_timelines_of_the_sides_that_are_profiles(tmp_path, monkeypatch, given, before, after):
    asked, rows = [], [row("x", implementation="nki"), row("y", implementation="nkilib")]
    for name in "abc":
        (tmp_path / name).write_text(json.dumps({"schema": 1, "rows": rows}))
    paths = {
        name: tuple(tmp_path / one for one in said)
        if name == "more"
        else said
        if name == "between"
        else tmp_path / said
        for name, said in given.items()
    }
    monkeypatch.setattr(
        page, "comparison_page", lambda grids, pairings, a, others: asked.append((a, list(others))) or b"page"
    )
    assert compare_rows(CompareOptions(first=tmp_path / "a", output=tmp_path / "x.html", **paths)) == 0
    assert (
        asked == [(before and tmp_path / before, [tmp_path / one for one in after])]
        and (tmp_path / "x.html").read_bytes() == b"page"
    )
