"""A bundle in an odd state costs its own row."""

import errno
import fcntl
import json
import os
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from neff_bench.cli import main as neff_bench
from neff_bench.neffs.bundle import used_files
from neff_bench.neffs.store import Store
from neff_bench.stage2_profile.capture import runs
from neff_bench.system import lock
from tests.stage2_profile.conftest import case


@pytest.fixture
def three(make_bundle):
    return [make_bundle(case("mlp", dims=(("b", size),))).path for size in (1, 2, 3)]


def _rows(result):
    assert result.exit_code == 1
    return {row["case"]: row for row in json.loads(result.stdout)}


def _directory(lock_file, _):
    lock_file.mkdir()


def _link(lock_file, elsewhere):
    lock_file.symlink_to(elsewhere)


@pytest.mark.parametrize("make", [_directory, _link])
def test_a_lock_that_is_no_file_costs_its_own_row(profile_neffs, three, tmp_path, make):
    (tmp_path / "elsewhere").write_text("mine")
    (three[1] / "profiles").mkdir()
    make(three[1] / "profiles" / ".lock", tmp_path / "elsewhere")
    rows = _rows(profile_neffs("--format", "json"))
    assert [rows[path.name]["status"] for path in three] == ["profiled", "failed", "profiled"]
    assert ".lock: cannot be locked" in rows[three[1].name]["reason"]
    assert (tmp_path / "elsewhere").read_text() == "mine"


def test_a_file_system_without_locks_is_named(profile_neffs, three, monkeypatch):
    def without(descriptor, flags):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock.fcntl, "flock", without)
    rows = _rows(profile_neffs("--format", "json"))
    assert {row["status"] for row in rows.values()} == {"failed"}
    reasons = {row["reason"] for row in rows.values()}
    assert all("cannot be locked: this file system has no locks" in reason for reason in reasons), reasons


def test_a_record_that_is_no_plain_file_is_damage_and_nobody_waits_for_it(profile_neffs, three, store):
    from neff_bench.stage2_profile.upkeep.fsck import examine

    profile_neffs()
    record = three[1] / "profiles" / "1" / "run.json"
    record.unlink()
    os.mkfifo(record)
    assert [(one.problem, one.what) for one in examine(store).findings] == [("damaged", "run.json is not a plain file")]
    rows = {row["case"]: row for row in json.loads(profile_neffs("--format", "json").stdout)}
    assert [rows[path.name]["status"] for path in three] == ["profiled"] * 3


def test_a_hidden_file_of_a_tool_is_no_part_of_a_run(make_bundle, profile_neffs):
    bundle = make_bundle().path
    profile_neffs()
    with runs.locked(bundle):
        work = runs.new_work(bundle)
        record = runs.read_run(bundle / "profiles" / "1")
        (work / ".profile_exec_2.ntff.21170-ab").write_bytes(b"half")
        path, record = runs.publish(work, record)
    assert not [name for name in record.files if name.startswith(".")]
    assert not list(path.glob(".*"))


def test_fsck_says_nothing_of_a_case_that_another_command_works_on(make_bundle, profile_neffs, store, capfd):
    from neff_bench.stage2_profile.upkeep.fsck import certain, examine

    bundle = make_bundle().path
    profile_neffs()
    (bundle / "profiles" / "1" / "summary-2.json").write_text("{}")  # viewed, and not recorded yet
    found = examine(store).findings
    assert [finding.problem for finding in found] == ["surplus"]
    with runs.locked(bundle):
        assert certain(store, found) == []
    assert "another command works on it now" in capfd.readouterr().err
    assert certain(store, found) == found


def test_fsck_looks_twice(make_bundle, profile_neffs, store):
    from neff_bench.stage2_profile.upkeep.fsck import certain, examine

    bundle = make_bundle().path
    profile_neffs()
    unrecorded = bundle / "profiles" / "1" / "summary-2.json"
    unrecorded.write_text("{}")
    found = examine(store).findings
    unrecorded.unlink()
    assert certain(store, found) == []


def test_a_lock_that_is_held_is_no_error(tmp_path):
    with lock.locked(tmp_path / "a"):
        assert lock.try_lock(tmp_path / "a") is None
    with open(tmp_path / "b", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert lock.try_lock(tmp_path / "b") is None


def test_a_bundle_that_is_built_again_while_its_case_waits_is_profiled_as_it_is_now(
    make_bundle, profile_neffs, monkeypatch
):
    from neff_bench.stage2_profile import pipeline

    make_bundle(total_time=1e-4)
    monkeypatch.setattr(pipeline, "used_files", lambda manifest: again() or used_files(manifest))

    def again():
        monkeypatch.setattr(pipeline, "used_files", used_files)
        make_bundle(total_time=2e-4)

    result = profile_neffs("--format", "json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)[0]["total_time_us"] == 204


def test_a_lock_that_is_taken_finds_the_bundle_of_now(make_bundle, profile_neffs, store, monkeypatch):
    make_bundle(total_time=1e-4)

    @contextmanager
    def late(bundle):
        monkeypatch.setattr(runs, "locked", locked)
        make_bundle(total_time=2e-4)
        with locked(bundle) as descriptor:
            yield descriptor

    locked = runs.locked
    monkeypatch.setattr(runs, "locked", late)
    result = profile_neffs("--format", "json")
    assert result.exit_code == 0, result.output
    (bundle,) = Store(store).bundles()
    assert runs.read_run(bundle.path / "profiles" / "1").neff_sha256 == bundle.manifest.neff_sha256


def test_fsck_calls_nothing_surplus_that_is_younger_than_the_oldest_live_command(make_bundle, profile_neffs, store):
    from neff_bench.stage2_profile.upkeep.fsck import certain, examine

    bundles = [make_bundle(case("mlp", dims=(("b", size),))).path for size in (1, 2)]
    profile_neffs()
    (bundles[0] / "old").write_text("mine")
    os.utime(bundles[0] / "old", (1, 1))
    (bundles[1] / "profiles" / ".lock").touch()  # of a killed holder
    with runs.locked(bundles[1]):
        (bundles[0] / "new").write_text("somebody's")
        found = certain(store, examine(store).findings)
    assert [finding.file for finding in found] == [f"{bundles[0].name}/old"]
    assert {finding.file for finding in certain(store, examine(store).findings)} == {
        f"{bundles[0].name}/old",
        f"{bundles[0].name}/new",
    }


def test_a_repair_holds_the_case_until_its_files_are_aside(make_bundle, profile_neffs, store):
    from neff_bench.stage2_profile.upkeep.fsck import certain, examine

    bundle = make_bundle().path
    profile_neffs()
    (bundle / "surplus").write_text("")

    def repair(found):
        assert lock.try_lock(bundle / "profiles" / ".lock") is None
        assert lock.is_held(store / ".store" / "locks" / f"{bundle.name}.lock")

    assert len(certain(store, examine(store).findings, repair)) == 1


def test_a_linked_store_is_refused_by_what_would_write_into_it(make_bundle, profile_neffs, store, tmp_path):
    make_bundle()
    (store / ".store").rename(tmp_path / "elsewhere")
    (store / ".store").symlink_to(tmp_path / "elsewhere")
    before = sorted((tmp_path / "elsewhere").rglob("*"))
    results = [profile_neffs(), *(CliRunner().invoke(neff_bench, words) for words in (
        ["fsck", str(store), "--repair"], ["gc", str(store), "--keep", "1"], ["merge", str(store), str(store)]
    ))]  # fmt: skip
    assert [result.exit_code for result in results] == [2] * 4, [result.output for result in results]
    assert all("a symbolic link; a store holds only real directories" in result.stderr for result in results)
    assert sorted((tmp_path / "elsewhere").rglob("*")) == before
