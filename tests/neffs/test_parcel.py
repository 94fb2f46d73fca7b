"""A bundle goes to another host and comes back as bytes."""

import io
import tarfile

import pytest

from neff_bench.neffs.bundle import read_bundle
from neff_bench.neffs.errors import BundleError
from neff_bench.neffs.parcel import pack, pack_bundle, unpack, unpack_bundle
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


@pytest.mark.parametrize("name", ["../outside", "/outside", "a/../../outside", "link", "./a"])
def test_nothing_is_written_outside(tmp_path, name):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        member = tarfile.TarInfo(name)
        if name == "link":
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(member)
    with pytest.raises(BundleError, match="is not a file inside it"):
        unpack(made.getvalue(), tmp_path / "there")
    assert not (tmp_path / "outside").exists() and not (tmp_path / "there" / "link").is_symlink()


def test_a_link_is_not_sent(tmp_path):
    (tmp_path / "link").symlink_to("/etc/passwd")
    with pytest.raises(BundleError, match=f"^{tmp_path}: link is not a plain file"):
        pack(tmp_path, ["link"])
