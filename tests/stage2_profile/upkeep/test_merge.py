"""Two shards on two stores, merged, are one store."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from neff_bench.cli import main as neff_bench
from neff_bench.neffs.bundle import verify_bundle, write_manifest
from neff_bench.neffs.store import Store
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.cli import profile
from neff_bench.stage2_profile.upkeep import merge as merge_module
from neff_bench.stage2_profile.upkeep.merge import merge
from tests.stage2_profile.capture.test_runs import publish
from tests.stage2_profile.conftest import case

NAMES = [f"M{m}" for m in range(2, 8)]


def call(command, *words):
    return CliRunner().invoke(command, [*map(str, words)])


def table(directory, *words) -> list[dict]:
    return json.loads(call(profile, directory, "--format", "json", *words).stdout)


@pytest.fixture
def whole(make_bundle, store, fake_on_path):
    """A store with six cases."""
    for m in range(2, 8):
        make_bundle(case(dims=(("M", m), ("K", 3), ("N", 4))), total_time=m * 1e-5)
    return store


def test_two_shards_on_two_stores_merged_give_the_table_of_one(whole, tmp_path):
    for number in (1, 2):
        shutil.copytree(whole, tmp_path / f"part{number}")
        rows = table(tmp_path / f"part{number}", "--shard", f"{number}/2")
        names = {row["case"] for row in rows}
        for path in (tmp_path / f"part{number}").iterdir():
            if path.name not in names and path.name != ".store":
                shutil.rmtree(path)
    merged = call(neff_bench, "merge", tmp_path / "all", tmp_path / "part1", tmp_path / "part2")
    assert (merged.exit_code, "6 copied" in merged.stdout) == (0, True), merged.output
    assert [row["case"] for row in table(tmp_path / "all", "--parse-only")] == [
        row["case"] for row in table(whole, "--parse-only")
    ]
    ours, theirs = table(tmp_path / "all", "--parse-only"), table(whole)
    assert [row["total_time_us"] for row in ours] == [row["total_time_us"] for row in theirs]
    assert all(row["check"] == "passed" for row in ours)
    for bundle in Store(tmp_path / "all").bundles():
        verify_bundle(bundle)


def test_runs_of_a_case_that_both_have_are_added_once(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "other")
    table(tmp_path / "other")
    first = call(neff_bench, "merge", whole, tmp_path / "other", "--format", "json")
    assert {one["done"] for one in json.loads(first.stdout)} == {"runs added"}
    again = call(neff_bench, "merge", whole, tmp_path / "other", "--format", "json")
    assert {one["done"] for one in json.loads(again.stdout)} == {"kept"}
    assert all(row["status"] == "profiled" for row in table(whole, "--parse-only"))


def test_series_of_two_stores_stay_apart(make_bundle, store, fake_on_path, tmp_path, monkeypatch):
    make_bundle(total_time=1e-5)
    shutil.copytree(store, tmp_path / "other")
    for directory, percent in ((store, 0), (tmp_path / "other", 100)):
        monkeypatch.setenv("FAKE_NOISE", json.dumps([percent]))
        table(directory, "--captures", "2")
    for count in (3, 4):  # the series there goes on between two merges
        (there,) = table(tmp_path / "other", "--captures", count)
        assert call(neff_bench, "merge", store, tmp_path / "other").exit_code == 0
        (row,) = table(store, "--parse-only")
        assert (row["capture_count"], row["total_time_us"]) == (count, there["total_time_us"])


def test_another_build_of_a_case_stays_out(whole, make_bundle, tmp_path):
    shutil.copytree(whole, tmp_path / "other")
    make_bundle(case(dims=(("M", 2), ("K", 3), ("N", 4))), ref=np.ones(8), total_time=1e-5)
    merged = call(neff_bench, "merge", whole, tmp_path / "other")
    assert merged.exit_code == 1
    assert "another build" in merged.stdout and "5 kept" in merged.stdout


def test_a_damaged_bundle_is_named_and_not_copied(whole, tmp_path):
    bundle = next(Store(whole).bundles())
    (bundle.path / "inp-x-000.bin").write_bytes(bytes(24))
    merged = call(neff_bench, "merge", tmp_path / "all", whole)
    assert merged.exit_code == 1
    assert "damaged" in merged.stdout and bundle.name in merged.stdout
    assert bundle.name not in Store(tmp_path / "all").names()


def test_a_directory_that_is_no_store_is_a_wrong_call(tmp_path):
    (tmp_path / "empty").mkdir()
    assert call(neff_bench, "merge", tmp_path / "all", tmp_path / "empty").exit_code == 2


@pytest.fixture
def pair(make_bundle, store, tmp_path):
    """A bundle of a store, and its copy in another one."""
    bundle = make_bundle()
    into = Store(tmp_path / "into")
    assert [one.done for one in merge(into, [store])] == ["copied"]
    return bundle, into.find(bundle.name), into


def test_runs_are_added_in_their_order_and_failed_ones_are_not(pair, store):
    theirs, ours, into = pair
    for at, status in enumerate(("viewed", "captured", "viewed", "failed"), 1):
        publish(theirs.path, created=f"2026-0{at}", status=status)
    publish(ours.path, created="2026-09")
    assert [(one.case, one.source, one.done, one.reason) for one in merge(into, [store])] == [
        (theirs.name, str(store), "runs added", None)
    ]
    assert [(path.name, run.created) for path, run in runs.readable(ours.path)] == [
        ("4", "2026-03"),
        ("3", "2026-02"),
        ("2", "2026-01"),
        ("1", "2026-09"),
    ]
    assert [one.done for one in merge(into, [store])] == ["kept"] and not (ours.path / "profiles" / "5").exists()


def test_a_series_goes_on_under_the_number_of_its_first_run_here(pair, store):
    theirs, ours, into = pair
    publish(ours.path, created="2026-09", series="1")
    publish(theirs.path, created="2026-01", series="1")
    list(merge(into, [store]))
    publish(theirs.path, created="2026-02", series="1")
    list(merge(into, [store]))
    assert [(run.created, run.series) for _, run in runs.readable(ours.path)] == [
        ("2026-02", "2"),
        ("2026-01", "2"),
        ("2026-09", "1"),
    ]


def test_a_run_that_is_damaged_there_is_named(pair, store):
    theirs, ours, into = pair
    (publish(theirs.path) / "summary-1.json").write_bytes(b"[]")
    (told,) = merge(into, [store])
    assert (told.done, told.case, told.source) == ("damaged", theirs.name, str(store)) and told.reason.startswith(
        "profiles/1: summary-1.json"
    )
    assert runs.run_directories(ours.path) == []


@pytest.mark.parametrize(
    ("here", "there", "done"),
    [
        ("failed", "built", "copied"),
        ("failed", "failed", "kept"),
        ("built", "failed", "kept"),
        ("built", "built", "kept"),
    ],
)
def test_a_case_that_failed_is_replaced_by_one_that_was_built(pair, store, here, there, done):
    theirs, ours, into = pair
    for bundle, status in ((ours, here), (theirs, there)):
        write_manifest(bundle.path, replace(bundle.manifest, status=status))
    assert [one.done for one in merge(into, [store])] == [done]
    assert into.find(theirs.name).manifest.status == ("built" if "built" in (here, there) else "failed")


def test_another_neff_under_the_same_name_stays_out(pair, store):
    _, ours, into = pair
    write_manifest(ours.path, replace(ours.manifest, neff_sha256="other"))
    (told,) = merge(into, [store])
    assert (told.done, told.reason) == (
        "another build",
        f"{into.path} has the case with another NEFF, which stays; build both with the same versions",
    )


def test_a_case_that_cannot_be_read_is_named_and_one_that_is_damaged_here_is_replaced(pair, store, monkeypatch):
    theirs, ours, into = pair
    (ours.path / "case.json").write_bytes(b"{")
    assert [one.done for one in merge(into, [store])] == ["copied"]

    def broken(path, files):
        raise PermissionError(13, "Permission denied", "f")

    monkeypatch.setattr(merge_module, "wrong_file", broken)
    (told,) = merge(into, [store])
    assert (told.case, told.source, told.done, told.reason) == (
        theirs.name,
        str(store),
        "unreadable",
        "f: Permission denied",
    )
