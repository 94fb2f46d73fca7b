"""Which way a change goes, which series are exact, and what is kept of a row."""

import platform
from datetime import datetime, timezone

import pytest

from neff_bench.history import database
from neff_bench.history.changes import Change
from neff_bench.history.database import Series, SeriesKey
from neff_bench.history.record import At, kept, named
from neff_bench.history.verdicts import began, changes_of, direction, events, judged

ROW = {"case": "c", "status": "profiled", "source": "measured", "tool": "t 1", "model": "m", "total_time_us": 3.0}


@pytest.mark.parametrize(
    ("metric", "before", "after", "way"),
    [
        ("total_time_us", 2.0, 1.0, "better"),
        ("total_time_us", 1.0, 2.0, "worse"),
        ("mfu_percent", 1.0, 2.0, "better"),
        ("mfu_percent", 2.0, 1.0, "worse"),
        ("model_flops", 1.0, 2.0, "changed"),
        ("a metric of another version", 1.0, 2.0, "changed"),
    ],
)
def test_a_change_goes_the_way_that_its_metric_says(metric, before, after, way):
    assert direction(metric, Change(1, before, after)) == way


def test_a_named_commit_has_the_date_that_was_given():
    assert named("abc", "2026-01-02") == At("abc", "2026-01-02T00:00:00+00:00", "")


@pytest.mark.parametrize(
    ("source", "machine", "made_by", "where"),
    [
        ("simulated", "mine", "m", ""),
        ("measured", "mine", "t 1", "mine"),
        ("measured", None, "t 1", f"{platform.system()} {platform.machine()}"),
    ],
)
def test_only_a_measured_row_has_a_machine(source, machine, made_by, where):
    [(key, _, values, _)] = kept([{**ROW, "source": source}], machine)
    assert (key.made_by, key.machine, values["total_time_us"]) == (made_by, where, 3.0)


def test_a_row_without_a_profile_keeps_no_value():
    [(key, _, values, said)] = kept([{**ROW, "status": "failed"}], None)
    assert (key.made_by, values, said["status"]) == ("", {}, "failed")


def test_a_named_commit_without_a_date_is_of_now():
    before = datetime.now(timezone.utc).replace(microsecond=0)
    assert before <= datetime.fromisoformat(named("abc", None).date) <= datetime.now(timezone.utc)


@pytest.mark.parametrize(
    ("source", "metric", "places"),
    [("simulated", "total_time_us", [1, 2]), ("measured", "total_time_us", []), ("measured", "matmul_instruction_count", [1, 2])],
)  # fmt: skip
def test_times_that_were_measured_may_scatter_and_counters_may_not(source, metric, places):
    series = Series(1, SeriesKey("c", source, "m", ""), "c")
    assert [change.at for change in changes_of(series, metric, [10.0, 10.1, 10.0, 10.0])] == places


def test_a_change_from_nothing_has_no_percent():
    assert (Change(1, 0.0, 1.0).percent, Change(1, -2.0, -1.0).percent) == (None, 50.0)


def test_a_case_that_only_an_older_commit_has_is_not_gone_now(tmp_path):
    """`old` was gone before the window; `gone` is in the commit before it. Both ranks of a case are held against both."""
    with database.opened(tmp_path, write=True) as connection:
        for day, cases in enumerate((("old", "both"), ("gone", "both"), ("both",)), 1):
            rows = [
                (key, label, values, said)
                for case in cases
                for rank in ((0, 1) if case == "both" else (None,))
                for key, label, values, said in kept([{**ROW, "case": case, "rank": rank}], "mine")
            ]
            database.add(connection, f"{day:040x}", f"2026-01-{day:02d}T00:00:00+00:00", "", rows)
        of_last, of_all = judged(connection, 1), judged(connection, 3)
    assert of_all is None
    assert {one.case for one in of_last} == {"gone", "both"}


@pytest.fixture
def connection(tmp_path):
    with database.opened(tmp_path, write=True) as connection:
        yield connection


SIMULATED, MEASURED = SeriesKey("s", "simulated", "m", ""), SeriesKey("m", "measured", "t", "mine")


def test_every_change_has_its_commit_and_a_measured_one_how_many_values_speak_for_it(connection):
    for number in range(14):
        late = number >= 9
        rows = [
            (SIMULATED, "s", {"total_time_us": 1.0 + late, "same": 3.0}, {}),
            (MEASURED, "m", {"total_time_us": 20.0 - 9 * late + 0.01 * (number % 3), "mfu_percent": 1.0}, {}),
        ]
        database.add(connection, f"c{number}", f"2026-01-{number + 1:02d}", "", rows)
    found = [(one.series.key, one.metric, one.commit.sha, one.verdict, one.doubt) for one in events(connection)]
    assert found == [
        (SIMULATED, "total_time_us", "c9", "worse", None),
        (MEASURED, "total_time_us", "c9", "better", 5),
    ]


def test_a_change_is_told_at_its_own_commit_where_others_have_no_value(connection):
    for number, value in enumerate((1.0, None, 1.0, None, 2.0, None)):
        rows = [(SIMULATED, "s", {} if value is None else {"total_time_us": value}, {})]
        database.add(connection, f"c{number}", f"2026-01-0{number + 1}", "", rows)
    [one] = events(connection)
    assert (one.commit.sha, one.change) == ("c4", Change(2, 1.0, 2.0))


@pytest.mark.parametrize(("newest", "names"), [(1, ["two"]), (2, ["two", "three"]), (3, ["two", "three"]), (4, [])])
def test_a_series_begins_where_its_case_is_older_than_its_first_value(connection, newest, names):
    """Models one to three of a case; another case is new, with a model of its own."""
    made = (["one"], ["one"], ["one", "three"], ["one", "three", "two"])
    for number, models in enumerate(made):
        rows = [(SeriesKey("s", "simulated", model, ""), "s", {"x": 1.0, "y": 2.0}, {}) for model in models]
        if number == 3:
            rows.append((SeriesKey("new", "simulated", "m", ""), "new", {"x": 1.0}, {}))
        database.add(connection, f"c{number}", f"2026-01-0{number + 1}", "", rows)
    assert {one.key.made_by for one in began(connection, newest)} == set(names)


def test_a_series_whose_case_failed_before_it_begins_too(connection):
    failed = SeriesKey("s", "", "", "")
    database.add(connection, "a", "2026-01-01", "", [(failed, "s", {}, {"case": "s", "status": "failed"})])
    database.add(connection, "b", "2026-01-02", "", [(SIMULATED, "s", {"x": 1.0}, {})])
    assert [one.key for one in began(connection, 1)] == [SIMULATED]


def test_the_newest_row_of_a_case_is_held_against_the_newest_before_the_window(connection):
    for day, time in enumerate((9.0, 5.0, 7.0, 6.0), 1):
        row = {**ROW, "source": "simulated", "total_time_us": time}
        database.add(connection, f"{day:040x}", f"2026-01-{day:02d}", "", kept([row], None))
    found = {last: judged(connection, last) for last in (1, 2, 3, 4, 5)}
    assert found[4] is found[5] is None
    times = {
        last: [(one.before, one.after) for one in found[last] if one.metric == "total_time_us"] for last in (1, 2, 3)
    }
    assert times == {1: [(7.0, 6.0)], 2: [(5.0, 6.0)], 3: [(9.0, 6.0)]}


def test_a_case_that_the_commit_before_did_not_have_is_held_against_an_older_one(connection):
    for day, cases in enumerate((("back", "b"), ("b",), ("back", "b")), 1):
        rows = [{**ROW, "case": case, "source": "simulated", "total_time_us": float(day)} for case in cases]
        database.add(connection, f"{day:040x}", f"2026-01-{day:02d}", "", kept(rows, None))
    times = {one.case: (one.before, one.after) for one in judged(connection, 1) if one.metric == "total_time_us"}
    assert times == {"back": (1.0, 3.0), "b": (2.0, 3.0)}
