"""A bundle goes to another host and comes back as bytes."""

import io
import os
import re
import tarfile
import tempfile

import pytest

from neff_bench.neffs.bundle import read_bundle
from neff_bench.neffs.errors import BundleError
from neff_bench.neffs.parcel import Shared, pack, pack_bundle, shared, unpack, unpack_bundle, workplace
from neff_bench.neffs.store import Store


@pytest.fixture
def bundle(tmp_path, case, fill):
    """A bundle with a run and what an unfinished one leaves."""
    path = Store(tmp_path / "store").publish(case.name, fill)
    for name in ("1/run.json", "1/sub/profile.ntff", ".work-2/profile.ntff", ".lock"):
        (path / "profiles" / name).parent.mkdir(parents=True, exist_ok=True)
        (path / "profiles" / name).write_bytes(name.encode())
    return path


def contents(path):
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_a_bundle_arrives_as_it_was_without_what_is_unfinished(bundle, tmp_path):
    there = unpack_bundle(pack_bundle(bundle), tmp_path / "there")
    sent = {name: data for name, data in contents(bundle).items() if "/." not in name}
    assert sorted(sent) == [
        "case.json",
        "file.neff",
        "inp-lhs-000.bin",
        "profiles/1/run.json",
        "profiles/1/sub/profile.ntff",
    ]
    assert contents(there.path) == sent
    assert there.manifest == read_bundle(bundle).manifest


@pytest.mark.parametrize("file", ["case.json", "file.neff", "inp-lhs-000.bin"])
def test_a_bit_that_changed_on_the_way_is_noticed(bundle, tmp_path, file):
    content = (bundle / file).read_bytes()
    data = pack_bundle(bundle).replace(content, bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(BundleError, match="damaged"):
        unpack_bundle(data, tmp_path / "there")


def test_a_bundle_that_ends_too_soon_is_noticed(bundle, tmp_path):
    data = pack_bundle(bundle)
    with pytest.raises(BundleError, match="damaged on its way"):
        unpack_bundle(data[: len(data) // 4 + 100], tmp_path / "there")


@pytest.mark.parametrize(
    "name", ["../outside", "/outside", "a/../../outside", "link", "./a", "a//b", "a/./b", "a/", "..", "folder"]
)
def test_nothing_is_written_outside(tmp_path, name):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        member = tarfile.TarInfo(name)
        if name == "link":
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        if name == "folder":
            member.type = tarfile.DIRTYPE
        tar.addfile(member)
    with pytest.raises(BundleError, match="is not a file inside it"):
        unpack(made.getvalue(), tmp_path / "there")
    assert not (tmp_path / "outside").exists() and not (tmp_path / "there" / "link").is_symlink()


def test_a_link_is_not_sent(tmp_path):
    (tmp_path / "link").symlink_to("/etc/passwd")
    with pytest.raises(BundleError, match=f"^{tmp_path}: link is not a plain file"):
        pack(tmp_path, ["link"])


@pytest.mark.parametrize("profiles", ["none", "a file"])
def test_a_bundle_without_runs_arrives_too(tmp_path, case, fill, profiles):
    path = Store(tmp_path / "store").publish(case.name, fill)
    if profiles == "a file":
        (path / "profiles").write_text("")
    there = unpack_bundle(pack_bundle(path), tmp_path / "there")
    assert sorted(contents(there.path)) == ["case.json", "file.neff", "inp-lhs-000.bin"]


def test_a_bundle_without_a_checksum_is_not_taken(bundle, tmp_path):
    text = (bundle / "case.json").read_text().replace('"schema": 2', '"schema": 1')
    (bundle / "case.json").write_text(re.sub(r',\n  "checksum": "[0-9a-f]{64}"', "", text))
    with pytest.raises(BundleError, match="damaged on its way: case.json has no checksum"):
        unpack_bundle(pack_bundle(bundle), tmp_path / "there")


def test_a_folder_is_packed_by_its_files_alone(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(b"1")
    with pytest.raises(BundleError, match="a is not a plain file"):
        pack(tmp_path, ["a"])
    unpack(pack(tmp_path, ["a/b/c"]), tmp_path / "there")
    assert contents(tmp_path / "there") == {"a/b/c": b"1"}


def test_other_hosts_see_a_probe_while_they_may_work_in_a_store(tmp_path):
    with shared(tmp_path / "store") as there:
        assert there.path == (tmp_path / "store").resolve() and there.unseen() is None
        (there.path / ".store" / "staging" / "dead-1-a").mkdir()
        (there.path / ".store" / "staging" / "dead-1-a.lock").touch()
    assert list((there.path / ".store" / "staging").iterdir()) == []
    assert f"does not see {there.path}; --shared-store is for stores" in there.unseen()


def test_a_shared_store_is_named_by_where_it_really_is(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with shared(tmp_path / "link") as there:
        assert there == Shared(tmp_path / "real", there.probe) and there.probe.is_dir()


def test_a_worker_keeps_what_it_works_on_on_its_own_disk_and_removes_what_a_killed_one_left(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    staging = tmp_path / f"neff-bench-ray-{os.geteuid()}" / ".store" / "staging"
    staging.mkdir(parents=True)
    (staging / "dead-1-a").mkdir()
    (staging / "dead-1-a.lock").touch()
    workplace.cache_clear()
    try:
        assert workplace().path == staging.parent.parent and workplace() is workplace()
        assert list(staging.iterdir()) == []
    finally:
        workplace.cache_clear()
