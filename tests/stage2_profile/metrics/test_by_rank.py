"""Summaries rank by rank, and which rank stands for a run."""

import json
from types import SimpleNamespace

import msgspec
import pytest

from neff_bench.parsers.errors import ParseError
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.capture.nrtpy import Times
from neff_bench.stage2_profile.metrics.by_rank import read_summaries, shown_execution, slowest, totals_s
from tests.stage2_profile.capture.test_runs import RUN


@pytest.mark.parametrize(
    ("totals", "rank"), [({}, 0), ({1: 2.0, 0: 1.0}, 1), ({2: 2.0, 1: 2.0, 0: 1.0}, 1), ({3: 0.0}, 3)]
)
def test_the_slowest_rank_is_the_first_of_equals(totals, rank):
    assert slowest(totals) == rank


def test_a_rank_takes_the_median_of_the_executions_whose_time_is_known():
    def times(*seconds):
        return [SimpleNamespace(total_time_s=each) for each in seconds]

    assert totals_s({0: times(1.0, None, 5.0, 2.0), 1: times(None), 2: []}) == {0: 2.0}


@pytest.fixture
def run(tmp_path):
    """A run of executions (rank, execution, total in seconds; None without a summary)."""

    def make(*executions):
        found = []
        for number, (rank, execution, total) in enumerate(executions):
            file = None if total is None else f"summary-{number}.json"
            if file:
                (tmp_path / file).write_text(json.dumps({"summary": [{"total_time": total}]}))
            found.append(runs.Execution(rank=rank, execution=execution, ntff=f"{number}.ntff", summary=file))
        return msgspec.structs.replace(RUN, schema=1, executions=tuple(found))

    return make


@pytest.mark.parametrize(
    ("executions", "shown", "totals"),
    [
        ((), None, []), (((0, 2, 1.0),), 0, [1.0]), (((0, 2, 1.0), (0, 4, 3.0)), 1, [1.0, 3.0]), (((0, 2, 1.0), (1, 2, 3.0)), 1, [3.0]), (((0, 2, 3.0), (1, 2, 1.0)), 0, [3.0]),
        (((0, 2, 2.0), (1, 2, 3.0), (0, 4, 2.0), (1, 4, 1.5)), 3, [3.0, 1.5]), (((1, 2, None), (0, 2, None)), 1, []),
    ],
)  # fmt: skip
def test_the_last_execution_of_the_slowest_rank_stands_for_a_run(tmp_path, run, executions, shown, totals):
    record = run(*executions)
    assert shown_execution(tmp_path, record) == shown
    assert [each.total_time_s for each in read_summaries(tmp_path, record)] == totals


def test_a_rank_is_read_by_its_number(tmp_path, run):
    record = run((0, 2, 1.0), (1, 2, 3.0), (1, 4, None))
    assert [[each.total_time_s for each in read_summaries(tmp_path, record, rank)] for rank in (0, 1, 2)] == [
        [1.0],
        [3.0],
        [],
    ]


def test_times_of_nrtpy_come_before_summaries_and_damage_names_its_file(tmp_path, run):
    record = msgspec.structs.replace(
        run((0, 2, 9.0)), timing="a", other_ranks=(runs.RankFiles(), runs.RankFiles({}, "c"))
    )
    for file, milliseconds in (("a", [2.0, 4.0]), ("c", [6.0])):
        times = Times("2.34", 2, 5, durations_ms=milliseconds, iterations=len(milliseconds))
        (tmp_path / file).write_bytes(msgspec.json.encode(times))
    assert [each.total_time_s for each in read_summaries(tmp_path, record)] == [0.006]
    assert [each.total_time_s for each in read_summaries(tmp_path, record, 0)] == [0.002, 0.004]
    (tmp_path / "c").write_bytes(b"{")
    with pytest.raises(ParseError, match="c"):
        read_summaries(tmp_path, record)
    record = run((0, 2, 1.0))
    (tmp_path / "summary-0.json").write_text("{")
    with pytest.raises(ParseError, match=r"summary-0\.json"):
        read_summaries(tmp_path, record)


def test_a_run_of_one_rank_is_shown_whatever_its_summaries_are(tmp_path, run):
    record = run((3, 2, 1.0), (3, 4, None))
    (tmp_path / "summary-0.json").write_text("{")
    assert shown_execution(tmp_path, record) == 1
