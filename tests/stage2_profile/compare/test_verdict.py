"""Worse, better, same, cannot tell: one module decides, and `compare`, `gate` and `history check` say the same word."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from neff_bench.history.cli import history
from neff_bench.stage2_profile.compare.cli import compare
from neff_bench.stage2_profile.compare.comparison import pair_cases
from neff_bench.stage2_profile.compare.verdict import COUNTERS, Config, judge, of_intervals, verdict_of, word_of
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
