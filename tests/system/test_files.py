"""A file is there whole or not at all."""

import os

import pytest

from neff_bench.system.files import read_plain, remove, write_whole


def test_an_earlier_file_survives_a_write_that_fails(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(str(path), b"good")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(str(path), b"half of it")
    assert path.read_bytes() == b"good"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, disk):
    write_whole(str(tmp_path / "file"), b"data")
    assert disk.renamed == ["file"]
    assert disk.unsynced == []


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "victim").write_bytes(b"theirs")
    (tmp_path / "file").symlink_to(tmp_path / "victim")
    write_whole(tmp_path / "file", b"mine")
    assert (tmp_path / "victim").read_bytes() == b"theirs"
    assert not (tmp_path / "file").is_symlink() and (tmp_path / "file").read_bytes() == b"mine"


def test_a_file_gets_the_permissions_that_the_user_asks_for(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_a_pipe_or_a_folder_in_place_of_a_file_is_an_error_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, what in ((tmp_path / "pipe", "not a plain file"), (tmp_path, "directory")):
        with pytest.raises(OSError, match=what):
            read_plain(path)


def test_what_is_removed_is_a_file_a_folder_or_a_link_and_never_what_a_link_leads_to(tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "kept").write_bytes(b"kept")
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("file", "folder", "link", "dangling", "absent"):
        remove(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]
    assert (tmp_path / "theirs" / "kept").read_bytes() == b"kept"
