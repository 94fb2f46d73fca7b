"""Trace records as rows: which records no trace holds, and where the first of them is."""

import pytest

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.ntff import read_ntff

DAYS_53 = 1 << 62


def update(files, at, word=0x83000000 | 1 << 26 | 0xF3 << 16 | 1 << 8):
    return files.record(word, 1, files.START + at)


def test_a_record_that_no_trace_holds_is_named_with_its_place(files, write):
    """A tag without its top bit; a time 53 days after the start of the execution."""
    good = update(files, 5)
    for wrong in (update(files, 5, word=0x7FFFFFFF), update(files, DAYS_53 + 1)):
        for place in range(3):
            records = [good] * 3
            records[place] = wrong
            path = write("a.ntff", files.ntff_of(semaphores=records))
            with pytest.raises(ParseError, match="no trace record of kind 1: bad tag or timestamp") as caught:
                read_ntff(path)
            assert path.read_bytes()[caught.value.offset :].startswith(wrong)
            assert caught.value.offset == len(path.read_bytes()) - 16 * (3 - place)


def test_the_first_of_two_wrong_records_is_named(files, write):
    late, untagged, good = update(files, DAYS_53 + 1), update(files, 5, word=1), update(files, 5)
    for first, second in ((late, untagged), (untagged, late)):
        path = write("a.ntff", files.ntff_of(semaphores=[good, first, second]))
        with pytest.raises(ParseError) as caught:
            read_ntff(path)
        assert path.read_bytes()[caught.value.offset :].startswith(first)


def test_a_time_53_days_before_the_execution_is_none_of_a_trace(files, write, monkeypatch):
    monkeypatch.setattr(files, "START", DAYS_53 + 100)
    for at, wrong in ((-DAYS_53, False), (-DAYS_53 - 1, True)):
        path = write("a.ntff", files.ntff_of(semaphores=[update(files, 5), update(files, at)]))
        if wrong:
            with pytest.raises(ParseError, match="bad tag or timestamp") as caught:
                read_ntff(path)
            assert caught.value.offset == len(path.read_bytes()) - 16
        else:
            assert read_ntff(path).event_count == 1


def test_the_last_time_of_a_trace_is_53_days_after_its_start(files, write):
    updates = [update(files, 5), update(files, DAYS_53), update(files, 5, word=0x80000000 | 1 << 26)]
    assert read_ntff(write("a.ntff", files.ntff_of(semaphores=updates))).event_count == 2
