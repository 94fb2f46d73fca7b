import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from neff_bench.neffs.bundle import (
    MANIFEST,
    MANIFEST_BYTES_MAX,
    Manifest,
    RankFiles,
    TensorFile,
    files_below,
    files_of,
    found_files,
    is_safe_tensor_name,
    read_bundle,
    record_files,
    used_files,
    verify_bundle,
    write_manifest,
    write_tensor,
)
from neff_bench.neffs.checksums import FileSum, seal, sha256_file, wrong_size
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


def tensor(name, file, size_bytes=4):
    return TensorFile(name, (1,), "float32", size_bytes, file, f"sha of {file}")


def test_the_files_that_are_used_are_those_of_all_ranks(case):
    """An output without a reference has no file."""
    manifest = Manifest(
        case, "k", "built", "sim", "", neff="file.neff", neff_sha256="n", inputs=(tensor("x", "x0"),), outputs=(tensor("y", None),),
        other_ranks=(RankFiles((tensor("x", "x1", 8),), (tensor("y", "y1"),)),), rank_inputs="4rank_inputs.txt",
    )  # fmt: skip
    assert [len(rank.inputs) for rank in manifest.by_rank] == [1, 1] and manifest.by_rank[0].inputs[0].file == "x0"
    used = {"file.neff": FileSum(None, "n")}
    used |= {name: FileSum(size, f"sha of {name}") for name, size in (("x0", 4), ("x1", 8), ("y1", 4))}
    assert used_files(manifest) == used
    published = replace(manifest, files={"4rank_inputs.txt": FileSum(3, "r"), "compile.log": FileSum(1, "l")})
    assert used_files(published) == {**used, "4rank_inputs.txt": FileSum(3, "r")}
    assert files_of(published) == {**used_files(published), "compile.log": FileSum(1, "l")}
    assert used_files(replace(published, rank_inputs=None)) == used
    assert used_files(replace(manifest, neff=None)) == {name: one for name, one in used.items() if name != "file.neff"}


def test_a_case_that_failed_has_no_neff(tmp_path, case):
    write_manifest(tmp_path, Manifest(case, "k", "failed", "neuron", "", reason="why"))
    bundle = read_bundle(tmp_path)
    assert (bundle.neff_path, bundle.manifest.reason, bundle.name) == (None, "why", tmp_path.name)


def test_a_recorded_file_has_the_digest_of_its_tensor_or_of_its_content(tmp_path, fill):
    fill(tmp_path)
    (tmp_path / "compile.log").write_bytes(b"log")
    data = (tmp_path / "inp-lhs-000.bin").read_bytes()
    (tmp_path / "inp-lhs-000.bin").write_bytes(b"\1" * 24)
    record_files(tmp_path)
    assert read_bundle(tmp_path).manifest.files == {
        "compile.log": FileSum(3, hashlib.sha256(b"log").hexdigest()),
        "file.neff": FileSum(4, sha256_file(tmp_path / "file.neff")),
        "inp-lhs-000.bin": FileSum(24, hashlib.sha256(data).hexdigest()),
    }


def test_the_files_of_a_bundle_are_its_own_and_those_of_its_folders(tmp_path):
    """Only at its top are case.json and profiles/ no part of it. A link to a folder is a file."""
    for name in ("case.json", "profiles/1", "b", "a/case.json", "a/profiles/2", "a/c/d"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "a" / "link").symlink_to(tmp_path / "profiles")
    inside = ["a/c/d", "a/case.json", "a/link", "a/profiles/2"]
    assert found_files(tmp_path) == [*inside, "b"]
    assert files_below(tmp_path) == [*inside, "b", "case.json", "profiles/1"]
    assert files_below(tmp_path, "a") == inside and files_below(tmp_path, "a/c") == ["a/c/d"]
    assert files_below(tmp_path, "b") == ["b"] and files_below(tmp_path, "none") == []


@pytest.mark.parametrize(
    ("name", "safe"),
    [("x", True), ("a-b", True), ("a.b:0", True), ("ä", True), ("", False), ("-x", False), ("a b", False), ("a\x07", False), ("a\u2003b", False)],
)  # fmt: skip
def test_a_safe_name_is_one_word_and_no_option(name, safe):
    assert is_safe_tensor_name(name) is safe


def test_a_tensor_is_written_with_its_digest(tmp_path):
    written = write_tensor(tmp_path, "f", "x", (2,), "uint8", memoryview(b"12"))
    assert written == TensorFile("x", (2,), "uint8", 2, "f", hashlib.sha256(b"12").hexdigest())
    assert (tmp_path / "f").read_bytes() == b"12"


@pytest.mark.parametrize(("more", "says"), [(0, "case.json is damaged"), (1, "not a plain file of at most 16 MiB")])
def test_a_manifest_of_more_than_16_mebibytes_is_not_read(bundle, more, says):
    os.truncate(bundle.path / MANIFEST, MANIFEST_BYTES_MAX + more)
    assert MANIFEST_BYTES_MAX == 16 << 20
    with pytest.raises(BundleError, match=says):
        read_bundle(bundle.path)


def test_what_is_no_bundle_is_told_so(tmp_path):
    with pytest.raises(BundleError, match="no case.json, so this is not a bundle"):
        read_bundle(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(BundleError, match="cannot read case.json: Not a directory"):
        read_bundle(tmp_path / "file")


def test_only_a_manifest_of_the_first_schema_may_be_without_a_checksum(bundle):
    text = (bundle.path / MANIFEST).read_text()
    (bundle.path / MANIFEST).write_text(re.sub(r',\n  "checksum": "[0-9a-f]{64}"', "", text))
    with pytest.raises(BundleError, match=r"case.json is damaged \(it has no checksum\)"):
        read_bundle(bundle.path)
    (bundle.path / MANIFEST).write_text(text.replace('"schema": 2', '"schema": 1'))
    with pytest.raises(BundleError, match="its checksum does not fit its content"):
        read_bundle(bundle.path)


@pytest.mark.parametrize("file", ["a..b", "..a", "a/..b"])
def test_dots_in_a_name_lead_nowhere(bundle, file):
    edit(bundle, '"inp-lhs-000.bin"', f'"{file}"')
    assert file in files_of(read_bundle(bundle.path).manifest)
