import hashlib
import os

import pytest

from neff_bench.neffs.checksums import (
    FileSum,
    Unsealed,
    check_seal,
    plain_status,
    seal,
    sha256_file,
    sum_file,
    tree_digest,
    wrong_content,
    wrong_file,
    wrong_size,
)

DOCUMENT = b'{\n  "a": 1\n}\n'


def test_a_sealed_document_is_still_json():
    import json

    assert json.loads(seal(DOCUMENT))["a"] == 1
    check_seal(seal(DOCUMENT))


def test_any_flipped_bit_breaks_the_seal():
    good = seal(DOCUMENT)
    for bit in range(8 * len(good)):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        with pytest.raises(Unsealed):
            check_seal(bytes(bad))


def test_a_document_without_a_checksum_is_told_from_a_changed_one():
    with pytest.raises(Unsealed) as error:
        check_seal(DOCUMENT)
    assert error.value.absent
    with pytest.raises(Unsealed) as error:
        check_seal(seal(DOCUMENT).replace(b"1", b"2", 1))
    assert not error.value.absent


def test_files_are_compared_by_size_and_by_content(tmp_path):
    (tmp_path / "a").write_bytes(b"12")
    files = {"a": sum_file(tmp_path / "a")}
    assert files["a"].bytes == 2
    assert (wrong_size(tmp_path, files), wrong_content(tmp_path, files)) == (None, None)
    (tmp_path / "a").write_bytes(b"13")
    assert wrong_size(tmp_path, files) is None
    assert wrong_content(tmp_path, files) == "a was changed after it was written"
    (tmp_path / "a").write_bytes(b"123")
    assert wrong_size(tmp_path, files) == "a has 3 bytes instead of 2"
    assert wrong_size(tmp_path, {"b": FileSum(1, None)}) == "b is missing"


@pytest.mark.parametrize("document", [b"{}", b'{"a": 1}\n', b'{\n  "a": 1\n}', b""])
def test_only_an_indented_object_is_sealed(document):
    with pytest.raises(ValueError, match="only an indented JSON object"):
        seal(document)


def test_a_seal_is_the_sha256_of_all_that_is_before_it():
    digest = hashlib.sha256(b'{\n  "a": 1').hexdigest()
    assert seal(DOCUMENT) == b'{\n  "a": 1,\n  "checksum": "' + digest.encode() + b'"\n}\n'


def test_the_seal_of_nothing_is_a_seal():
    """A document that begins with its seal."""
    whole = seal(b"\n}\n")
    check_seal(whole)
    with pytest.raises(Unsealed, match="has no checksum"):
        check_seal(whole[1:])


def test_a_file_of_several_blocks_has_the_digest_of_its_content(tmp_path):
    data = bytes(range(256)) * 8193
    (tmp_path / "a").write_bytes(data)
    assert sha256_file(tmp_path / "a") == hashlib.sha256(data).hexdigest()


def test_a_plain_file_is_no_link_no_folder_and_no_pipe(tmp_path):
    (tmp_path / "a").write_bytes(b"12")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert plain_status(tmp_path / "a").st_size == 2
    files = {name: FileSum(None, None) for name in ("a", "link", "folder", "pipe")}
    for name in ("link", "folder", "pipe"):
        assert plain_status(tmp_path / name) is None
        assert wrong_size(tmp_path, {"a": files["a"], name: files[name]}) == f"{name} is not a plain file"


def test_what_is_not_recorded_is_not_compared(tmp_path):
    (tmp_path / "a").write_bytes(b"12")
    assert wrong_file(tmp_path, {"a": FileSum(None, None)}) is None
    assert wrong_file(tmp_path, {"a": FileSum(0, None)}) == "a has 2 bytes instead of 0"


def test_a_file_below_a_file_is_missing_and_one_that_cannot_be_looked_at_is_told(tmp_path):
    (tmp_path / "a").write_bytes(b"12")
    assert wrong_size(tmp_path, {"a/b": FileSum(1, None)}) == "a/b is missing"
    name = "x" * 300
    assert wrong_size(tmp_path, {name: FileSum(1, None)}) == f"{name} cannot be read: File name too long"
    assert wrong_content(tmp_path, {"b": FileSum(1, None)}) == "b cannot be read: No such file or directory"


def test_all_sizes_are_compared_before_any_content(tmp_path):
    for name in "ab":
        (tmp_path / name).write_bytes(b"12")
    files = {"a": FileSum(2, "0" * 64), "b": FileSum(3, None)}
    assert wrong_file(tmp_path, files) == "b has 2 bytes instead of 3"
    (tmp_path / "b").write_bytes(b"123")
    assert wrong_file(tmp_path, files) == "a was changed after it was written"


def test_the_digest_of_a_tree_follows_names_and_contents_of_its_python_files(tmp_path):
    found = []
    for number, changes in enumerate(
        ({}, {"a.py": b"2"}, {"c.py": b"1", "a.py": None}, {"p/b.py": b""}, {"x.txt": b"1"})
    ):
        folder = tmp_path / str(number)
        for name, data in ({"a.py": b"1", "p/b.py": b"12"} | changes).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if data is not None:
                (folder / name).write_bytes(data)
        found.append(tree_digest(folder))
    assert len(set(found)) == 4 and found[4] == found[0]
    (tmp_path / "0" / "a.py").write_bytes(b"3")
    assert tree_digest(tmp_path / "0") == found[0]
