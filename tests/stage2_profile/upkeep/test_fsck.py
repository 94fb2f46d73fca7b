"""Which files of a store are not as they were written."""

import os

import msgspec
import pytest

from neff_bench.neffs.bundle import LOCK, write_manifest
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.upkeep.fsck import Examined, Finding, _may_be_left, certain, examine
from tests.stage2_profile.capture.test_runs import RUN, publish


@pytest.fixture
def bundle(make_bundle):
    """A bundle with two runs."""
    made = make_bundle()
    for _ in range(2):
        publish(made.path)
    return made


def told(found):
    return [(one.case, one.run, one.problem, one.file, one.what) for one in found]


def test_all_that_was_written_is_counted_and_nothing_is_found(bundle, store):
    assert examine(store) == Examined(bundles=1, runs=2, unverified=0, findings=[])
    assert examine(store, bundle.name) == examine(store)


def test_a_file_is_damaged_missing_or_surplus_in_a_bundle_and_in_a_run(bundle, store):
    name, first = bundle.name, bundle.path / "profiles" / "1"
    (bundle.path / "ref-out-000.bin").write_bytes(bytes(32))
    (bundle.path / "inp-x-000.bin").unlink()
    (bundle.path / "notes").write_bytes(b"")
    (bundle.path / "profiles" / "copy").mkdir()
    (bundle.path / "profiles" / ".work-9").mkdir()
    (first / "summary-1.json").write_bytes(b"longer")
    (first / "mine").write_bytes(b"")
    found = told(examine(store).findings)
    assert [one[:4] for one in found] == [
        (name, None, "missing", f"{name}/inp-x-000.bin"), (name, None, "damaged", f"{name}/ref-out-000.bin"), (name, None, "surplus", f"{name}/notes"),
        (name, None, "surplus", f"{name}/profiles/copy"), (name, "1", "damaged", f"{name}/profiles/1/summary-1.json"), (name, "1", "surplus", f"{name}/profiles/1/mine"),
    ]  # fmt: skip
    assert found[3][4] == "not a run" and found[2][4] == found[5][4] == "not recorded when the directory was written"


def test_a_record_or_a_manifest_is_damaged_or_missing(bundle, store):
    record, manifest = bundle.path / "profiles" / "2" / "run.json", bundle.path / "case.json"
    for path, run in ((record, "2"), (manifest, None)):
        good = path.read_bytes()
        path.write_bytes(b"{")
        (one,) = examine(store).findings
        assert (one.case, one.run, one.problem) == (bundle.name, run, "damaged") and one.file.endswith(path.name)
        if path is record:
            path.unlink()
            (one,) = examine(store).findings
            assert (one.run, one.problem) == (run, "missing")
        path.write_bytes(good)


def test_older_versions_have_no_checksums_and_their_files_must_be_there(bundle, store):
    path = publish(bundle.path, schema=1, outputs={"out": "out"})
    examined = examine(store)
    assert (examined.runs, examined.unverified) == (3, 1)
    assert (
        told(examined.findings)[0][:4] == (bundle.name, "3", "missing", f"{bundle.name}/profiles/3/out")
        and len(examined.findings) == 1
    )
    (path / "out").write_bytes(b"whatever")
    assert examine(store).findings == []


def test_what_lies_beside_the_bundles_is_surplus(bundle, store):
    for name in ("stray", ".hidden"):
        (store / name).write_bytes(b"")
    (store / ".folder").mkdir()
    found = told(examine(store).findings)
    assert [one[:4] for one in found] == [(None, None, "surplus", name) for name in (".folder", ".hidden", "stray")]
    assert examine(store, bundle.name).findings == []


VIEWED = runs.Execution(rank=0, execution=2, ntff="2.ntff", summary="summary-1.json", detail="profile-1.json")
TRACED = runs.Execution(rank=0, execution=4, ntff="4.ntff")


@pytest.mark.parametrize(
    ("name", "left"),
    [
        (".run.json.4-ab", True), (".d/x", False), ("d/.x", False), ("summary-1.json", False), ("summary-2.json", True), ("view-2.log", True), ("view-1.log", False), ("session-1.json", True),
        ("session-2.log", True), ("profile-1.json", False), ("profile-2.parquet", True), ("profile-2-json.log", True), ("summary-3.json", False), ("summary-0.json", False), ("other-2.json", False),
        ("profile-1.parquet", False), ("summary-2", False),
    ],
)  # fmt: skip
def test_a_killed_view_leaves_files_of_what_is_not_made_yet(name, left):
    assert _may_be_left(name, msgspec.structs.replace(RUN, executions=(VIEWED, TRACED))) == left


def test_what_a_second_look_does_not_find_is_no_finding(bundle, store):
    (bundle.path / "notes").write_bytes(b"")
    (store / "stray").write_bytes(b"")
    first, repaired = examine(store).findings, []
    assert certain(store, first, repaired.extend) == first == repaired
    (bundle.path / "notes").unlink()
    assert [one.file for one in certain(store, first)] == ["stray"]
    gone = Finding(bundle.name, None, "x", "missing", "gone")
    assert certain(store, [gone]) == [] and repaired == first


def test_what_a_live_command_writes_now_is_no_finding(bundle, store, make_bundle, make_case):
    other = make_bundle(make_case(kernel="other"))
    (bundle.path / "old").write_bytes(b"")
    with runs.locked(other.path):
        taken = (other.path / "profiles" / LOCK).stat().st_mtime
        (bundle.path / "new").write_bytes(b"")
        (bundle.path / "inp-x-000.bin").unlink()
        for name, at in (("old", taken - 1), ("new", taken)):
            os.utime(bundle.path / name, (at, at))
        found = certain(store, examine(store).findings)
    assert sorted(one.file.split("/")[-1] for one in found) == ["inp-x-000.bin", "old"]
    assert len(certain(store, examine(store).findings)) == 3


def test_a_case_that_is_in_use_is_named_and_left(bundle, store, capsys):
    (bundle.path / "notes").write_bytes(b"")
    found = examine(store).findings
    with runs.locked(bundle.path):
        assert certain(store, found) == []
    assert f"{bundle.name}: another command works on it now" in capsys.readouterr().err


def test_a_failed_bundle_has_only_what_it_names(bundle, store):
    write_manifest(bundle.path, bundle.manifest)
    assert examine(store).findings == []
