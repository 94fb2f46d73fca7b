"""What a store keeps for itself, and how files are known again."""

import os
import time

import pytest

from neff_bench.neffs import aids
from neff_bench.neffs.aids import Aid, read_aid, stamp, write_aid
from neff_bench.neffs.checksums import Unsealed

DOCUMENT = b'{\n  "a": 1\n}\n'


@pytest.fixture
def store(tmp_path):
    (tmp_path / ".store").mkdir()
    return tmp_path


def test_what_one_process_learned_the_next_one_knows(store):
    aid = Aid(store, "x.json", int)
    aid.keep("a", 1)
    aid.keep("b", 2)
    assert (aid.find("a"), aid.find("c")) == (1, None)
    assert Aid(store, "x.json", int).find("a") is None
    aid.save()
    again = Aid(store, "x.json", int)
    assert (again.find("a"), again.find("b")) == (1, 2)
    again.keep("a", 3)
    assert again.find("a") == 3
    again.save()
    assert Aid(store, "x.json", int).find("a") == 3


def test_what_others_wrote_since_is_kept_and_what_does_not_live_is_not(store):
    one, other = Aid(store, "x.json", int), Aid(store, "x.json", int)
    one.keep("a", 1)
    one.keep("dead", 1)
    one.save()
    other.keep("b", 2)
    other.save(lambda key: key != "dead")
    found = Aid(store, "x.json", int)
    assert [found.find(key) for key in ("a", "b", "dead")] == [1, 2, None]


def test_a_call_that_learned_nothing_writes_nothing(store):
    aid = Aid(store, "x.json", int)
    aid.save()
    assert not (store / ".store" / "x.json").exists()
    aid.keep("a", 1)
    aid.save()
    (store / ".store" / "x.json").unlink()
    known = Aid(store, "x.json", int)
    known.keep("a", 1)
    known.save()
    (before := store / ".store" / "x.json").unlink()
    read = Aid(store, "x.json", int)
    read.save()
    assert not before.exists()


def test_a_known_entry_that_is_found_again_is_nothing_new(store):
    aid = Aid(store, "x.json", int)
    aid.keep("a", 1)
    aid.save()
    known = Aid(store, "x.json", int)
    (store / ".store" / "x.json").unlink()
    known.keep("a", 1)
    known.save()
    assert not (store / ".store" / "x.json").exists()


def test_entries_of_another_maker_or_another_type_do_not_count(store):
    aid = Aid(store, "x.json", int, "one")
    aid.keep("a", 1)
    aid.save()
    assert Aid(store, "x.json", int, "one").find("a") == 1
    assert Aid(store, "x.json", int, "two").find("a") is None
    assert Aid(store, "x.json", str, "one").find("a") is None


def test_a_document_that_was_changed_is_none(store):
    write_aid(store, "x.json", DOCUMENT)
    path = store / ".store" / "x.json"
    assert read_aid(store, "x.json") == path.read_bytes() and path.read_bytes().startswith(DOCUMENT[:-3])
    path.write_bytes(path.read_bytes().replace(b"1", b"2", 1))
    with pytest.raises(Unsealed):
        read_aid(store, "x.json")


def test_a_pipe_in_place_of_a_document_does_not_block(store):
    os.mkfifo(store / ".store" / "x.json")
    with pytest.raises((OSError, Unsealed)):
        read_aid(store, "x.json")


def test_nothing_is_written_where_no_store_is_or_to_another_users(store, monkeypatch, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    write_aid(elsewhere, "x.json", DOCUMENT)
    (elsewhere / ".store").write_text("a file")
    write_aid(elsewhere, "x.json", DOCUMENT)
    assert [path.name for path in elsewhere.iterdir()] == [".store"]
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    write_aid(store, "x.json", DOCUMENT)
    assert list((store / ".store").iterdir()) == []


def test_descriptors_are_closed(store):
    write_aid(store, "x.json", DOCUMENT)
    before = len(os.listdir("/proc/self/fd"))
    for name in ("x.json", "none"):
        try:
            read_aid(store, name)
        except FileNotFoundError:
            pass
    assert len(os.listdir("/proc/self/fd")) == before


def files_of(directory):
    (directory / "a").write_bytes(b"1")
    (directory / "b").write_bytes(b"2")
    return [("a", "word"), ("b", "word")]


def test_a_stamp_follows_size_times_inode_and_word_of_every_file(tmp_path):
    files = files_of(tmp_path)
    stamps = [stamp(tmp_path, files)[0]]
    assert stamp(tmp_path, files)[0] == stamps[0]
    stamps.append(stamp(tmp_path, files[:1])[0])
    stamps.append(stamp(tmp_path, [files[0], ("b", "other")])[0])
    status = (tmp_path / "b").stat()
    os.utime(tmp_path / "b", ns=(status.st_atime_ns, status.st_mtime_ns - 5_000_000_000))
    stamps.append(stamp(tmp_path, files)[0])
    (tmp_path / "c").write_bytes(b"2")
    os.utime(tmp_path / "c", ns=(status.st_atime_ns, status.st_mtime_ns - 5_000_000_000))
    (tmp_path / "c").replace(tmp_path / "b")
    stamps.append(stamp(tmp_path, files)[0])
    assert len(set(stamps)) == len(stamps)


def test_what_is_no_plain_file_has_no_stamp(tmp_path):
    files = files_of(tmp_path)
    assert stamp(tmp_path, [*files, ("none", "")]) is None
    (tmp_path / "link").symlink_to("a")
    assert stamp(tmp_path, [*files, ("link", "")]) is None
    assert stamp(tmp_path, []) is not None


@pytest.mark.parametrize(("later_ns", "settled"), [(0, False), (1, True)])
def test_files_are_settled_a_second_after_the_newest_was_written(tmp_path, monkeypatch, later_ns, settled):
    files = files_of(tmp_path)
    os.utime(tmp_path / "a", ns=(0, 0))
    newest = max((tmp_path / name).stat().st_ctime_ns for name in "ab")
    monkeypatch.setattr(time, "time_ns", lambda: newest + 1_000_000_000 + later_ns)
    assert aids.SETTLED_NS == 1_000_000_000
    assert stamp(tmp_path, files)[1] is stamp(tmp_path, files[::-1])[1] is settled


@pytest.mark.parametrize(("later_ns", "settled"), [(0, False), (1, True)])
def test_a_file_whose_time_of_change_is_set_ahead_is_not_settled_before(tmp_path, monkeypatch, later_ns, settled):
    files = files_of(tmp_path)
    ahead = (tmp_path / "b").stat().st_ctime_ns + 3_600_000_000_000
    os.utime(tmp_path / "a", ns=(ahead, ahead))
    monkeypatch.setattr(time, "time_ns", lambda: ahead + 1_000_000_000 + later_ns)
    assert stamp(tmp_path, files)[1] is settled
