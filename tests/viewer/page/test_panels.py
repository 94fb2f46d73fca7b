"""What stands beside a timeline: the figures and the words that a reader sees."""

import re
from dataclasses import replace

import msgspec
import pytest

from neff_bench.parsers.event_rows import DmaRow
from neff_bench.viewer.advice import Advice
from neff_bench.viewer.critical_path import PathStep
from neff_bench.viewer.page import panels
from neff_bench.viewer.page.events import Side, events_of
from neff_bench.viewer.page.totals import LineTotal, track_totals
from tests.viewer.page.profiles import small
from tests.viewer.page.tables import cells, heads

STEPS = [PathStep(1, 300.0, 500.0, (("Tensor", 200.0),)), PathStep(2, 520.0, 600.0, (("Vector", 80.0),))]
UNKNOWN = "not known: the file does not say which instruction waits for which"
RANGE = {"simulator_low_total_time": 0.9e-6, "simulator_high_total_time": 1.25e-6}


def side(letter="", simulated=False, **figures):
    """A side whose summary says nothing but these figures."""
    return Side(letter, replace(small(simulated=simulated), summary=figures))


def facts(*sides, steps=(), found=()):
    shown = panels.glance(sides, events_of(sides), steps, found, False)
    return re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", shown)


@pytest.mark.parametrize(("part", "whole", "said"), [(1, 8, "12.5 %"), (8, 8, "100.0 %"), (1, 0, "")])
def test_a_share_of_nothing_is_not_said(part, whole, said):
    assert panels.percent(part, whole) == said


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (side(total_time=1.5e-6), [("total", "1.50 us")]),
        (side(total_time=1.5e-6, **RANGE), [("total", "1.50 us (0.90 to 1.25)")]),
        (side(total_time=1.5e-6, simulator_low_total_time=1e-6), [("total", "1.50 us")]),
        (side(total_time=1.5e-6, simulator_high_total_time=1e-6), [("total", "1.50 us")]),
        (side(**RANGE), [("total", "the file does not say")]),
        (side(total_time=1e-6, instance_type="trn2"), [("total", "1.00 us"), ("on", "trn2")]),
        (side(simulated=True, total_time=1e-6, instance_type="x"), [("total", "1.00 us"), ("on", "x, SIMULATED")]),
        (side(total_time=1e-6, instance_type=""), [("total", "1.00 us")]),
        (side(total_time=1e-6, instance_type=2), [("total", "1.00 us")]),
    ],
)
def test_a_timeline_says_its_total_with_its_range_and_its_device(one, said):
    assert facts(one)[:-1] == said


def test_each_timeline_of_several_is_held_against_the_first():
    a, b = side("A", total_time=2e-6, instance_type="trn2"), side("B", total_time=3e-6, instance_type="trn2")
    assert facts(a, b) == [("A total", "2.00 us"), ("on", "trn2"), ("B total", "3.00 us, +1.00 us, 1.500 of A")]
    assert facts(side("A"), side("B", total_time=3e-6)) == [
        ("A total", "the file does not say"),
        ("B total", "3.00 us"),
    ]


@pytest.mark.parametrize(
    ("figures", "steps", "bound"),
    [
        ({}, STEPS, "Tensor, 71.4 % of the critical path, which is 0.280 us long"),
        ({}, (), f"{UNKNOWN}. The busiest is DMA, 36.7 % of the total"),
        ({"vector_engine_active_time_percent": 0.9}, (), f"{UNKNOWN}. The busiest is Vector, 90.0 % of the total"),
        ({"dma_active_time_percent": 0.1}, (), f"{UNKNOWN}. The busiest is Tensor, 33.3 % of the total"),
        ({"dma_active_time_percent": 1}, (), f"{UNKNOWN}. The busiest is DMA, 36.7 % of the total"),
    ],
)
def test_a_timeline_is_bound_by_most_of_its_path_else_by_the_busiest_engine(figures, steps, bound):
    assert facts(side(**figures), steps=steps)[-1] == ("bound by", bound)


def test_dmas_that_hold_the_engine_of_the_bound_up_are_named_beside_it():
    packets = [DmaRow(timestamp=295, duration=300, transfer_size=4096, dma_engine="0")]
    one = Side("", replace(small(), dma=packets))
    held = "a faster Tensor alone would save at most 0.0 us: a DMA engine moves data for 98 % of the path"
    assert facts(one, steps=STEPS)[-1] == (
        "bound by",
        f"Tensor, 71.4 % of the critical path, which is 0.280 us long; {held}",
    )


def test_without_events_nobody_knows_what_bounds():
    empty = Side("", replace(small(), instructions=[], dma=[], semaphores=[]))
    assert facts(empty)[-1] == ("bound by", UNKNOWN)


def test_the_first_screen_has_three_pieces_of_advice_with_what_is_known_of_their_gain():
    found = [Advice(f"do {one}", "", 1.239 if one else None, "") for one in range(4)]
    shown = panels.glance([side()], events_of([side()]), (), found, False)
    assert re.findall("<li>(.*?)</li>", shown) == ["do 0", *(f"do {one} <b>gain 1.24 us</b>" for one in (1, 2))]
    none = panels.glance([side()], events_of([side()]), (), (), False)
    assert "No rule found anything that would save 2 % of the time." in none and "<ol>" not in none


def test_several_timelines_have_no_advice():
    sides = side("A"), side("B")
    shown = panels.glance(sides, events_of(sides), (), (), False)
    assert "What to do first" not in shown and shown.count('<table class="bars"') == 2
    assert re.findall("<th scope=row>(.*?)</th>", shown)[:3] == ["A DMA", "A Sync", "A Tensor"]


def test_bars_say_how_busy_each_engine_is():
    shown = panels.glance([side(tensor_engine_active_time_percent=0.256)], events_of([side()]), (), (), False)
    bars = re.findall(r'<th scope=row>(\w+)</th>.*?width="([\d.]+)".*?<td class="n">([\d.]+ %)</td>', shown)
    assert bars == [("DMA", "36.67", "36.7 %"), ("Sync", "8.33", "8.3 %"), ("Tensor", "25.60", "25.6 %"), ("Vector", "13.33", "13.3 %")]  # fmt: skip


def test_shares_are_of_the_end_of_the_last_event():
    events = events_of([Side("", small())])
    shown = panels.shares(events, track_totals(events))
    rows = [(name, *numbers, moved) for name, *numbers, _, moved in cells(shown)]
    assert rows == [
        ("Q1 hardware core 0", "2", "0.220", "36.7 %", "4,096"),
        ("Sync core 0", "1", "0.050", "8.3 %", ""),
        ("TensorMatrix core 0", "1", "0.200", "33.3 %", ""),
        ("Vector core 0", "1", "0.080", "13.3 %", ""),
    ]
    assert re.findall(r'<rect width="([\d.]+)"', shown) == ["36.67", "8.33", "33.33", "13.33"]
    assert heads(shown) == ["events", "busy us", "of total", "bytes"]


def test_events_that_take_no_time_have_no_share():
    packets = [msgspec.structs.replace(row, timestamp=0, duration=0) for row in small().dma]
    events = events_of([Side("", replace(small(), instructions=[], dma=packets, semaphores=[]))])
    assert cells(panels.shares(events, track_totals(events)))[0][:4] == ["Q1 hardware core 0", "2", "0.000", ""]


def test_the_path_says_what_it_is_spent_on_the_longest_first():
    shown = panels.path([STEPS[1], STEPS[0]])
    assert cells(shown) == [["Tensor", "0.200", "71.4 %"], ["Vector", "0.080", "28.6 %"]]
    assert heads(shown) == ["us", "of path"] and "2 instructions." in shown
    assert "does not say which instruction waits for which" in panels.path(())


@pytest.mark.parametrize("has_path", [False, True])
def test_source_lines_have_their_times_and_a_column_of_the_path_where_it_is_known(has_path):
    events = events_of([Side("", small())])
    shown = panels.lines(events, [LineTotal(events.lines.index("kernel.py:4"), 7, 200.0, 250.0, 150.0)], has_path)
    path = ["0.150"] if has_path else []
    assert cells(shown) == [["kernel.py:4", *path, "0.200", "0.250", "7"]]
    assert heads(shown) == ["line or operation", *["path us"] * has_path, "own us", "with calls us", "events"]
    assert f'data-line="{events.lines.index("kernel.py:4")}"' in shown and shown.count('class="n"') == 2 * len(path) + 6


@pytest.mark.parametrize(("count", "more"), [(400, []), (401, ["and 1 more lines"])])
def test_a_table_has_400_source_lines(count, more):
    events = events_of([Side("", small())])
    shown = panels.lines(events, [LineTotal(0, 1, 0.0, 0.0, 0.0)] * count, False)
    assert len(cells(shown)) == shown.count("data-line") == 400
    assert re.findall("<p class=dim>(.*)</p>", shown) == more


def test_without_source_lines_a_reader_learns_how_to_get_them():
    assert "NKI_DEBUG_INFO=1" in panels.lines(events_of([Side("", small())]), (), True)


def test_advice_and_constants_have_their_gain_where_it_is_known():
    found = [Advice("title", "evidence", 1.239, "metric"), Advice("other", "", None, "")]
    assert cells(panels.advice(found)) == [["title", "evidence", "1.24", "metric"], ["other", "", "", ""]]
    assert heads(panels.advice(found)) == ["what to do", "evidence", "gain, us", "see"]
    assert cells(panels.constants(found)) == [["title", "evidence", "1.24"], ["other", "", ""]]
    assert heads(panels.constants(found)) == ["constant", "total", "gain us"]
    assert [numbers_of(shown(found)) for shown in (panels.advice, panels.constants)] == [["gain, us"], ["gain us"]]
    assert "No rule found anything" in panels.advice(())


def numbers_of(html):
    """The heads of the columns that hold numbers."""
    return re.findall(r'<th class="n"[^>]*>(.*?)</th>', html)


def test_figures_are_the_keys_of_the_summary_that_hold_one_value():
    shown = panels.figures({"b": 1, "a": "<", "list": [1], "table": {"a": 1}})
    assert cells(shown) == [["a", "&lt;"], ["b", "1"]] and "<summary>2 figures of the summary" in shown
