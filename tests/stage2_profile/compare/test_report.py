"""The answer of a comparison, cell by cell and sentence by sentence."""

import pytest

from neff_bench.stage2_profile.compare.asked import CompareOptions
from neff_bench.stage2_profile.compare.comparison import COMPARED, Difference
from neff_bench.stage2_profile.compare.report import FIELDS, MAX_NAMED, _asked, answer, metrics_answer, summary, table
from neff_bench.stage2_profile.compare.verdict import Pair, Pairing
from neff_bench.stage2_profile.metrics.metric import Metric
from neff_bench.stage2_profile.metrics.rows import METRICS
from tests.stage2_profile.compare.test_verdict import row


def options(**changes):
    return CompareOptions(first="a", **changes)


def pair(before=None, after=None, label="mlp", mixed=""):
    return Pair(label, row(**before or {}), row(**after or {}), mixed)


SLOWER = pair(after={"total_time_us": 102.0})
MEASURED = {"source": "measured", "model": None}
NOISY = pair({**MEASURED, "total_time_iqr_us": 8.0}, {**MEASURED, "total_time_us": 103.0, "total_time_iqr_us": 8.0})


def test_the_table_has_a_line_for_what_differs_and_a_count_of_the_rest():
    grid = table(Pairing([SLOWER]), "old", "new", options(), ["note"])
    assert [(column.head, column.right, column.wraps) for column in grid.columns] == [
        ("case", False, True), ("metric", False, False), ("A", True, False), ("B", True, False), ("B/A", True, False), ("B is", False, False),
    ]  # fmt: skip
    assert grid.lines == [["mlp", "total_time_us", "100.000", "102.000", "1.0200", "worse"]]
    assert (
        grid.notes[:2] == ["A: old. B: new.", "1 of 2 values are the same; --all lists them."]
        and grid.notes[-1] == "note"
    )


def test_all_lines_are_listed_and_a_case_is_named_once():
    grid = table(Pairing([SLOWER, pair(label="other")]), "old", "new", options(list_all=True), [], "C")
    assert [line[0] for line in grid.lines] == ["mlp", "", "other", ""] and [line[-1] for line in grid.lines] == [
        "worse",
        "same",
        "same",
        "same",
    ]
    assert grid.columns[4].head == "C/A" and grid.notes[0] == "A: old. C: new." and "--all" not in " ".join(grid.notes)


@pytest.mark.parametrize(
    ("metric", "metrics", "list_all", "asked"),
    [
        ("total_time_us", (), False, True), ("mfu_percent", (), False, True), ("dma_packet_count", (), False, True), ("tensor_active_us", (), False, False), ("tensor_active_us", (), True, True),
        ("tensor_active_us", ("x", "tensor_*"), False, True), ("total_time_us", ("tensor_*",), True, False),
    ],
)  # fmt: skip
def test_totals_and_counters_are_shown_or_what_is_named(metric, metrics, list_all, asked):
    assert (
        _asked(Difference("c", metric, 1, 1, 1.0, None, "same"), metrics, list_all) == asked
        and not COMPARED["tensor_active_us"].exact
    )


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (NOISY, ["103.000", "1.0300", "cannot tell (B/A from 0.95 to 1.11)"]), (pair(MEASURED, {**MEASURED, "total_time_us": 103.0}), ["103.000", "1.0300", "cannot tell"]),
        (pair(after={"total_time_us": None}), ["-", "-", "cannot tell"]),
    ],
)  # fmt: skip
def test_a_line_says_the_ratio_and_where_it_may_lie(one, line):
    grid = table(Pairing([one]), "a", "b", options(metrics=("total_time_us",)), [])
    assert grid.lines == [["mlp", "total_time_us", "100.000", *line]]


def test_a_figure_of_which_neither_direction_is_better_has_changed():
    either = next(name for name, metric in COMPARED.items() if metric.better == "either")
    grid = table(Pairing([pair({either: 1}, {either: 2})]), "a", "b", options(metrics=(either,)), [])
    assert grid.lines[0][1:] == [either, "1", "2", "2.0000", "changed"]


def test_programs_get_every_metric_with_its_winner():
    found = answer(Pairing([SLOWER, pair(after={"total_time_us": 98.0}), NOISY]), None)
    totals = [record for record in found.records if record["metric"] == "total_time_us"]
    assert tuple(found.fields) == FIELDS and [tuple(record) for record in totals] == [FIELDS] * 3
    assert tuple(totals[0].values()) == ("mlp", "total_time_us", 100.0, 102.0, 1.02, 1.02, 1.02, "worse", "a")
    assert [record["winner"] for record in totals] == ["a", "b", None]
    lost = answer(Pairing([pair(after={"total_time_us": None})]), None).records[0]
    assert (lost["ratio"], lost["ratio_low"], lost["ratio_high"]) == (None, None, None)


def said(pairing, letter="B"):
    return table(pairing, "a", "b", options(), [], letter).notes[1:]


ERROR = {"time_error": "up to 20 % on hardware; counts are exact"}


@pytest.mark.parametrize(
    ("pairing", "says"),
    [
        (Pairing([SLOWER]), "B takes 1.0200 times the total time of A (1 case; by total time alone: 1 worse)."),
        (Pairing([SLOWER, pair(after={"total_time_us": 98.0})]), "B takes 0.9998 times the total time of A (2 cases, geometric mean; by total time alone: 1 worse, 1 better)."),
        (Pairing([SLOWER]), "SIMULATED: whether instructions and bytes are exact is not known. Hardware's time of each case differs from the simulated one by as much as nobody knows. Whether hardware has A and B in the same order: neff-bench explain SURE."),
        (Pairing([pair(ERROR, ERROR)]), "SIMULATED: instructions and bytes are exact. Hardware's time of each case differs from the simulated one by up to 20 %; counts are exact. Whether hardware has A and B in the same order: neff-bench explain SURE."),
        (Pairing([pair(after={"model": "m2"})]), "The times of A and B come from different models (m1, m2)."),
        (Pairing([pair(MEASURED, MEASURED)]), "Noise is not known where a case has one profiled execution; profile-neffs --captures 10 measures it."),
        (Pairing([pair(mixed="lnc 1 against 2")]), "Mixed: mlp: lnc 1 against 2."),
        (Pairing([], [pair(mixed="lnc 1 against 2")]), "Not compared, because of mlp (lnc 1 against 2). --mixed compares them."),
        (Pairing([], [], [row("x"), row("y")]), "Only in A: x; y."), (Pairing([], [], [], [row("z")]), "Only in B: z."),
        (Pairing([pair({"check": "wrong", "reason": "no"}, {"check": "wrong", "reason": "no"})]), "A and B: mlp_1: profiled, check wrong: no"),
        (Pairing([pair(after={"status": "failed", "check": None})]), "B: mlp_1: failed, check -"),
    ],
)  # fmt: skip
def test_the_whole_is_told_in_sentences(pairing, says):
    assert says in said(pairing)


def test_what_does_not_hold_is_not_said():
    assert not any("SIMULATED" in line or "Noise" in line for line in said(Pairing([NOISY])))
    assert not any("SIMULATED" in line for line in said(Pairing([SLOWER, NOISY])) + said(Pairing([])))
    assert not any("different models" in line or "Noise" in line or "check" in line for line in said(Pairing([SLOWER])))
    assert said(Pairing([])) == [] and not any(
        "takes" in line for line in said(Pairing([pair(after={"total_time_us": None})]))
    )
    other = Difference("c", "mfu_percent", 1.0, 2.0, 2.0, None, "better")
    assert summary(Pairing([NOISY]), [other], "B") == []


@pytest.mark.parametrize(("count", "more"), [(MAX_NAMED, ""), (MAX_NAMED + 2, " and 2 more")])
def test_ten_cases_are_named(count, more):
    assert f"Only in A: {'; '.join(f'c{at}' for at in range(10))}{more}." in said(
        Pairing([], [], [row(f"c{at}") for at in range(count)])
    )


def test_metrics_are_declared_with_what_is_known_of_them():
    found = metrics_answer(METRICS.values())
    records = {record["metric"]: record for record in found.records}
    assert records["total_time_us"] == {
        "metric": "total_time_us", "unit": "us", "better": "lower", "simulated": "estimated", "column": METRICS["total_time_us"].head, "meaning": METRICS["total_time_us"].meaning,
    }  # fmt: skip
    assert records["dma_packet_count"]["simulated"] == "exact" and records["tensor_active_us"]["column"].endswith(", %")
    assert {record["simulated"] for record in found.records} == {"exact", "estimated", "measured"}
    assert {record["better"] for record in found.records} == {"lower", "higher", "either", "-"}
    assert [column.wraps for column in found.grids[0].columns] == [False] * 5 + [True] and found.grids[0].lines[
        0
    ] == list(found.records[0].values())
    assert all(isinstance(metric, Metric) for metric in METRICS.values())
