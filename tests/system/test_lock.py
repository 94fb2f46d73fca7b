import os

import pytest

from neff_bench.system.lock import SHARED, holder, is_held, locked, try_lock, unlock


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


def test_a_lock_says_who_holds_it(tmp_path):
    with locked(tmp_path / "a.lock"):
        assert holder(tmp_path / "a.lock").startswith(f"process {os.getpid()} of ")
    assert holder(tmp_path / "a.lock") == "another process"


def test_a_lock_for_all_users_may_be_opened_by_them(tmp_path):
    descriptor = try_lock(tmp_path / "a.lock", SHARED)
    assert descriptor is not None and os.fstat(descriptor).st_mode & 0o777 == SHARED
    unlock(tmp_path / "a.lock", descriptor)


def test_a_lock_whose_directory_was_replaced_leaves_the_new_one_alone(tmp_path):
    (tmp_path / "old").mkdir()
    ours = try_lock(tmp_path / "old" / "lock")
    (tmp_path / "old").rename(tmp_path / "aside")
    (tmp_path / "old").mkdir()
    theirs = try_lock(tmp_path / "old" / "lock")
    unlock(tmp_path / "old" / "lock", ours)
    assert try_lock(tmp_path / "old" / "lock") is None
    assert is_held(tmp_path / "old" / "lock") and not is_held(tmp_path / "aside" / "lock")
    unlock(tmp_path / "old" / "lock", theirs)
    assert not (tmp_path / "old" / "lock").exists()
