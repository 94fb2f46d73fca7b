import os

import pytest

from neff_bench.neffs.lock import locked, try_lock, unlock


def test_only_one_holds_it_and_the_file_is_gone_afterwards(tmp_path):
    path = tmp_path / "a.lock"
    with locked(path):
        assert try_lock(path) is None
    assert not path.exists()
    descriptor = try_lock(path)
    assert descriptor is not None
    unlock(path, descriptor)


def test_a_file_that_was_replaced_does_not_count(tmp_path, monkeypatch):
    path = tmp_path / "a.lock"
    real = os.fstat

    def replaced(descriptor):
        path.unlink()
        path.touch()
        return real(descriptor)

    monkeypatch.setattr(os, "fstat", replaced)
    assert try_lock(path) is None


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "target").touch()
    (tmp_path / "a.lock").symlink_to(tmp_path / "target")
    with pytest.raises(OSError):
        try_lock(tmp_path / "a.lock")
