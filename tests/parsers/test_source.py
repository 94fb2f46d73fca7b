"""Bytes come from a regular file as it was when it was first looked at, or from memory."""

import mmap
import os

import pytest

from neff_bench.parsers import source
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.source import forget, open_source, read_whole, source_name


def test_a_file_is_read_from_any_place_to_its_end(write):
    file = open_source(write("a", b"0123456789"))
    assert file.size_bytes == 10 and not file.has_holes
    for offset, length in ((0, 10), (3, 4), (8, 5), (10, 1), (12, 1), (0, 0)):
        assert file.read(offset, length) == b"0123456789"[offset : offset + length]


def test_pieces_have_the_size_that_is_asked_for(write):
    file = open_source(write("a", b"0123456789"))
    assert list(file.pieces(1, 7, 3)) == [b"123", b"456", b"7"]
    assert list(file.pieces(1, 100, 9)) == [b"123456789"] and list(file.pieces(10, 5, 3)) == []


def test_a_file_that_changed_is_an_error_whatever_changed(write):
    path = write("a", b"0123456789")
    file = open_source(path)
    status = path.stat()
    path.write_bytes(b"9876543210")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with pytest.raises(ParseError, match="the file changed while it was read"):
        file.read(0, 1)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert file.read(0, 1) == b"9"
    (path.parent / "b").write_bytes(b"0123456789")
    os.utime(path.parent / "b", ns=(status.st_atime_ns, status.st_mtime_ns))
    (path.parent / "b").replace(path)
    with pytest.raises(ParseError, match="the file changed while it was read"):
        file.read(0, 1)


def test_a_file_that_gets_shorter_under_the_reader_is_an_error_with_its_place(write):
    path = write("a", b"0123456789")
    pieces = open_source(path).pieces(2, 8, 4)
    assert next(pieces) == b"2345"
    os.truncate(path, 6)
    with pytest.raises(ParseError, match=r"6.*the file became shorter while it was read"):
        next(pieces)


def test_what_goes_wrong_while_a_file_is_open_is_told_and_it_is_closed(write):
    file = open_source(write("a", b"0"))
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ParseError, match="No space left"), file.opened():
        raise OSError(28, "No space left on device")
    with pytest.raises(ParseError, match="a word"), file.opened():
        raise OSError("a word")
    assert len(os.listdir("/proc/self/fd")) == before


def test_only_a_file_with_content_is_opened(tmp_path, write):
    os.mkfifo(tmp_path / "pipe")
    for path, why in (
        (tmp_path, "a directory, expected a file"), (tmp_path / "pipe", "not a regular file, expected a file"),
        (write("empty", b""), "empty file"), (tmp_path / "none", "No such file or directory"), ("a\0b", "null"),
    ):  # fmt: skip
        with pytest.raises(ParseError, match=why):
            open_source(path)


def test_a_file_of_which_less_than_half_is_stored_has_holes(tmp_path):
    for name, stored, holes in (("a", 4, True), ("b", 8, False), ("c", 9, False)):
        with (tmp_path / name).open("wb") as file:
            file.write(b"x" * (stored << 12))
            file.truncate(16 << 12)
            os.fsync(file.fileno())
        if (tmp_path / name).stat().st_blocks * 512 == stored << 12:
            assert open_source(tmp_path / name).has_holes is holes


def test_a_whole_file_has_a_largest_size(write):
    path = write("a", b"0123456789")
    assert bytes(read_whole(path, 10)) == b"0123456789" == bytes(read_whole(b"0123456789", 1))
    with pytest.raises(ParseError, match="10 bytes, more than the 9 that are read of such a file"):
        read_whole(path, 9)
    assert read_whole(path, 10).readonly


def test_a_whole_file_is_read_in_pieces(write, monkeypatch):
    monkeypatch.setattr(source, "READ_BYTES", 3)
    monkeypatch.setattr(source, "HUGE_BYTES", 1)
    assert bytes(read_whole(write("a", b"0123456789"), 10)) == b"0123456789"


def test_the_first_zero_byte_ends_the_reading_of_a_file_with_holes(tmp_path, monkeypatch):
    with (tmp_path / "a").open("wb") as file:
        file.write(b"12345")
        file.truncate(1 << 20)
    for piece_bytes in (3, 1 << 22):
        monkeypatch.setattr(source, "READ_BYTES", piece_bytes)
        with pytest.raises(ParseError, match=r"5.*a zero byte, expected text"):
            read_whole(tmp_path / "a", 1 << 20)
    (tmp_path / "b").write_bytes(b"1\x002")
    assert bytes(read_whole(tmp_path / "b", 3)) == b"1\x002"


def test_a_source_is_called_by_its_path_or_is_bytes(tmp_path):
    assert (source_name(tmp_path), source_name(b"x")) == (str(tmp_path), "<bytes>")


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="memory cannot be given back here")
@pytest.mark.parametrize(
    ("start", "end", "gone"),
    [(0, 3, (0, 3)), (0.5, 2.5, (1, 2)), (1, 2, (1, 2)), (0.5, 1.5, (1, 1)), (1.25, 1.75, (1, 1))],
)
def test_only_whole_pages_inside_a_part_are_given_back(write, start, end, gone):
    page = mmap.PAGESIZE
    whole = read_whole(write("a", b"x" * (3 * page)), 3 * page)
    forget(whole, int(start * page), int(end * page))
    first, last = gone
    left = b"x" * (first * page) + b"\0" * ((last - first) * page) + b"x" * ((3 - last) * page)
    assert bytes(whole) == left
    forget(memoryview(b"x"), 0, 1)
