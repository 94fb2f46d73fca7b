import os
import re
import shutil
import subprocess
import sys

import pytest

from neff_bench.neffs.bundle import MANIFEST, files_of, read_bundle, record_files, verify_bundle
from neff_bench.neffs.checksums import seal, wrong_size
from neff_bench.neffs.errors import BundleError


@pytest.fixture
def bundle(tmp_path, fill):
    fill(tmp_path)
    record_files(tmp_path)
    return read_bundle(tmp_path)


def edit(bundle, old, new):
    """Change the text of the manifest as its writer could, with the right checksum."""
    unsealed = re.sub(r',\n  "checksum": "[0-9a-f]{64}"\n}\n$', "\n}\n", (bundle.path / MANIFEST).read_text())
    assert old in unsealed
    (bundle.path / MANIFEST).write_bytes(seal(unsealed.replace(old, new).encode()))


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
    assert wrong_size(bundle.path, files_of(bundle.manifest)) is None
    with pytest.raises(BundleError, match="inp-lhs-000.bin was changed"):
        verify_bundle(bundle)


def test_a_changed_neff_is_named(bundle):
    (bundle.path / "file.neff").write_bytes(b"NEFF")
    with pytest.raises(BundleError, match="file.neff was changed"):
        verify_bundle(bundle)


def test_a_missing_and_a_short_file_are_seen_without_hashing(bundle):
    (bundle.path / "inp-lhs-000.bin").write_bytes(b"")
    assert wrong_size(bundle.path, files_of(bundle.manifest)) == "inp-lhs-000.bin has 0 bytes instead of 24"
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
    edit(bundle, '"schema": 2', '"schema": 3')
    with pytest.raises(BundleError, match="newer than 2"):
        read_bundle(bundle.path)


@pytest.mark.parametrize("file", ["../../etc/passwd", "/etc/passwd"])
def test_a_manifest_cannot_point_outside_of_its_bundle(bundle, file):
    edit(bundle, '"inp-lhs-000.bin"', f'"{file}"')
    with pytest.raises(BundleError, match="outside the bundle"):
        read_bundle(bundle.path)


@pytest.mark.parametrize("name", ["--force", "-n", "a b", "a\\nb", ""])
def test_a_tensor_named_like_an_option_is_refused(bundle, name):
    edit(bundle, '"name": "lhs"', f'"name": "{name}"')
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


def test_every_file_of_a_bundle_is_recorded(tmp_path, fill):
    fill(tmp_path)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "graph.hlo").write_bytes(b"hlo")
    (tmp_path / "profiles" / "1").mkdir(parents=True)
    (tmp_path / "profiles" / "1" / "run.json").write_bytes(b"{}")
    record_files(tmp_path)
    bundle = read_bundle(tmp_path)
    assert sorted(files_of(bundle.manifest)) == ["file.neff", "inp-lhs-000.bin", "model/graph.hlo"]
    (tmp_path / "model" / "graph.hlo").write_bytes(b"xy")
    assert wrong_size(bundle.path, files_of(bundle.manifest)) == "model/graph.hlo has 2 bytes instead of 3"


def test_any_changed_bit_of_the_manifest_is_noticed(bundle):
    good = (bundle.path / MANIFEST).read_bytes()
    for position in range(len(good)):
        (bundle.path / MANIFEST).write_bytes(
            good[:position] + bytes([good[position] ^ 1 << position % 8]) + good[position + 1 :]
        )
        with pytest.raises(BundleError, match="case.json"):
            read_bundle(bundle.path)


def test_a_manifest_of_an_older_version_is_read_and_not_called_verified(bundle):
    text = (bundle.path / MANIFEST).read_text().replace('"schema": 2', '"schema": 1')
    (bundle.path / MANIFEST).write_text(re.sub(r',\n  "checksum": "[0-9a-f]{64}"', "", text))
    assert bundle.verified
    assert not read_bundle(bundle.path).verified


def test_threads_that_read_their_first_manifest_do_not_race(bundle):
    code = (
        "import sys, pathlib, concurrent.futures as c\n"
        "from neff_bench.neffs.bundle import read_bundle\n"
        "with c.ThreadPoolExecutor(16) as pool:\n"
        "    list(pool.map(read_bundle, [pathlib.Path(sys.argv[1])] * 64))"
    )
    for _ in range(5):
        subprocess.run([sys.executable, "-c", code, str(bundle.path)], check=True)
