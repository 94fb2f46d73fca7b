"""`neff-bench view`: one timeline, as JSON, CSV or Parquet."""

import csv
import json

import pytest
from click.testing import CliRunner

from neff_bench.parsers.event_tables import read_timeline
from neff_bench.parsers.profile_json import read_profile, read_summary
from neff_bench.simulator.commands.capture import CaptureRequest, capture
from neff_bench.simulator.files.neff import write_neff
from neff_bench.viewer.cli import view
from tests.simulator.programs import matmul


@pytest.fixture
def captured(tmp_path, monkeypatch):
    """A simulated NEFF and its trace."""
    monkeypatch.chdir(tmp_path)
    write_neff(matmul(), "file.neff")
    capture(CaptureRequest("file.neff", "profile.ntff"))
    return tmp_path


def run(*words):
    return CliRunner().invoke(view, [str(word) for word in words])


def test_json_has_the_shape_that_our_own_readers_know(captured):
    done = run("file.neff", "profile.ntff", "--output", "x.json")
    assert done.exit_code == 0 and "SIMULATED" in done.stderr
    trace, again = read_timeline("profile.ntff"), read_timeline("x.json")
    assert (again.instructions, again.dma, again.semaphores) == (trace.instructions, trace.dma, trace.semaphores)
    assert again.simulated
    assert len(read_profile("x.json").instructions.pc) == len(trace.instructions)
    assert read_summary("x.json").total_time_s == trace.summary["total_time"]


def test_csv_and_parquet_hold_every_event_in_one_table(captured):
    timeline = read_timeline("profile.ntff")
    count = len(timeline.instructions) + len(timeline.dma) + len(timeline.semaphores)
    assert run("profile.ntff", "--output", "x.csv").exit_code == 0
    with open("x.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == count
    assert {row["table"] for row in rows} == {"instruction", "dma", "semaphore_update"}
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run("profile.ntff", "--output", "x.parquet").exit_code == 0
    assert parquet.read_table("x.parquet").num_rows == count


def test_several_files_say_where_each_event_is_from(captured):
    (captured / "again.ntff").write_bytes((captured / "profile.ntff").read_bytes())
    assert run("profile.ntff", "again.ntff", "--output", "x.json").exit_code == 0
    tables = json.loads((captured / "x.json").read_bytes())
    assert {row["file"] for row in tables["instruction"]} == {"profile.ntff", "again.ntff"}


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("profile.ntff", "--output", "x.html5"), 2, "unknown suffix"),
        (("file.neff", "--output", "x.json"), 2, "one trace or more"),
        (("file.neff", "file.neff", "profile.ntff", "--output", "x.json"), 2, "at most one NEFF"),
        (("none.ntff", "--output", "x.json"), 1, "none.ntff"),
    ],
)
def test_mistakes_are_one_line(captured, words, code, says):
    done = run(*words)
    assert done.exit_code == code and says in done.stderr and "Traceback" not in done.output
