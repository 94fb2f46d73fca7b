import os
import shutil

import pytest

from neff_bench.neffs.bundle import MANIFEST, missing_file, read_bundle, verify_bundle
from neff_bench.neffs.errors import BundleError


@pytest.fixture
def bundle(tmp_path, fill):
    fill(tmp_path)
    return read_bundle(tmp_path)


def test_a_manifest_comes_back_as_it_was_written(bundle, case):
    assert bundle.manifest.case == case
    assert bundle.manifest.tolerance == (1e-5, 1e-6)
    assert bundle.manifest.inputs[0].shape == (2, 3)
    assert bundle.manifest.compile_time_s is None
    assert bundle.neff_path == bundle.path / "file.neff"
    verify_bundle(bundle)


def test_a_moved_bundle_is_still_good(bundle, tmp_path_factory):
    moved = tmp_path_factory.mktemp("elsewhere") / "copy"
    shutil.copytree(bundle.path, moved)
    verify_bundle(read_bundle(moved))
    assert str(bundle.path).encode() not in (moved / MANIFEST).read_bytes()


def test_a_changed_file_is_named(bundle):
    (bundle.path / "inp-lhs-000.bin").write_bytes(b"\1" * 24)
    assert missing_file(bundle) is None
    with pytest.raises(BundleError, match="inp-lhs-000.bin was changed"):
        verify_bundle(bundle)


def test_a_changed_neff_is_named(bundle):
    (bundle.path / "file.neff").write_bytes(b"NEFF")
    with pytest.raises(BundleError, match="file.neff was changed"):
        verify_bundle(bundle)


def test_a_missing_and_a_short_file_are_seen_without_hashing(bundle):
    (bundle.path / "inp-lhs-000.bin").write_bytes(b"")
    assert missing_file(bundle) == "inp-lhs-000.bin has 0 bytes instead of 24"
    (bundle.path / "inp-lhs-000.bin").unlink()
    with pytest.raises(BundleError, match="inp-lhs-000.bin is missing"):
        verify_bundle(bundle)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"[]", b'{"case": 1}'])
def test_a_damaged_manifest_is_one_line(bundle, content):
    (bundle.path / MANIFEST).write_bytes(content)
    with pytest.raises(BundleError, match="case.json is damaged") as error:
        read_bundle(bundle.path)
    assert "\n" not in str(error.value)


def test_a_manifest_from_the_future_is_refused(bundle):
    text = (bundle.path / MANIFEST).read_text()
    (bundle.path / MANIFEST).write_text(text.replace('"schema": 1', '"schema": 2'))
    with pytest.raises(BundleError, match="newer than 1"):
        read_bundle(bundle.path)


@pytest.mark.parametrize("file", ["../../etc/passwd", "/etc/passwd"])
def test_a_manifest_cannot_point_outside_of_its_bundle(bundle, file):
    text = (bundle.path / MANIFEST).read_text()
    (bundle.path / MANIFEST).write_text(text.replace('"inp-lhs-000.bin"', f'"{file}"'))
    with pytest.raises(BundleError, match="outside the bundle"):
        read_bundle(bundle.path)


@pytest.mark.parametrize("name", ["--force", "-n", "a b", "a\\nb", ""])
def test_a_tensor_named_like_an_option_is_refused(bundle, name):
    text = (bundle.path / MANIFEST).read_text()
    (bundle.path / MANIFEST).write_text(text.replace('"name": "lhs"', f'"name": "{name}"'))
    with pytest.raises(BundleError, match="unsafe on a command line"):
        read_bundle(bundle.path)


def test_links_are_refused(bundle, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "link").symlink_to(bundle.path)
    with pytest.raises(BundleError, match="a symbolic link"):
        read_bundle(elsewhere / "link")
    inside = bundle.path / "inp-lhs-000.bin"
    inside.rename(elsewhere / "data")
    inside.symlink_to(elsewhere / "data")
    with pytest.raises(BundleError, match="inp-lhs-000.bin is not a plain file"):
        verify_bundle(bundle)


def test_a_pipe_in_place_of_the_manifest_does_not_block(bundle):
    (bundle.path / MANIFEST).unlink()
    os.mkfifo(bundle.path / MANIFEST)
    with pytest.raises(BundleError, match="not a plain file"):
        read_bundle(bundle.path)
