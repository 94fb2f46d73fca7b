"""`neff-bench view`: one timeline, as JSON, CSV or Parquet."""

import csv
import html
import json
import operator
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import neff_bench
from neff_bench.doors.timelines import NO_WAITS
from neff_bench.doors.view_cli import view
from neff_bench.parsers.event_tables import read_timeline
from neff_bench.parsers.profile_json import read_profile, read_summary
from neff_bench.simulator.commands.capture import capture
from neff_bench.simulator.commands.capture_options import CaptureOptions
from neff_bench.simulator.files.neff import write_neff
from tests.doors.programs import SCALE
from tests.simulator.programs import matmul

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "real" / "trn2_attention" / "fused_attention"


@pytest.fixture
def captured(tmp_path, monkeypatch):
    """A simulated NEFF and its trace."""
    monkeypatch.chdir(tmp_path)
    write_neff(matmul(), "file.neff")
    capture(CaptureOptions())
    return tmp_path


def run(*words):
    return CliRunner().invoke(view, [str(word) for word in words])


def test_json_has_the_shape_that_our_own_readers_know(captured):
    done = run("file.neff", "profile.ntff", "--output", "x.json")
    assert done.exit_code == 0 and "SIMULATED" in done.stderr
    trace, again = read_timeline("profile.ntff"), read_timeline("x.json")
    place = operator.attrgetter("subgraph", "subgroup", "pc", "timestamp", "opcode")
    assert sorted(map(place, again.instructions)) == sorted(map(place, trace.instructions))
    assert {row.nki_source_location for row in again.instructions} >= {"mm.py:1", "mm.py:2", "mm.py:3", "mm.py:4"}
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


def test_a_trace_of_another_model_is_shown_without_its_lines(captured, monkeypatch):
    monkeypatch.setattr("neff_bench.simulator.commands.view.model_name", lambda target: "trn2-0.other")
    done = run("file.neff", "profile.ntff", "--output", "x.json")
    assert done.exit_code == 0 and "without names and source lines" in done.stderr


@pytest.mark.skipif(not REAL.is_dir(), reason="no real files beside the repository")
def test_the_page_of_a_measured_trace_says_that_its_json_knows_the_waits(tmp_path):
    page = tmp_path / "x.html"
    done = run(REAL / "fused.neff", REAL / "fused_exec_2.ntff", "--output", page)
    assert done.exit_code == 0 and NO_WAITS in done.stderr and NO_WAITS in html.unescape(page.read_text())
    assert NO_WAITS not in run(REAL / "ntff.json", "--output", page).stderr


def test_a_bundle_is_its_newest_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(SCALE)
    neff_bench.profile(f"{tmp_path}/own.py:scale", {"x": ((128, 4), "float32")}, store="st")
    [bundle] = neff_bench.Store(tmp_path / "st").bundles()
    assert run(bundle.path, "--output", "x.json").exit_code == 0
    rows = read_timeline("x.json").instructions
    assert any("own.py:" in (row.nki_source_location or "") for row in rows)
    for trace in bundle.path.glob("profiles/1/*.ntff"):
        trace.write_bytes(trace.read_bytes()[:-1])
    done = run(bundle.path, "--output", "y.json")
    assert done.exit_code == 1 and "bytes instead of" in done.stderr
    shutil.rmtree(bundle.path / "profiles")
    done = run(bundle.path, "--output", "y.json")
    assert done.exit_code == 1 and "no run with a trace" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("profile.ntff", "--output", "x.html5"), 2, "unknown suffix"),
        (("file.neff", "--output", "x.json"), 2, "one trace, profile or bundle"),
        (("file.neff", "file.neff", "profile.ntff", "--output", "x.json"), 2, "at most one NEFF"),
        (("none.ntff", "--output", "x.json"), 1, "none.ntff"),
    ],
)
def test_mistakes_are_one_line(captured, words, code, says):
    done = run(*words)
    assert done.exit_code == code and says in done.stderr and "Traceback" not in done.output
