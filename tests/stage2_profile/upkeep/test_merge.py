"""Two shards on two stores, merged, are one store."""

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from neff_bench.cli import main as neff_bench
from neff_bench.neffs.bundle import verify_bundle
from neff_bench.neffs.store import Store
from neff_bench.stage2_profile.cli import profile
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
