"""Worse, better, same, cannot tell: one module decides, and `compare`, `gate` and `history check` say the same word."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from neff_bench.history.cli import history
from neff_bench.stage2_profile.compare.cli import compare
from neff_bench.stage2_profile.compare.comparison import pair_cases
from neff_bench.stage2_profile.compare.verdict import (
    COUNTERS,
    Config,
    Judged,
    Pair,
    Pairing,
    change_percent,
    counted,
    first_failure,
    interval,
    judge,
    of_intervals,
    summary,
    verdict_of,
    word_of,
)
from neff_bench.stage2_profile.gate.cli import gate
from neff_bench.stage2_profile.metrics.rows import Row, to_dict


def row(case="mlp_1", **changes):
    fields = {
        "case": case,
        "kernel": "mlp",
        "implementation": "nkilib",
        "dims": (("b", 1),),
        "dtype": "bfloat16",
        "target": "trn2",
        "lnc": 2,
        "source": "simulated",
        "model": "m1",
        "status": "profiled",
        "check": "passed",
        "total_time_us": 100.0,
        "dma_packet_count": 50,
    }
    return to_dict(Row(**{**fields, **changes}))


def verdicts(before, after):
    found = judge(pair_cases([before], [after], False), Config())
    return {finding.metric: (finding.verdict, finding.fails) for finding in found}


def measured(low, high, **changes):
    interval = {"total_time_ci_low_us": low, "total_time_ci_high_us": high}
    return row(source="measured", model=None, total_time_us=(low + high) / 2, **interval, **changes)


def test_any_rise_of_a_counter_is_worse_and_a_fall_is_better():
    assert verdicts(row(), row(dma_packet_count=51))["dma_packet_count"] == ("worse", True)
    assert verdicts(row(), row(dma_packet_count=49))["dma_packet_count"] == ("better", False)
    assert verdicts(row(), row())["dma_packet_count"] == ("same", False)


def test_a_simulated_time_differs_from_a_stated_smallest_change_on():
    assert verdicts(row(), row(total_time_us=100.2))["total_time_us"] == ("worse", True)
    assert verdicts(row(), row(total_time_us=99.8))["total_time_us"] == ("better", False)
    assert verdicts(row(), row(total_time_us=100.05))["total_time_us"] == ("same", False)


def test_a_counter_that_rose_is_the_price_of_a_better_time():
    found = verdicts(row(), row(total_time_us=90.0, dma_packet_count=60))
    assert found == {"total_time_us": ("better", False), "dma_packet_count": ("worse", False)}


def test_times_of_two_models_tell_nothing_but_counters_do():
    found = verdicts(row(), row(model="m2", total_time_us=150.0, dma_packet_count=51))
    assert found == {"total_time_us": ("cannot tell", False), "dma_packet_count": ("worse", True)}


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        (measured(102.0, 103.0), "worse"),
        (measured(97.0, 98.0), "better"),
        (measured(99.8, 100.3), "same"),
        (measured(100.0, 105.0), "cannot tell"),
    ],
)
def test_a_measured_time_is_judged_by_its_interval(after, verdict):
    assert verdicts(measured(99.8, 100.2), after)["total_time_us"][0] == verdict


def test_one_measured_execution_has_no_noise_to_judge_by():
    one = row(source="measured", model=None)
    assert verdicts(one, row(source="measured", model=None, total_time_us=500.0))["total_time_us"][0] == "cannot tell"


def test_a_case_that_no_longer_builds_or_is_wrong_is_worse():
    assert verdicts(row(), row(status="failed", reason="no"))["status"] == ("worse", True)
    assert verdicts(row(status="failed"), row())["status"] == ("better", False)
    assert verdicts(row(status="failed"), row(status="failed"))["status"] == ("cannot tell", False)
    for check in ("wrong", "suspect", "not built"):
        assert verdicts(row(), row(check=check))["check"] == ("worse", True)


def test_a_case_that_is_gone_is_told():
    (finding,) = judge(pair_cases([row()], [], False), Config())
    assert (finding.verdict, finding.why) == ("cannot tell", "not there any more")


def test_a_number_is_its_own_interval():
    assert of_intervals((0.0, 0.0), (1.0, 1.0), 0.0) == "worse"
    assert of_intervals((3.0, 3.0), (3.0 + 1e-12, 3.0 + 1e-12), 0.0) == "same"


MEASURED = {"source": "measured", "model": None, "tool": "neuron-explorer 2.29", "total_time_iqr_us": 1.0}
ONCE = {**MEASURED, "total_time_iqr_us": None}
PAIRS = {
    "the same rows": ([row()], [row()], "same"),
    "a program that is faster": ([row()], [row(total_time_us=97.9)], "better"),
    "a program that is slower": ([row()], [row(total_time_us=102.0)], "worse"),
    "less than the smallest change": ([row()], [row(total_time_us=100.05)], "same"),
    "more packets in the same time": ([row()], [row(dma_packet_count=51)], "worse"),
    "more packets in less time": ([row()], [row(total_time_us=90.0, dma_packet_count=60)], "better"),
    "another model": ([row()], [row(model="m2", total_time_us=90.0)], "cannot tell"),
    "outputs that became wrong": ([row()], [row(check="wrong", reason="no")], "worse"),
    "a case that no longer builds": (
        [row("a"), row("b")],
        [
            row("a"),
            row("b", status="failed", check="not built", total_time_us=None, dma_packet_count=None, source=None),
        ],
        "worse",
    ),
    "measured within its noise": ([row(**MEASURED)], [row(**MEASURED, total_time_us=101.2)], "cannot tell"),
    "measured beyond its noise": ([row(**MEASURED)], [row(**MEASURED, total_time_us=120.0)], "worse"),
    "fewer packets in a time measured once": (
        [row(**ONCE)],
        [row(**ONCE, total_time_us=120.0, dma_packet_count=40)],
        "cannot tell",
    ),
    "measured once": ([row(**ONCE)], [row(**ONCE, total_time_us=120.0)], "cannot tell"),
    "one of two cases is better": ([row("a"), row("b")], [row("a"), row("b", total_time_us=90.0)], "better"),
    "nothing in common": ([row("a", kernel="a")], [row("b", kernel="b")], None),
}


@pytest.mark.parametrize("name", PAIRS)
def test_compare_gate_and_history_say_one_word_and_end_with_one_code(name, tmp_path, monkeypatch):
    before, after, word = PAIRS[name]

    monkeypatch.chdir(tmp_path)
    for number, rows in enumerate((before, after), 1):
        Path(f"{number}.json").write_text(json.dumps(rows, sort_keys=number == 2))
        done = CliRunner().invoke(
            history, ["add", f"{number}.json", "--commit", f"c{number}", "--date", f"2026-01-0{number}"]
        )
        assert done.exit_code == 0, done.output
    calls = (compare, ["1.json", "2.json"]), (gate, ["1.json", "2.json"]), (history, ["check"])
    answers = [CliRunner().invoke(*call) for call in calls]
    codes = {done.exit_code for done in answers}
    assert codes == {2 if word is None else int(word == "worse")}, [done.output for done in answers]
    if word is not None:
        assert all(f"\n{word.upper()}: " in f"\n{done.stdout}" for done in answers), [done.stdout for done in answers]
        assert word_of(judge(pair_cases(before, after, False), Config())) == word


@pytest.mark.parametrize(
    ("model", "why"), [("m1", "a side has no range"), ("m2", "simulated by two models, m1 and m2")]
)
def test_a_time_without_a_range_says_why_nobody_can_tell(model, why):
    other = row(implementation="nki", model=model, total_time_us=130.0)
    assert verdict_of(row(), other, "total_time_us") == ("cannot tell", why)


def test_the_guide_names_what_is_judged():
    page = (Path(__file__).parents[3] / "docs" / "history.md").read_text(encoding="utf-8")
    judged = ", ".join(f"`{name}`" for name in COUNTERS)
    assert f"Judged are `{Config().times[0]}` and six counters ({judged})" in page and len(COUNTERS) == 6


@pytest.mark.parametrize(
    ("before", "after", "percent"),
    [(4, 5, 25.0), (4, 3, -25.0), (-4, -5, -25.0), (0, 0, 0.0), (0, 2, float("inf")), (0, -2, float("-inf"))],
)
def test_a_change_is_a_percentage_of_what_was_before(before, after, percent):
    assert change_percent(before, after) == percent
    assert Judged("c", "c", "m", before, after, "same").change_percent == (percent if before else None)
    assert Judged("c", "c", "m", None, after, "same").change_percent is None
    assert Judged("c", "c", "m", before, "text", "same").change_percent is None


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ((100, 100), (101, 101), "same"), ((100, 100), (101.1, 102), "worse"), ((100, 100), (98, 98.9), "better"),
        ((100, 100), (99, 101), "same"), ((100, 100), (98.9, 101), "cannot tell"), ((100, 100), (99, 101.1), "cannot tell"),
        ((90, 100), (101.1, 120), "worse"), ((90, 100), (100.5, 120), "cannot tell"), ((100, 110), (90, 98.9), "better"),
    ],
)  # fmt: skip
def test_intervals_decide_beyond_the_smallest_change(before, after, verdict):
    assert of_intervals(before, after, 1.0) == verdict


SIMULATED = row(total_time_low_us=80.0, total_time_high_us=150.0, mfu_percent=10.0)
OTHER = {"implementation": "nki"}


@pytest.mark.parametrize(
    ("one", "other", "name", "found"),
    [
        (SIMULATED, row(), "total_time_us", (100.0, 100.0)),
        (SIMULATED, row(**OTHER), "total_time_us", (80.0, 150.0)),
        (SIMULATED, row(source="measured"), "total_time_us", (80.0, 150.0)),
        (SIMULATED, row(**OTHER), "mfu_percent", (pytest.approx(10 / 1.5), pytest.approx(12.5))),
        (SIMULATED, row(**OTHER), "dma_packet_count", (50, 50)),
        (SIMULATED, row(), "hbm_read_bytes", None),
        (row(total_time_low_us=80.0), row(**OTHER), "total_time_us", None),
        (row(total_time_high_us=80.0), row(**OTHER), "total_time_us", None),
        (row(source="measured", total_time_iqr_us=8.0), row(), "total_time_us", (96.0, 104.0)),
        (row(source="measured", total_time_iqr_us=300.0), row(), "total_time_us", (0.0, 250.0)),
        (row(source="measured", total_time_iqr_us=200.0, mfu_percent=10.0), row(), "mfu_percent", (5.0, float("inf"))),
        (row(source="measured", total_time_iqr_us=8.0, total_time_ci_low_us=99.0, total_time_ci_high_us=102.0), row(), "total_time_us", (99.0, 102.0)),
        (row(source="measured", total_time_iqr_us=8.0, total_time_ci_low_us=99.0), row(), "total_time_us", (96.0, 104.0)),
        (row(total_time_iqr_us=8.0), row(**OTHER), "total_time_us", None),
        (row(source="measured"), row(), "total_time_us", None),
    ],
)  # fmt: skip
def test_a_number_lies_where_its_row_says(one, other, name, found):
    assert interval(one, other, name) == found


def test_what_overlaps_says_both_intervals():
    slower = row(source="measured", total_time_us=103.0, total_time_iqr_us=8.0)
    why = "96 to 104 and 99 to 107 overlap"
    assert verdict_of(row(source="measured", total_time_iqr_us=8.0), slower, "total_time_us") == ("cannot tell", why)
    assert verdict_of(row(), row(total_time_us=None), "total_time_us") == ("cannot tell", "known on one side only")
    assert verdict_of(row(total_time_us=100.0), row(total_time_us=100.00000005), "total_time_us") == ("same", "")


@pytest.mark.parametrize(("after", "verdict"), [(12.0, "better"), (8.0, "worse"), (10.005, "same")])
def test_more_of_a_rate_is_better(after, verdict):
    assert verdict_of(SIMULATED, {**SIMULATED, "mfu_percent": after}, "mfu_percent") == (verdict, "")


def one(verdict, case="a", metric="total_time_us", fails=None, why=""):
    return Judged(case, case, metric, 1.0, 2.0, verdict, why, verdict == "worse" if fails is None else fails)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([], "NOTHING TO JUDGE: no case is on both sides."),
        ([one("worse"), one("same", "b")], "WORSE: by total time, counters and checks, 1 of 2 cases got worse."),
        ([one("worse"), one("better", "b")], "WORSE: by total time, counters and checks, 1 of 2 cases got worse; 1 got better."),
        ([one("better"), one("same")], "BETTER: by total time, counters and checks, 1 of 1 case got better, none got worse."),
        ([one("better"), one("worse", metric="hbm_read_bytes", fails=False)], "BETTER: by total time, counters and checks, 1 of 1 case got better, none got worse."),
        ([one("cannot tell"), one("better", metric="hbm_read_bytes")], "CANNOT TELL: by total time, counters and checks, none is known to have got worse or better, of 1 case."),
        ([one("cannot tell", metric="hbm_read_bytes"), one("better")], "BETTER: by total time, counters and checks, 1 of 1 case got better, none got worse."),
        ([one("same")], "SAME: by total time, counters and checks, nothing changed in 1 case."),
    ],
)  # fmt: skip
def test_one_word_is_said_of_all_cases(found, said):
    assert summary(found) == said


def test_numbers_are_counted_by_their_verdict():
    found = [one("same"), one("worse"), one("same", "b")]
    assert counted(found) == "Numbers judged, over all cases: 1 worse, 2 same."


def test_the_first_failure_is_told_or_that_nothing_was_judged():
    unknown = one("cannot tell", metric="status", why="lost")
    assert first_failure([unknown, one("worse", "b")]) == "worse: b: total_time_us 1.0 -> 2.0"
    assert first_failure([unknown]) == "nothing was judged: a: lost"
    assert first_failure([one("cannot tell", metric="status")]) == "nothing was judged: a: no numbers on either side"
    assert first_failure([unknown, one("same", "b")]) is None and first_failure([]) is None
    assert first_failure([one("cannot tell")]) is None


@pytest.mark.parametrize(
    ("before", "after", "metric", "verdict", "why"),
    [
        ({}, {"status": "failed", "reason": "broke"}, "status", "worse", "broke"),
        ({"status": "failed", "reason": "was"}, {}, "status", "better", "was"),
        ({"status": "estimated"}, {"status": "failed"}, "status", "worse", ""),
        ({}, {"status": "built", "reason": "later"}, "status", "cannot tell", "later"),
        ({"status": "failed"}, {"status": "failed", "reason": "still"}, "status", "cannot tell", "still"),
        ({}, {"check": "wrong", "reason": "wrong"}, "check", "worse", "wrong"),
        ({"check": "wrong"}, {}, "check", "better", ""),
        ({}, {"check": "unchecked"}, "check", "cannot tell", ""),
        ({"check": None}, {"check": "wrong"}, "check", "worse", ""),
    ],
)  # fmt: skip
def test_builds_and_checks_are_judged_before_numbers(before, after, metric, verdict, why):
    pairing = Pairing([Pair("label", row(**before), row(**after))])
    found = {each.metric: each for each in judge(pairing, Config())}
    assert (found[metric].verdict, found[metric].why, found[metric].label) == (verdict, why, "label")
    assert found[metric].fails == (verdict == "worse") and ("total_time_us" in found) == (metric == "check")


def test_a_check_that_appears_and_passes_is_not_told():
    found = judge(Pairing([Pair("l", row(check=None), row())]), Config())
    assert "check" not in {each.metric for each in found}


def test_what_is_refused_or_gone_cannot_be_told_and_comes_behind_what_got_worse():
    refused = Pair("mixed label", row("r"), row("r"), "target trn1 and trn2")
    worse = Pair("l", row("w"), row("w", dma_packet_count=51))
    found = judge(Pairing([worse], [refused], [row("gone")]), Config())
    assert [(each.label, each.verdict, each.why) for each in found if each.verdict != "same"] == [
        ("l", "worse", ""), ("mixed label", "cannot tell", "target trn1 and trn2"), ("gone", "cannot tell", "not there any more"),
    ]  # fmt: skip
    assert word_of(found) == "worse" and found[-1].verdict == "same"


def test_a_counter_is_no_price_where_another_time_got_worse():
    config = Config(times=("total_time_us", "tensor_active_us"))
    before, after = row(tensor_active_us=10.0), row(tensor_active_us=20.0, total_time_us=90.0, dma_packet_count=60)
    found = {each.metric: each for each in judge(Pairing([Pair("l", before, after)]), config)}
    assert found["dma_packet_count"].fails and found["total_time_us"].verdict == "better"
