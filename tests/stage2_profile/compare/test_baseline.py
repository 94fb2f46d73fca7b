"""Rows from a store, a file or a baseline."""

import json

import pytest

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.compare.baseline import Rows, environment, load, save
from tests.stage2_profile.compare.test_verdict import row


def test_a_store_of_one_bundle_is_no_single_profile_and_a_directory_with_one_profile_is(make_bundle, store, tmp_path):
    make_bundle()
    found = load(store)
    assert (len(found.records), found.single, found.name) == (1, False, str(store))
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps({"summary": [{"total_time": 1e-4}]}))
    assert load(folder).single
    (folder / "two.json").write_text(json.dumps({"summary": [{"total_time": 2e-4}]}))
    assert not load(folder).single and len(load(folder).records) == 2
    single = load(folder / "two.json")
    assert single.single and single.records[0]["total_time_us"] == 200.0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (7, "expected a list of rows"), ("rows", "expected a list of rows"), ([], "expected a list of rows"), ([row(), {"case": 7}], "row 2 has no case"), ([["case"]], "row 1 has no case"),
        ({"rows": 7}, "not a baseline"), ({"rows": [], "schema": 1}, "expected a list of rows"), ({"rows": [row()], "schema": 2}, "baseline schema 2 is newer than 1"),
    ],
)  # fmt: skip
def test_a_file_of_anything_but_rows_is_a_wrong_call(tmp_path, content, says):
    (tmp_path / "x.json").write_text(json.dumps(content))
    with pytest.raises(WrongCall, match=says):
        load(tmp_path / "x.json")


def test_a_baseline_is_read_as_it_was_saved_and_replaced_by_another(tmp_path):
    path, one = tmp_path / "b.json", row(tool="t 1")
    save(path, [one])
    assert "lines" not in json.loads(path.read_text())
    save(path, [one, row("mlp_2", tool=None, model=None, source=None)], {"mlp_1": [("k.py", 7, [])]})
    found = load(path)
    assert [record["case"] for record in found.records] == ["mlp_1", "mlp_2"] and found.lines == {
        "mlp_1": [["k.py", 7, []]]
    }
    assert (found.environment["tools"], found.environment["models"], found.environment["sources"]) == (
        ["t 1"],
        ["m1"],
        ["simulated"],
    )
    assert not found.single and path.read_bytes().endswith(b"\n") and path.read_bytes().startswith(b"{\n  ")


def test_rows_of_a_file_without_an_environment_have_none(tmp_path):
    (tmp_path / "b.json").write_text(json.dumps({"rows": [row()]}))
    found = load(tmp_path / "b.json")
    assert (found.environment, found.lines, Rows("x", []).single) == ({}, {}, False)
    assert environment([{"tool": "b"}, {"tool": "a"}, {"tool": "b"}])["tools"] == ["a", "b"]


def test_a_session_and_a_neff_are_no_profile(tmp_path):
    from tests.parsers import small_files

    (tmp_path / "a.neff").write_bytes(small_files.neff_of(small_files.neff_members()))
    with pytest.raises(WrongCall, match="not JSON"):
        load(tmp_path / "a.neff")
    (tmp_path / "gone.json").write_text(json.dumps({"summary": [{"total_time": "x"}]}))
    with pytest.raises(WrongCall):
        load(tmp_path / "gone.json")
