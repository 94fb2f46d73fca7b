"""What events add up to."""

from dataclasses import replace

from neff_bench.viewer.critical_path import PathStep
from neff_bench.viewer.page.events import Side, events_of
from neff_bench.viewer.page.totals import engine_shares, line_totals, track_totals
from tests.viewer.page.profiles import small


def test_a_track_is_busy_while_one_of_its_events_runs():
    found = {one.title: (one.events, one.busy_ns, one.bytes) for one in track_totals(events_of([Side("", small())]))}
    assert found["Q1 hardware core 0"] == (2, 220.0, 4096)
    assert found["TensorMatrix core 0"] == (1, 200.0, None)


def test_a_line_has_its_own_time_and_that_of_what_it_calls():
    events = events_of([Side("", small())])
    steps = [PathStep(1, 300.0, 500.0, (("Tensor", 200.0),)), PathStep(2, 520.0, 600.0, (("Vector", 80.0),))]
    found = {events.lines[one.line]: one[1:] for one in line_totals(events, steps)}
    assert found["kernel.py:4"] == (1, 200.0, 200.0, 200.0)
    assert found["kernel.py:9"] == (0, 0.0, 200.0, 0.0)


def test_an_engine_works_for_a_share_of_the_time_without_what_is_known_already():
    events = events_of([Side("", small())])
    end = float(events.end.max())
    shares = engine_shares(events, "", {"vector": 0.25})
    assert events.end.max() == 600.0 and engine_shares(events, "B", {}) == {}
    assert shares["tensor"] == 200.0 / end and shares["dma"] == 220.0 / end and shares["vector"] == 0.25


def test_the_share_of_an_engine_is_the_mean_over_the_cores():
    timeline = small()
    timeline.instructions[2].subgraph = "sg01"
    shares = engine_shares(events_of([Side("", timeline)]), "", {})
    assert (shares["tensor"], shares["vector"]) == (200.0 / 600 / 2, 80.0 / 600 / 2)


def test_packets_alone_have_the_share_of_one_core():
    events = events_of([Side("", replace(small(), instructions=[], semaphores=[]))])
    assert engine_shares(events, "", {}) == {"dma": 220.0 / 280}
