"""The commit that rows belong to, and what a history keeps of a row."""

import os
import subprocess

import pytest

from neff_bench.history.database import SeriesKey
from neff_bench.history.errors import HistoryError
from neff_bench.history.record import At, here, kept, named

ROW = {"case": "c", "kernel": "k", "status": "profiled", "source": "simulated", "model": "m", "total_time_us": 3}


def test_the_commit_here_has_its_date_in_utc_and_the_first_line_of_its_message(tmp_path):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    at = {"GIT_COMMITTER_DATE": "2026-01-02T01:00:00+03:00", "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z"}
    message = "One line\n\nand more"
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", message], check=True, env={**os.environ, **at})
    found = here(tmp_path)
    assert (found.date, found.subject, len(found.sha)) == ("2026-01-01T22:00:00+00:00", "One line", 40)


def test_a_host_without_git_is_told_how_to_name_the_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HistoryError, match="git is not installed: name the commit with --commit SHA --date DATE"):
        here(tmp_path)


@pytest.mark.parametrize(
    ("date", "utc"),
    [
        ("2026-01-02", "2026-01-02T00:00:00+00:00"),
        ("2026-01-02T03:04:05", "2026-01-02T03:04:05+00:00"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05+00:00"),
        ("2026-01-02T03:04:05.250+05:00", "2026-01-01T22:04:05+00:00"),
    ],
)
def test_a_date_is_kept_in_utc_to_the_second(date, utc):
    assert named("abc", date) == At("abc", utc, "")


def test_a_row_that_says_nothing_that_is_compared_is_kept_without_values():
    for row in ({**ROW, "total_time_us": None}, {**ROW, "status": "failed"}, {"case": "c", "status": "unprofiled"}):
        [(key, _, values, _)] = kept([row], "mine")
        assert (key, values) == (SeriesKey("c", "", "", ""), {})


def test_values_are_floats_of_what_is_compared_and_words_are_none():
    row = {**ROW, "hbm_read_bytes": "many", "matmul_instruction_count": 2, "compile_time_s": 1.0, "another": 5}
    [(key, _, values, said)] = kept([row], "mine")
    assert key == SeriesKey("c", "simulated", "m", "")
    assert values == {"total_time_us": 3.0, "matmul_instruction_count": 2.0}
    assert all(isinstance(value, float) for value in values.values())
    assert said == {"case": "c", "kernel": "k", "status": "profiled", "source": "simulated", "model": "m"}


def test_what_the_verdict_on_a_time_needs_is_said_where_it_is_known():
    spread = {f"total_time_{end}_us": 1.0 for end in ("iqr", "ci_low", "ci_high", "low")}
    [(_, _, _, said)] = kept([{**ROW, **spread, "total_time_high_us": None, "lnc": 0}], None)
    assert {name for name in said if name.startswith("total")} == set(spread) and said["lnc"] == 0
