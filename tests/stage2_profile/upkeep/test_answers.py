"""What upkeep prints and how it ends."""

import json
from pathlib import Path

import pytest

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.upkeep import answers
from neff_bench.stage2_profile.upkeep.answers import check_store, merge_stores, remove_runs
from neff_bench.stage2_profile.upkeep.fsck import Examined, Finding
from neff_bench.stage2_profile.upkeep.gc import Left, Removed
from tests.stage2_profile.capture.test_runs import publish

ONE = Finding("c", None, "c/x", "surplus", "w")
TWO = Finding("c", "1", "c/y", "damaged", "v")


def test_findings_are_counted_by_problem_and_shown_with_what_was_done():
    found = answers._fsck_answer(Examined(3, 4, 2, [ONE, TWO, ONE]), {ONE: "set aside"})
    (grid,) = found.grids
    assert grid.notes == [
        "3 bundles and 4 runs examined: 1 damaged, 2 surplus.",
        "2 of them are of an older version and have no checksums: not verified.",
    ]
    assert grid.lines[:2] == [["surplus", "c/x", "w", "set aside"], ["damaged", "c/y", "v", "-"]]
    assert [(column.head, column.wraps) for column in grid.columns] == [
        ("problem", False),
        ("file", True),
        ("what", True),
        ("done", True),
    ]
    assert [record["done"] for record in found.records] == ["set aside", None, "set aside"] and list(found.fields) == [
        "case",
        "run",
        "file",
        "problem",
        "what",
        "done",
    ]


def test_a_column_that_says_nothing_is_left_out_where_nothing_was_done():
    (grid,) = answers._fsck_answer(Examined(1, 0, 0, [TWO]), {}).grids
    assert [column.head for column in grid.columns] == ["problem", "file", "what"] and len(grid.notes) == 1
    assert answers._fsck_answer(Examined(1, 0, 0, []), {}).grids[0].notes == [
        "1 bundles and 0 runs examined: every file is as it was written."
    ]


def test_a_store_is_examined_and_mended(make_bundle, store, capsys):
    bundle = make_bundle()
    assert check_store(store, True, "json", None) == 0 and not (store / ".store" / "aside").exists()
    (bundle.path / "notes").write_bytes(b"")
    capsys.readouterr()
    assert check_store(bundle.path, False, "json", None) == 1 and (bundle.path / "notes").exists()
    assert json.loads(capsys.readouterr().out)[0]["done"] is None
    assert check_store(store, True, "json", None) == 1
    assert (
        json.loads(capsys.readouterr().out)[0]["done"] == "set aside"
        and (store / ".store/aside/1" / bundle.name / "notes").exists()
    )
    assert check_store(store, False, "json", None) == 0


@pytest.mark.parametrize(("dry_run", "said"), [(True, "would be removed"), (False, "removed")])
def test_removed_runs_are_counted(monkeypatch, make_bundle, store, capsys, dry_run, said):
    make_bundle()
    done = [Removed("a", "1", 3), Removed("a", "2", 4), Removed("b", "1", 5), Left("c", "shut")]
    monkeypatch.setattr(answers, "collect", lambda store, keep, only, dry_run: done)
    assert remove_runs(store, 1, dry_run, "table", None) == 1
    told = capsys.readouterr()
    assert f"3 runs of 2 cases {said}: 12 bytes." in told.out and "c: shut; its runs are left as they are" in told.err
    del done[3]
    assert remove_runs(store, 1, dry_run, "csv", None) == 0
    assert capsys.readouterr().out.splitlines() == ["case,run,bytes", "a,1,3", "a,2,4", "b,1,5"]


def test_stores_are_merged_and_what_is_not_good_is_told(make_bundle, store, tmp_path, capsys):
    bundle = make_bundle()
    publish(bundle.path)
    assert merge_stores(tmp_path / "into", (store,), "table", None) == 0
    assert f"{tmp_path / 'into'}: 1 copied." in capsys.readouterr().out.replace("\n", " ").replace("  ", " ")
    assert merge_stores(tmp_path / "into", (store,), "json", None) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"case": bundle.name, "source": str(store), "done": "kept", "reason": None}
    ]
    publish(bundle.path, created="2026-02-02")
    with runs.locked(tmp_path / "into" / bundle.name):
        assert merge_stores(tmp_path / "into", (store,), "json", None) == 1
    (told,) = json.loads(capsys.readouterr().out)
    assert told == {
        "case": bundle.name,
        "source": str(store),
        "done": "busy",
        "reason": "its profiles are in use; merge again",
    }
    assert (
        merge_stores(tmp_path / "into", (store,), "json", None) == 0
        and json.loads(capsys.readouterr().out)[0]["done"] == "runs added"
    )
    (bundle.path / "case.json").write_bytes(b"{")
    assert merge_stores(tmp_path / "into", (store,), "json", None) == 1
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["case"], told["source"], told["done"]) == (bundle.name, str(store), "damaged")


def test_a_store_or_one_of_its_bundles_is_meant(make_bundle, store, tmp_path):
    bundle = make_bundle()
    assert answers._store_of(bundle.path) == (store.resolve(), bundle.name) and answers._store_of(store) == (
        store,
        None,
    )
    with pytest.raises(WrongCall, match="one bundle; expected a store"):
        merge_stores(tmp_path / "into", (bundle.path,), "json", None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(WrongCall, match="not a store"):
        answers._store_of(tmp_path / "empty")
    (tmp_path / "copied" / "x").mkdir(parents=True)
    (tmp_path / "copied" / "x" / "case.json").write_bytes(b"{}")
    (tmp_path / "copied" / "y").mkdir()
    assert answers._store_of(tmp_path / "copied") == (tmp_path / "copied", None)
    assert isinstance(Path(bundle.path), Path)
