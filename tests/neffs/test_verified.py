import os
import time

import pytest

from neff_bench.neffs import aids
from neff_bench.neffs import verified as module
from neff_bench.neffs.checksums import sum_file
from neff_bench.neffs.verified import Verified


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(aids, "SETTLED_NS", 0)
    folder = tmp_path / "store" / "case"
    folder.mkdir(parents=True)
    (folder.parent / ".store").mkdir()
    (folder / "a").write_bytes(b"first")
    time.sleep(0.02)
    return folder


@pytest.fixture
def hashed(monkeypatch):
    """The names of the files that were hashed."""
    names = []
    real = module.wrong_file

    def counted(directory, files):
        names.extend(files)
        return real(directory, files)

    monkeypatch.setattr(module, "wrong_file", counted)
    return names


def test_a_file_is_hashed_once_and_not_again_by_the_next_process(folder, hashed):
    files = {"a": sum_file(folder / "a")}
    known = Verified(folder.parent)
    assert known.wrong(folder, files) is None
    assert known.wrong(folder, files) is None
    known.save()
    assert Verified(folder.parent).wrong(folder, files) is None
    assert hashed == ["a"]


def test_a_change_of_the_same_size_is_noticed_even_when_the_time_is_put_back(folder):
    files = {"a": sum_file(folder / "a")}
    known = Verified(folder.parent)
    assert known.wrong(folder, files) is None
    known.save()
    before = (folder / "a").stat()
    (folder / "a").write_bytes(b"other")
    os.utime(folder / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "a was changed" in Verified(folder.parent).wrong(folder, files)


def test_a_file_that_was_only_touched_is_hashed_and_good(folder, hashed):
    files = {"a": sum_file(folder / "a")}
    known = Verified(folder.parent)
    known.wrong(folder, files)
    os.utime(folder / "a", (1, 1))
    time.sleep(0.02)
    assert known.wrong(folder, files) is None
    assert hashed == ["a", "a"]


def test_a_file_written_just_now_is_not_remembered(folder, hashed, monkeypatch):
    monkeypatch.setattr(aids, "SETTLED_NS", 10**12)
    files = {"a": sum_file(folder / "a")}
    known = Verified(folder.parent)
    assert known.wrong(folder, files) is None
    assert known.wrong(folder, files) is None
    assert hashed == ["a", "a"]


def test_a_damaged_record_is_as_good_as_none(folder, hashed):
    files = {"a": sum_file(folder / "a")}
    known = Verified(folder.parent)
    known.wrong(folder, files)
    known.save()
    record = folder.parent / ".store" / "verified.json"
    record.write_bytes(record.read_bytes().replace(b"case", b"cast", 1))
    assert Verified(folder.parent).wrong(folder, files) is None
    assert hashed == ["a", "a"]


def test_a_missing_file_is_named(folder):
    files = {"a": sum_file(folder / "a")}
    (folder / "a").unlink()
    assert Verified(folder.parent).wrong(folder, files) == "a is missing"
