"""What the comparison of two profiles says: the planted changes, and nothing else."""

import re
from dataclasses import replace

import msgspec
import pytest

from neff_bench.viewer.page import differences
from neff_bench.viewer.page.events import Side, events_of
from tests.viewer.page.profiles import small

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
