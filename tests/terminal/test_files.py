"""A file is there whole or not at all."""

import os

import pytest

from neff_bench.terminal.files import write_whole


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
