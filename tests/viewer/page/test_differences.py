"""What the comparison of two profiles says: the planted changes, and nothing else."""

import re
from dataclasses import replace

import msgspec
import pytest

from neff_bench.viewer.page import differences
from neff_bench.viewer.page.events import Side, events_of
from tests.viewer.page.profiles import small
from tests.viewer.page.tables import cells, heads

TEXT = {"kernel.py": "\n".join(f"line {number}" for number in range(1, 12))}


def changed(html):
    """Return name and difference of the rows of a table that differ."""
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr.*?</tr>", html)]
    return {row[0]: row[3] for row in rows if row and row[3] not in ("+0.000", "")}


def longer_product(timeline):
    """A product that takes 150 ns longer."""
    timeline.instructions[1].duration += 150


def another_copy(timeline):
    """A second copy, of a line of its own."""
    more = {"timestamp": 700, "duration": 60, "id": 4, "nki_source_location": "kernel.py:6", "predecessors": []}
    timeline.instructions.append(msgspec.structs.replace(timeline.instructions[2], **more))


def other_queue(timeline):
    """A packet that goes by another queue."""
    timeline.dma[1].subgroup, timeline.dma[1].dma_queue = "Q2-E4", "2"


@pytest.mark.parametrize(
    ("plant", "tracks", "lines"),
    [
        (longer_product, {"TensorMatrix core 0": "+0.150"}, {"kernel.py:4": "+0.150", "kernel.py:9": "+0.150"}),
        (another_copy, {"Vector core 0": "+0.060"}, {"kernel.py:6": "+0.060"}),
        (other_queue, {"Q1 hardware core 0": "-0.020", "Q2 hardware core 0": "+0.210"}, {}),
    ],
)
def test_a_comparison_shows_the_planted_change_alone(plant, tracks, lines):
    after = small()
    after = replace(after, instructions=[*after.instructions], dma=[*after.dma], summary={**after.summary})
    plant(after)
    after.summary["total_time"] = 1.5e-6
    sides = (Side("A", small(), TEXT), Side("B", after, TEXT))
    events = events_of(sides)
    assert changed(differences.by_track(events, "AB")) == tracks
    assert changed(differences.by_line(events, sides)) == lines
    assert re.findall(r"<td>(\w+)</td>", differences.by_counter(sides)) == ["total_time"]
    same = (Side("A", small(), TEXT), Side("B", small(), TEXT))
    assert (
        changed(differences.by_track(events_of(same), "AB"))
        == changed(differences.by_line(events_of(same), same))
        == {}
    )


def test_a_line_that_others_push_down_is_the_same_line():
    after, text = small(), {"kernel.py": "new\n" + TEXT["kernel.py"]}
    for row in after.instructions:
        file, _, line = row.nki_source_location.partition(":")
        row.nki_source_location = f"{file}:{int(line) + 1}"
        row.nki_call_stack = tuple(f"kernel.py:{int(one.partition(':')[2]) + 1}" for one in row.nki_call_stack)
    sides = (Side("A", small(), TEXT), Side("B", after, text))
    assert changed(differences.by_line(events_of(sides), sides)) == {}


def with_summary(letter, **summary):
    return Side(letter, replace(small(), summary=summary))


def test_counters_that_differ_have_a_ratio_where_both_are_numbers():
    a = with_summary("A", count=4, flag=True, name="a", same=1, share=0.123456789, gone=2, zero=0)
    b = with_summary("B", count=6, flag=False, name="b", same=1, share=0.2, new=3, zero=5)
    c = with_summary("C", count=1, flag=True, name="a", same=1, share=0.1, gone=2, zero=0)
    shown = differences.by_counter((a, b, c))
    assert heads(shown) == ["counter", "A", "B", "C", "B/A", "C/A"]
    assert cells(shown) == [
        ["count", "4", "6", "1", "1.5", "0.25"],
        ["gone", "2", "", "2", "", "1"],
        ["new", "", "3", "", "", ""],
        ["share", "0.123457", "0.2", "0.1", "1.62", "0.81"],
        ["zero", "0", "5", "0", "", ""],
    ]


def test_rows_come_by_their_largest_difference_then_by_name():
    rows = [("b", {"A": 1000.0, "B": 1000.0}, "1"), ("a", {"A": 1000.0, "B": 900.0}, "2"), ("c", {"B": 500.0}, "")]
    rows += [("d", {"A": 500.0}, "3")]
    shown = differences._table("line", rows, "AB")
    assert heads(shown) == ["line", "A us", "B us", "B - A us", "B/A"]
    assert cells(shown) == [
        ["c", "", "0.500", "+0.500", ""],
        ["d", "0.500", "", "-0.500", ""],
        ["a", "1.000", "0.900", "-0.100", "0.9"],
        ["b", "1.000", "1.000", "+0.000", "1"],
    ]
    assert re.findall(r'data-line="(.*?)"', shown) == ["3", "2", "1"]
    third = differences._table("line", [("a", {"A": 0.0, "B": 0.0, "C": 0.0}, ""), ("b", {"C": 9.0}, "")], "ABC")
    assert [row[0] for row in cells(third)] == ["b", "a"]
    assert len(cells(differences._table("line", rows * 101, "AB"))) == 400


def test_the_first_line_of_a_file_is_aligned_by_its_text():
    def at(number):
        load = msgspec.structs.replace(small().instructions[0], nki_source_location=f"kernel.py:{number}")
        return replace(small(), instructions=[load])

    for after, number in (("new\nload", 2), ("load", 1)):
        sides = (Side("A", at(1), {"kernel.py": "load"}), Side("B", at(number), {"kernel.py": after}))
        assert [0, 1] in differences.aligned_lines(events_of(sides), sides)
    beyond = (Side("A", at(1), {"kernel.py": "load"}), Side("B", at(2), {"kernel.py": "load"}))
    assert [0] in differences.aligned_lines(events_of(beyond), beyond)


def test_what_is_the_same_or_names_no_lines_says_so():
    bare = replace(small(), instructions=[], dma=[])
    sides = (Side("A", bare), Side("B", bare))
    assert "No profile names source lines" in differences.by_line(events_of(sides), sides)
    assert "say the same" in differences.by_counter(sides)


def test_lines_that_are_no_places_of_a_file_are_aligned_by_their_name():
    timeline = small()
    for row, line in zip(timeline.instructions, ("%dot.3", "kernel.py:11", "kernel.py:12")):
        row.nki_source_location, row.nki_call_stack = line, ()
    sides = (Side("A", timeline, TEXT), Side("B", timeline, TEXT))
    events = events_of(sides)
    groups = [[events.lines[line] for line in group] for group in differences.aligned_lines(events, sides)]
    assert sorted(groups) == [["%dot.3"] * 2, ["kernel.py:11"] * 2, ["kernel.py:12"] * 2]


@pytest.mark.parametrize("alone", ["A", "B"])
def test_what_one_side_has_not_counts_as_no_time_in_the_order_of_rows(alone):
    rows = [("less", {"A": 0.0, "B": 4.5}, ""), ("more", {alone: 5.0}, ""), ("least", {"A": 3.0, "B": 3.0}, "")]
    assert [row[0] for row in cells(differences._table("x", rows, "AB"))] == ["more", "less", "least"]
