import os
import subprocess
import sys

import pytest

from neff_bench.neffs.aids import read_aid, write_aid
from neff_bench.neffs.bundle import Bundle, Manifest, write_manifest
from neff_bench.neffs.errors import BundleError, CaseError, StoreError
from neff_bench.neffs.store import Store, copy_finished
from neff_bench.system import exchange as exchange_module
from neff_bench.system.lock import try_lock, unlock


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def staged(store):
    return list((store.path / ".store" / "staging").iterdir())


def test_a_published_bundle_is_found_and_nothing_is_left_in_staging(store, fill, case):
    store.publish(case.name, fill)
    assert store.find(case.name).manifest.case == case
    assert [entry.name for entry in store.bundles()] == [case.name]
    assert staged(store) == []


@pytest.mark.parametrize("error", [exchange_module.errno.EINVAL, None])
def test_replacing_leaves_only_the_new_one(store, fill, case, monkeypatch, error):
    if error is not None:
        monkeypatch.setattr(exchange_module, "_renameat2", lambda new, old: error)
    store.publish(case.name, fill)
    (store.path / case.name / "profiles").mkdir()
    store.publish(case.name, lambda path: fill(path, neff=b"newer"))
    assert store.find(case.name).neff_path.read_bytes() == b"newer"
    assert not (store.path / case.name / "profiles").exists()
    assert staged(store) == []


def test_profiles_stay_when_a_bundle_is_built_again_with_the_same_neff(store, fill, case):
    path = store.publish(case.name, fill)
    (path / "profiles" / "1").mkdir(parents=True)
    (path / "profiles" / "1" / "run.json").write_text("{}")
    store.publish(case.name, fill)
    assert (path / "profiles" / "1" / "run.json").read_text() == "{}"


def test_what_is_published_records_its_files(store, fill, case):
    store.publish(case.name, fill)
    assert sorted(store.find(case.name).manifest.files) == ["file.neff", "inp-lhs-000.bin"]


def test_a_failing_fill_changes_nothing(store, fill, case):
    def half(path):
        (path / "file.neff").write_bytes(b"half")
        raise RuntimeError("no")

    store.publish(case.name, fill)
    with pytest.raises(RuntimeError):
        store.publish(case.name, half)
    assert store.find(case.name).neff_path.read_bytes() == b"neff"
    assert staged(store) == []


def test_a_bad_directory_is_a_row_beside_the_good_ones(store, fill, case):
    store.publish(case.name, fill)
    (store.path / "zzz").mkdir()
    good, bad = store.bundles()
    assert isinstance(good, Bundle)
    assert isinstance(bad, BundleError) and bad.name == "zzz"


def test_a_missing_store_is_one_clear_line(store):
    with pytest.raises(StoreError, match="no such directory"):
        store.names()


def test_a_store_that_is_a_file_is_refused(tmp_path, fill):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        Store(tmp_path / "file").publish("a", fill)


def test_a_store_of_another_user_is_read_and_never_written(store, fill, case, monkeypatch):
    store.publish(case.name, fill)
    if os.stat(store.path).st_uid == 0:
        os.chown(store.path, 12345, 12345)
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert store.names() == [bundle.name for bundle in store.bundles()] == [case.name]
    for use in (store.create, lambda: store.publish(case.name, fill), lambda: store.lock(case.name)):
        with pytest.raises(StoreError, match=f"^{store.path}: belongs to another user"):
            use()


@pytest.mark.parametrize("name", ["..", "a/b", "-rf", "", ".hidden", "a\nb"])
def test_unsafe_names_are_refused(store, fill, name):
    with pytest.raises(CaseError):
        store.publish(name, fill)


def test_sweep_removes_what_a_killed_writer_left_and_spares_the_living(store, fill, tmp_path):
    code = (
        "import sys, time, pathlib; from neff_bench.neffs.store import Store, copy_finished\n"
        "def fill(path):\n    (path / 'half').write_text('x'); print('in', flush=True); time.sleep(60)\n"
        "Store(pathlib.Path(sys.argv[1])).publish('dead', fill)"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(store.path)], stdout=subprocess.PIPE) for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout.readline() == b"in\n"
    writers[0].kill()
    writers[0].wait()
    assert store.sweep() == 1
    assert len(staged(store)) == 2  # the living writer's directory and its lock
    writers[1].kill()
    writers[1].wait()
    assert store.sweep() == 1
    assert staged(store) == []
    for writer in writers:
        writer.stdout.close()


def test_sweep_puts_back_a_bundle_that_was_moved_aside(store, fill, case):
    store.publish(case.name, fill)
    staging = store.path / ".store" / "staging" / f"{case.name}-1-abcd"
    os.rename(store.path / case.name, exchange_module.aside(staging))
    staging.with_name(staging.name + ".lock").touch()
    store.sweep()
    assert store.find(case.name) is not None
    assert staged(store) == []


def test_a_lock_excludes_other_processes_and_dies_with_its_holder(store):
    code = (
        "import sys, time, pathlib; from neff_bench.neffs.store import Store, copy_finished\n"
        "with Store(pathlib.Path(sys.argv[1])).lock('case'):\n    print('in', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(store.path)], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"in\n"

    class Busy(Exception):
        pass

    def give_up():
        raise Busy

    with pytest.raises(Busy), store.lock("case", give_up):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with store.lock("case", give_up):
        pass
    assert list((store.path / ".store" / "locks").iterdir()) == []


def test_a_bundle_is_on_the_disk_before_it_has_its_name(store, fill, case, disk):
    store.create()
    store.publish(case.name, fill)
    assert case.name in disk.renamed
    assert disk.unsynced == []
    assert disk.has(store.path)


def test_a_bundle_is_replaced_when_nobody_profiles_it_any_more(store, fill, case):
    path = store.publish(case.name, fill)
    (path / "profiles").mkdir()
    held = try_lock(path / "profiles" / ".lock")
    waits = []

    def waiting():
        assert (path / "file.neff").read_bytes() == b"neff"
        waits.append(1)
        if len(waits) == 2:
            unlock(path / "profiles" / ".lock", held)

    store.publish(case.name, lambda directory: fill(directory, neff=b"newer"), waiting)
    assert len(waits) == 2 and (path / "file.neff").read_bytes() == b"newer"
    assert staged(store) == [] and not list(path.glob("profiles/.*"))


def test_hidden_files_are_no_part_of_a_bundle(store, fill, case):
    def with_hidden(directory):
        fill(directory)
        (directory / ".file.neff.21170-ab").write_bytes(b"half")

    path = store.publish(case.name, with_hidden)
    assert not list(path.glob(".*")) and not [name for name in store.find(case.name).manifest.files if name[0] == "."]


@pytest.mark.parametrize("link", [".store", ".store/staging", ".store/locks"])
def test_links_in_the_own_directory_of_a_store_are_refused(store, fill, case, tmp_path, link):
    (tmp_path / "elsewhere").mkdir()
    (store.path / link).parent.mkdir(parents=True)
    (store.path / link).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="symbolic link"):
        store.publish(case.name, fill)
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("link", [".store", ".store/verified.json"])
def test_an_aid_is_neither_read_nor_written_through_a_link(tmp_path, link):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "other" / ".store").mkdir(parents=True)
    write_aid(elsewhere / "other", "verified.json", b'{\n  "a": 1\n}\n')
    there = elsewhere / "other" / link
    (tmp_path / "store" / link).parent.mkdir(parents=True)
    (tmp_path / "store" / link).symlink_to(there)
    before = (elsewhere / "other" / ".store" / "verified.json").read_bytes()
    with pytest.raises(OSError):
        read_aid(tmp_path / "store", "verified.json")
    write_aid(tmp_path / "store", "verified.json", b'{\n  "a": 2\n}\n')
    assert (elsewhere / "other" / ".store" / "verified.json").read_bytes() == before


def test_what_lies_in_a_store_and_is_no_folder_or_hidden_is_no_bundle(store, fill, case):
    store.publish(case.name, fill)
    (store.path / "file").touch()
    (store.path / "b").mkdir()
    assert store.names() == ["b", case.name] and store.find("a") is None


def test_nothing_is_made_before_something_is_written(store):
    assert store.find("a") is None and store.sweep() == 0 and not store.path.exists()
    store.create()
    assert sorted(path.name for path in (store.path / ".store").iterdir()) == ["locks", "staging"]
    assert store.names() == []


def test_a_scratch_directory_is_empty_and_gone_at_the_end(store):
    with pytest.raises(KeyError), store.scratch("a") as directory:
        assert directory.is_dir() and not list(directory.iterdir())
        exchange_module.aside(directory).mkdir()
        (directory / "file").touch()
        raise KeyError
    assert staged(store) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize(
    ("owner", "user", "may"), [(12345, 12345, True), (12345, 0, True), (0, 54321, True), (12345, 54321, False)]
)
def test_a_store_is_written_by_its_owner_and_by_root_and_is_no_trap_when_it_is_roots(
    store, monkeypatch, owner, user, may
):
    store.create()
    os.chown(store.path, owner, owner)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    if may:
        store.create()
    else:
        with pytest.raises(StoreError, match=f"belongs to another user \\(uid {owner}\\); choose another directory"):
            store.create()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_link_of_another_user_is_a_trap_whatever_it_leads_to(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    os.chown(tmp_path / "mine", 54321, 54321)
    (tmp_path / "link").symlink_to("mine")
    os.chown(tmp_path / "link", 12345, 12345, follow_symlinks=False)
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    Store(tmp_path / "mine").create()
    with pytest.raises(StoreError, match="belongs to another user"):
        Store(tmp_path / "link").create()


def test_a_place_that_is_taken_by_a_file_is_one_line_and_leaves_nothing(store, fill, case):
    store.create()
    (store.path / case.name).touch()
    with pytest.raises(StoreError, match="cannot publish: "):
        store.publish(case.name, fill)
    assert staged(store) == []


def test_sweep_removes_locks_that_nobody_holds_and_spares_the_held(store):
    store.create()
    locks = store.path / ".store" / "locks"
    (locks / "dead.lock").touch()
    (locks / "other").touch()
    held = try_lock(locks / "held.lock")
    assert store.sweep() == 0
    assert sorted(path.name for path in locks.iterdir()) == ["held.lock", "other"]
    unlock(locks / "held.lock", held)


def test_a_bundle_that_was_moved_aside_goes_where_another_has_taken_its_place(store, fill, case):
    store.publish(case.name, fill)
    staging = store.path / ".store" / "staging" / f"{case.name}-1-abcd"
    exchange_module.aside(staging).mkdir()
    staging.mkdir()
    staging.with_name(staging.name + ".lock").touch()
    assert store.sweep() == 1
    assert store.find(case.name) is not None and staged(store) == []


def profiled(path):
    (path / "profiles" / "1").mkdir(parents=True)
    return path


def kept(path):
    return [one.name for one in path.glob("profiles/*")]


def test_profiles_go_with_a_build_that_has_no_neff(store, fill, case):
    path = profiled(store.publish(case.name, fill))
    store.publish(case.name, lambda directory: write_manifest(directory, Manifest(case, "k", "failed", "sim", "")))
    assert kept(path) == []
    profiled(path)
    store.publish(case.name, fill)
    assert kept(path) == []


def test_profiles_stay_where_the_older_bundle_cannot_be_read(store, fill, case):
    path = profiled(store.publish(case.name, fill))
    (path / "case.json").write_text("{}")
    store.publish(case.name, fill)
    assert kept(path) == ["1"]


def test_what_is_copied_is_finished(tmp_path):
    """Only what begins with a dot in the profiles themselves is not."""
    for name in ("profiles/.work/a", "profiles/1/.hidden", ".log", "profiles/1/out"):
        (tmp_path / "old" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "old" / name).touch()
    (tmp_path / "old" / "profiles" / "1" / "link").symlink_to("none")
    (tmp_path / "new").mkdir()
    copy_finished(tmp_path / "old", tmp_path / "new", tmp_path / "old" / "profiles")
    found = sorted(str(path.relative_to(tmp_path / "new")) for path in (tmp_path / "new").rglob("*"))
    assert found == [".log", "profiles", "profiles/1", "profiles/1/.hidden", "profiles/1/link", "profiles/1/out"]
    assert (tmp_path / "new" / "profiles" / "1" / "link").is_symlink()


def test_hidden_links_go_and_hidden_folders_stay(store, fill, case):
    def with_hidden(directory):
        fill(directory)
        (directory / ".link").symlink_to("none")
        (directory / ".cache").mkdir()
        (directory / ".cache" / ".a").touch()
        (directory / ".cache" / "b").touch()

    path = store.publish(case.name, with_hidden)
    assert sorted(str(one.relative_to(path)) for one in path.rglob(".*")) == [".cache"]
    assert ".cache/b" in store.find(case.name).manifest.files
