"""`neff-bench history`: add, check, show, export."""

import csv
import json
import sqlite3
import subprocess
import sys
import threading

import pytest
from click.testing import CliRunner

from neff_bench.history import database
from neff_bench.history.cli import history as command
from neff_bench.history.database import SeriesKey

ROW = {
    "case": "mlp_nki_b1_s128_bfloat16_trn2_lnc1", "kernel": "mlp", "implementation": "nki", "b": 1, "s": 128, "dtype": "bfloat16",
    "target": "trn2", "lnc": 1, "source": "simulated", "status": "profiled", "check": "passed", "total_time_us": 30.0,
    "hbm_read_bytes": 1000, "compile_time_s": 1.0, "model": "trn2-2.aaaa", "tool": "neuron-sim 0.1",
}  # fmt: skip


@pytest.fixture
def history(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(command, [str(word) for word in words])


@pytest.fixture
def add(history, tmp_path):
    def call(number, **changed):
        (tmp_path / "rows.json").write_text(json.dumps([{**ROW, **changed}]))
        done = history("add", "rows.json", "--commit", f"c{number}", "--date", f"2026-01-{number:02d}")
        assert done.exit_code == 0, done.stderr

    return call


def test_a_slower_kernel_is_told_and_fails_the_check(history, add):
    for number in (1, 2, 3):
        add(number)
    add(4, total_time_us=31.5)
    done = history("check", "--format", "json")
    [time, _] = json.loads(done.stdout)
    assert done.exit_code == 1 and done.stderr.startswith("error: ") and "total_time_us" in done.stderr
    assert (time["metric"], time["before"], time["after"], time["verdict"]) == ("total_time_us", 30.0, 31.5, "worse")
    [event] = json.loads(history("show", "--format", "json").stdout)
    assert (event["commit"], event["verdict"]) == ("c4", "worse")


def test_show_keeps_to_the_metric_and_the_cases_that_are_named(history, add):
    add(1)
    add(2, total_time_us=0.0, hbm_read_bytes=900)

    def shown(*words):
        return {event["metric"] for event in json.loads(history("show", "--format", "json", *words).stdout or "[]")}

    assert shown() == {"total_time_us", "hbm_read_bytes"}
    assert shown("--metric", "hbm_read_bytes") == {"hbm_read_bytes"}
    assert shown("--only", "mlp_*") == {"total_time_us", "hbm_read_bytes"}
    assert "mlp" not in history("show", "--only", "softmax_*").stdout


def test_an_improvement_passes_and_is_told(history, add):
    add(1)
    add(2, hbm_read_bytes=900)
    done = history("check", "--format", "json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert [judged["verdict"] for judged in json.loads(done.stdout)] == ["better", "same"]


def test_only_the_newest_commits_are_judged(history, add):
    add(1)
    add(2, total_time_us=31.0)
    add(3, total_time_us=31.0)
    assert history("check").exit_code == 0
    assert history("check", "--last", 2).exit_code == 1
    assert "c2" in history("show").stdout


def test_a_new_model_begins_a_new_series_and_says_so(history, add):
    add(1)
    add(2, model="trn2-3.bbbb", total_time_us=99.0)
    done = history("check")
    assert done.exit_code == 0
    assert "a new series by trn2-3.bbbb begins" in done.stderr


def test_simulated_and_measured_values_are_never_joined(history, add):
    add(1)
    add(2, source="measured", tool="neuron-explorer 2.29", total_time_us=99.0)
    done = history("check")
    assert done.exit_code == 2
    assert "source simulated against measured" in done.stderr


def test_the_time_to_compile_is_not_kept(history, add):
    add(1)
    add(2, compile_time_s=50.0)
    assert "SAME: by total time, counters and checks, nothing changed in 1 case." in history("check").stdout


def test_a_commit_that_is_added_again_replaces_its_values(history, add):
    add(1)
    add(2, total_time_us=99.0)
    add(2)
    assert history("check").exit_code == 0


def test_what_was_added_is_told_and_what_it_replaced(history, tmp_path):
    (tmp_path / "rows.json").write_text(json.dumps([ROW]))
    words = ("add", "rows.json", "--commit", "0123456789abcdef", "--date", "2026-01-01")
    told = [history(*words).stderr.strip() for _ in range(2)]
    assert told == ["1 row, 2 values at 0123456789ab", "1 row, 2 values at 0123456789ab, 2 of them replaced"]
    (tmp_path / "rows.json").write_text(json.dumps([{"case": "x", "status": "unprofiled"}]))
    done = history(*words)
    assert (done.exit_code, "rows.json: no row to add that was profiled or failed" in done.stderr) == (2, True)


def test_show_prints_the_changes_of_all_cases_in_the_order_of_their_commits(history, tmp_path):
    for number, (one, other) in enumerate(((30.0, 2.0), (30.0, 1.0), (31.5, 1.0), (0.0, 1.0), (1.0, 1.0)), 1):
        rows = [{**ROW, "total_time_us": one}, {**ROW, "case": "another", "kernel": "another", "total_time_us": other}]
        (tmp_path / "rows.json").write_text(json.dumps(rows))
        history("add", "rows.json", "--commit", f"0123456789ab{number}", "--date", f"2026-01-0{number}")
    assert history("show", "--format", "md").stdout.splitlines() == [
        "| commit | case | metric | before | after | change | verdict |",
        "| :--- | :--- | :--- | ---: | ---: | ---: | :--- |",
        "| 0123456789ab | another nki b1 s128 bfloat16 trn2/1 | total_time_us | 2 | 1 | -50.00 % | better |",
        "| 0123456789ab | mlp nki b1 s128 bfloat16 trn2/1 | total_time_us | 30 | 31.5 | +5.00 % | worse |",
        "| 0123456789ab | mlp nki b1 s128 bfloat16 trn2/1 | total_time_us | 31.5 | 0 | -100.00 % | better |",
        "| 0123456789ab | mlp nki b1 s128 bfloat16 trn2/1 | total_time_us | 0 | 1 |  | worse |",
    ]
    assert json.loads(history("show", "--format", "json", "--only", "other", "--only", "anoth*").stdout) == [
        {
            "commit": "0123456789ab2", "date": "2026-01-02T00:00:00+00:00", "case": "another", "source": "simulated",
            "made_by": "trn2-2.aaaa", "machine": "", "metric": "total_time_us", "before": 2.0, "after": 1.0, "percent": -50.0,
            "verdict": "better",
        }
    ]  # fmt: skip


def test_a_measured_change_says_how_many_values_speak_for_it(history, tmp_path):
    with database.opened(tmp_path / "history", write=True) as connection:
        for number in range(14):
            time = 10 + 10 * (number >= 9) + 0.01 * (number % 3)
            rows = [(SeriesKey("m", "measured", "t", "mine"), "m", {"total_time_us": time}, {})]
            database.add(connection, f"c{number}", f"2026-01-{number + 1:02d}", "", rows)
    assert history("show").stdout.rstrip().endswith("worse (5 values)")
    assert json.loads(history("show", "--format", "json").stdout)[0]["machine"] == "mine"


def test_only_the_name_of_a_case_wraps_where_the_terminal_is_narrow(history, add, monkeypatch):
    add(1)
    add(2, total_time_us=31.5)
    monkeypatch.setenv("COLUMNS", "70")
    _, _, *lines = history("show").stdout.splitlines()
    assert len(lines) > 1 and " total_time_us " in lines[0] and lines[0].endswith(" worse")
    assert all(line.strip() in "mlp nki b1 s128 bfloat16 trn2/1" for line in lines[1:])


def test_nothing_changed_is_said_to_people_and_is_an_empty_list_to_programs(history, add):
    add(1)
    answers = [history("show", "--format", format_).stdout for format_ in ("table", "md", "json")]
    assert answers[:2] == ["no change\n"] * 2 and json.loads(answers[2]) == []


def test_the_first_commit_is_compared_with_nothing(history, add):
    add(1)
    done = history("check")
    assert done.exit_code == 0
    assert done.stdout == "nothing to compare with: the history has no commit before\n"


def test_without_a_word_the_command_says_what_it_does(history):
    done = history()
    assert done.exit_code == 0 and done.stdout.startswith("Usage: history [OPTIONS] [COMMAND]")


def test_help_says_what_holds_where_nothing_is_said(history):
    said = {word: " ".join(history(word, "--help").stdout.split()) for word in ("add", "check", "show")}
    assert all("[default: history]" in one for one in said.values())
    assert all("[default: table]" in said[word] for word in ("check", "show"))
    assert "[default: 1; x>=1]" in said["check"]


def test_a_row_that_failed_is_enough_to_add(history, tmp_path):
    (tmp_path / "rows.json").write_text(json.dumps([{"case": "x", "status": "failed"}]))
    assert history("add", "rows.json", "--commit", "c").stderr == "1 row, 0 values at c\n"


def test_a_machine_is_what_its_owner_calls_it(history, tmp_path):
    (tmp_path / "rows.json").write_text(json.dumps([{**ROW, "source": "measured"}]))
    history("add", "rows.json", "--commit", "c", "--machine", "mine")
    with database.opened(tmp_path / "history") as connection:
        assert [one.key.machine for one in database.series(connection)] == ["mine"]


def test_show_is_a_table_of_changes(history, add):
    add(1)
    add(2, total_time_us=0.0, hbm_read_bytes=1100)
    add(3, total_time_us=30.0, hbm_read_bytes=1100)
    assert len(history("show", "--format", "csv").stdout.splitlines()) == 4
    table = history("show").stdout
    assert "+10.00 %" in table and "-100.00 %" in table and table.count("better") == 1 and table.count("worse") == 2
    assert history("show", "--metric", "none").stdout == "no change\n"


@pytest.mark.parametrize("beside", [0, 1])
def test_a_case_that_no_longer_builds_got_worse_and_comes_back_better(history, add, tmp_path, beside):
    add(1)
    add(2)
    rows = json.loads((tmp_path / "rows.json").read_text())
    others = [{**rows[0], "case": "other"}] * beside
    for number, row in (
        (3, {"case": ROW["case"], "status": "failed", "check": "not built", "reason": "k.py:3: no"}),
        (4, rows[0]),
    ):
        (tmp_path / "rows.json").write_text(json.dumps([row, *others]))
        assert history("add", "rows.json", "--commit", f"c{number}", "--date", f"2026-01-{number:02d}").exit_code == 0
        done = history("check")
        assert done.exit_code == (1 if number == 3 else 0)
        assert "k.py:3: no" in done.stdout
    assert f"1 of {1 + beside} case{'s' * bool(beside)} got better, none got worse." in done.stdout


def test_a_history_of_an_earlier_version_is_read(history, add, tmp_path):
    add(1)
    add(2, total_time_us=31.0)
    with sqlite3.connect(tmp_path / "history" / database.FILE) as connection:
        connection.execute("DROP TABLE rows")
        connection.execute("PRAGMA user_version = 1")
    assert "total_time_us" in history("check").stdout
    add(3, total_time_us=31.0)
    assert "SAME" in history("check").stdout


def test_commits_are_ordered_by_their_dates(history, add):
    add(3, total_time_us=31.0)
    add(1)
    add(2)
    assert history("check").exit_code == 1
    assert "c3" in history("show").stdout


def test_the_commit_is_the_one_checked_out(history, tmp_path):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "Faster | <b>"], check=True)
    (tmp_path / "rows.json").write_text(json.dumps([ROW]))
    assert history("add", "rows.json").exit_code == 0
    with database.opened(tmp_path / "history") as connection:
        [commit] = database.commits(connection)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    assert (commit.sha, commit.subject) == (head, "Faster | <b>")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("check", "--db", "nowhere"), "no history"),
        (("add", "rows.json"), "not a git checkout"),
        (("add", "rows.json", "--date", "2026-01-01"), "--date needs --commit"),
        (("add", "none.json", "--commit", "x"), "none.json"),
        (("check", "--db", "rows.json"), "Directory 'rows.json' is a file"),
        (("--output", "."), "File '.' is a directory"),
        (("check", "--last", "0"), "0 is not in the range x>=1"),
        (("--output", "page.html", "show"), "--output goes without a subcommand"),
        (("add", "rows.json", "--commit", "x", "--date", "yesterday"), "expected ISO 8601"),
        (("--output", "page.pdf"), ".html, .parquet, .csv"),
        (("--output", "page.html", "--link", "javascript:alert(1)"), "expected an address"),
    ],
)
def test_a_wrong_call_is_one_line(history, tmp_path, words, message):
    (tmp_path / "rows.json").write_text(json.dumps([ROW]))
    done = history(*words)
    assert done.exit_code == 2
    assert message in done.stderr and len(done.stderr.splitlines()) == 1


def test_two_writers_lose_nothing(tmp_path):
    program = (
        "import sys; from pathlib import Path; from neff_bench.history import database as d\n"
        "for n in range(40):\n"
        "    with d.opened(Path('h'), write=True) as c:\n"
        "        key = d.SeriesKey(f'{sys.argv[1]}{n}', 'simulated', 'm', '')\n"
        "        d.add(c, f'c{n}', f'2026-01-01T00:00:{n:02d}', '', [(key, 'x', {'total_time_us': 1.0}, {})])\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, name], cwd=tmp_path) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    with database.opened(tmp_path / "h") as connection:
        assert len(database.series(connection)) == 80
        assert sum(len(values) for _, _, _, values in database.points(connection)) == 80


def test_the_first_writer_waits_for_another_one(tmp_path):
    other = sqlite3.connect(tmp_path / database.FILE, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.2, lambda: other.execute("COMMIT")).start()
    with database.opened(tmp_path, write=True) as connection:
        assert database.series(connection) == []


def test_a_killed_writer_leaves_the_history_as_it_was(tmp_path):
    with database.opened(tmp_path / "h", write=True) as connection:
        database.add(connection, "a", "2026-01-01", "", [(SeriesKey("x", "simulated", "m", ""), "x", {"m": 1.0}, {})])
    program = (
        "import time; from pathlib import Path; from neff_bench.history import database as d\n"
        "with d.opened(Path('h'), write=True) as c:\n"
        "    d.add(c, 'b', '2026-01-02', '', [(d.SeriesKey('x', 'simulated', 'm', ''), 'x', {'m': 2.0}, {})])\n"
        "    print('written', flush=True); time.sleep(60)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert writer.stdout.readline() == "written\n"
    writer.kill()
    writer.wait()
    writer.stdout.close()
    with database.opened(tmp_path / "h") as connection:
        assert [values for _, _, _, values in database.points(connection)] == [[1.0]]


def test_the_export_has_one_line_for_each_value(history, add, tmp_path):
    add(1)
    add(2, total_time_us=31.0)
    assert history("--output", "points.csv").exit_code == 0
    with (tmp_path / "points.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["sha"] for row in rows} == {"c1", "c2"}
    assert [row["value"] for row in rows if row["metric"] == "total_time_us"] == ["30.0", "31.0"]
    import pyarrow.parquet as pq

    assert history("--output", "points.parquet").exit_code == 0
    assert pq.read_table(tmp_path / "points.parquet").num_rows == len(rows)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "UPDATE points SET value = 'slow'",
            "value: found 'slow', expected float, in (1, 'hbm_read_bytes', 1, 'slow')",
        ),
        ("UPDATE commits SET date = x'00'", "date: found b'\\x00', expected str, in (1, 'c1', b'\\x00', '')"),
        ("UPDATE series SET case_name = x'00'", "case_name: found b'\\x00', expected str"),
        ("UPDATE rows SET record = '[1]'", "Expected `object`, got `array`"),
        ("UPDATE rows SET record = '{'", "Input data was truncated"),
        (
            """UPDATE rows SET record = '{"case": "x", "dims": 1}'""",
            "Expected `object | null`, got `int` - at `$.dims`",
        ),
    ],
)
def test_a_value_of_another_type_is_one_line_with_its_place(history, add, tmp_path, monkeypatch, change, said):
    monkeypatch.setattr(
        database, "_TABLES", [table.replace("STRICT, ", "").replace("STRICT", "") for table in database._TABLES]
    )
    with database.opened(tmp_path / "history", write=True):
        pass  # tables of a version before they were STRICT
    add(1)
    add(2)
    with sqlite3.connect(tmp_path / "history" / database.FILE) as connection:
        connection.execute(change)
    done = history("check")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1), done.stderr
    assert f"history/{database.FILE}: {said}" in done.stderr


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 37), reason="this SQLite has no STRICT tables")
def test_a_table_takes_no_value_of_another_type(history, add, tmp_path):
    add(1)
    with sqlite3.connect(tmp_path / "history" / database.FILE) as connection:
        with pytest.raises(sqlite3.IntegrityError, match="cannot store TEXT value in REAL column points.value"):
            connection.execute("UPDATE points SET value = 'slow'")


def test_a_table_whose_name_is_damaged_is_one_line(history, add, tmp_path):
    """SQLite's message has the damaged name in it."""
    add(1)
    file = tmp_path / "history" / database.FILE
    file.write_bytes(file.read_bytes().replace(b"CREATE TABLE commits", b"CREATE TABLEEcomm\xdbts"))
    done = history("show")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1) and database.FILE in done.stderr, done.stderr
