"""The whole profile of a run, in the form that the release of the tool writes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from neff_bench.doors.view_cli import view
from neff_bench.stage2_profile.capture.runs import check_file, read_run
from neff_bench.stage2_profile.errors import RunDamaged, ViewFailed
from neff_bench.stage2_profile.upkeep.fsck import examine
from neff_bench.stage2_profile.view import profile_view

pytest.importorskip("pyarrow")


@pytest.fixture
def hot(make_bundle, profile_neffs, monkeypatch, release_on_path):
    """Asks for the hot lines of a store with one bundle, of a tool that has no more these forms; returns them, and the run."""
    bundle = make_bundle()
    release_on_path("2.33")

    def profile(gone):
        monkeypatch.setenv("FAKE_GONE", gone)
        result = profile_neffs("--hot", 3, "--format", "json")
        lines = json.loads(result.stdout)
        return [line["where"] for line in lines if line["kind"] == "line"], bundle.path / "profiles/1"

    return profile


@pytest.mark.parametrize(
    ("gone", "file"),
    [
        ("parquet", "profile-1.json"),
        ("", "profile-1.parquet"),
        ("json", "profile-1.parquet"),
    ],
)
def test_parquet_is_asked_for_first_and_json_in_its_place(hot, gone, file):
    lines, run = hot(gone)
    assert lines == ["/k/kernel.py:33"]
    assert read_run(run).executions[-1].detail == file


def test_a_tool_that_writes_neither_is_a_reason(hot, profile_neffs):
    hot("json parquet")
    said = profile_neffs("--hot", 3).output
    assert "parquet: " in said
    assert "json: " in said


def test_a_view_that_is_interrupted_at_the_session_keeps_the_summary(make_bundle, profile_neffs, store, monkeypatch):
    whole = profile_view.Viewer.call

    def interrupted(viewer, step):
        if step.name == "show-session":
            viewer.options.stop.set()
            raise ViewFailed("interrupted", trace_may_be_good=True)
        whole(viewer, step)

    with monkeypatch.context() as patched:
        patched.setattr(profile_view.Viewer, "call", interrupted)
        make_bundle()
        assert profile_neffs().exit_code == 1
    [run] = store.glob("*/profiles/1")
    assert read_run(run).executions[0].summary == "summary-1.json" and examine(store).findings == []
    assert profile_neffs().exit_code == 0 and read_run(run).status == "viewed"


def test_what_a_killed_view_left_is_no_finding_until_the_view_is_made(make_bundle, profile_neffs, store):
    make_bundle()
    profile_neffs("--capture-only")
    [run] = store.glob("*/profiles/1")
    (run / "summary-1.json").write_text("{}")
    (run / "view-1.log").write_text("")
    assert examine(store).findings == []
    for name in ("summary-9.json", "notes.json"):
        (run / name).write_text("")
    assert sorted(Path(found.file).name for found in examine(store).findings) == ["notes.json", "summary-9.json"]
    profile_neffs()
    (run / "profile-1.json").write_text("")
    (run / "session-1.txt").write_text("")
    assert "session-1.txt" in {Path(found.file).name for found in examine(store).findings}


def test_the_tables_are_compared_with_their_checksums_and_made_again(hot, store):
    _, run = hot("json")
    table = run / "profile-1.parquet/Instruction_0.parquet"
    table.write_bytes(b"damaged")
    with pytest.raises(RunDamaged, match="Instruction_0"):
        check_file(run, read_run(run), "profile-1.parquet")
    assert hot("json")[0] == ["/k/kernel.py:33"]
    check_file(run, read_run(run), "profile-1.parquet")
    assert [finding.problem for finding in examine(store).findings] == []


def test_what_a_killed_view_left_is_no_part_of_the_tables(hot):
    _, run = hot("parquet")
    (run / "profile-1.json").unlink()
    (run / "profile-1.parquet").mkdir()
    (run / "profile-1.parquet/Flow.parquet").write_bytes(b"half")
    hot("json")
    assert sorted(path.name for path in (run / "profile-1.parquet").iterdir()) == [
        "Instruction_0.parquet",
        "Metadata.parquet",
        "Summary.parquet",
    ]


def test_a_file_that_a_killed_view_left_is_not_taken_for_the_profile(hot):
    _, run = hot("parquet")
    with (run / "profile-1.json").open("ab") as file:
        file.write(b" ")  # a profile, but not the one that the record has the checksum of
    hot("json parquet")
    assert not (run / "profile-1.json").exists()


def test_the_page_of_a_run_and_of_its_bundle_are_made_of_the_tables(hot, profile_neffs, tmp_path):
    _, run = hot("parquet")
    assert profile_neffs("--output", tmp_path / "store.html").exit_code == 0
    done = CliRunner().invoke(view, [str(run.parents[1]), "--output", str(tmp_path / "bundle.html")])
    assert done.exit_code == 0, done.output
    for page in ("store.html", "bundle.html"):
        text = (tmp_path / page).read_text()
        assert 'neff-bench-events" content="1"' in text and "kernel.py:33" in text
