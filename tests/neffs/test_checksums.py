import pytest

from neff_bench.neffs.checksums import FileSum, Unsealed, check_seal, seal, sum_file, wrong_content, wrong_size

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
