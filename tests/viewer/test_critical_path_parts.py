"""The steps of a critical path, function by function."""

import numpy as np
import pytest

from neff_bench.chips import CHIPS
from neff_bench.parsers.event_rows import InstructionRow, LinkedDmaRow, Timeline
from neff_bench.viewer.critical_path import (
    Done,
    _free,
    _is_linked,
    _known_done,
    _last,
    _latest,
    _on_engine,
    _pieces,
    _signal_ns,
    chip_of,
)
from tests.viewer.test_critical_path import row

NAN = float("nan")


@pytest.mark.parametrize(
    ("marks", "since", "until", "pieces"),
    [
        ([("a", 0)], 0, 9, [("a", 9)]), ([("a", 0), ("b", 4)], 0, 9, [("a", 4), ("b", 5)]), ([("a", 0), ("b", 4)], 5, 9, [("b", 4)]),
        ([("a", 0), ("b", 4)], 4, 9, [("b", 5)]), ([("a", 0), ("b", 4)], 2, 4, [("a", 2)]), ([("a", 0), ("b", 12)], 2, 9, [("a", 7)]),
        ([("a", 0)], 2, 9, [("a", 7)]), ([("a", 0), ("b", 4), ("c", 4)], 0, 9, [("a", 4), ("c", 5)]),
    ],
)  # fmt: skip
def test_a_time_is_cut_where_another_thing_begins(marks, since, until, pieces):
    assert list(_pieces(marks, since, until)) == pieces


def of_packets(*cores_and_triggers, **summary):
    packets = [LinkedDmaRow(0, 1, 512, trigger=trigger) for _, trigger in cores_and_triggers]
    for packet, (core, _) in zip(packets, cores_and_triggers):
        packet.subgraph = core
    return Timeline("x", False, summary, [], packets, [])


@pytest.mark.parametrize(
    ("packets", "cores"),
    [([("a", 0)], 1), ([("a", 0), ("b", 5)], 2), ([("a", 0), ("b", -1)], 1), ([("a", 0), ("b", 5), ("c", -1)], 2), ([("a", -1), ("b", -1)], 2), ([("a", 0), ("a", 1)], 1)],
)  # fmt: skip
def test_a_result_is_known_a_little_after_by_the_constants_of_the_chip_and_the_cores_that_move(packets, cores):
    chip, is_dma = CHIPS["trn2"], np.array([True, False])
    found = _signal_ns(of_packets(*packets, instance_type="trn2.3xlarge"), is_dma)
    assert found.tolist() == [chip.dma_done_ns(cores), chip.semaphore_ns]
    assert _signal_ns(of_packets(*packets), is_dma).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"simulator_dma_done_time": 2e-6, "simulator_semaphore_time": 3e-8}, [2000, 30]), ({"simulator_dma_done_time": 2e-6}, [0, 0]),
        ({"simulator_dma_done_time": 2e-6, "simulator_semaphore_time": "no"}, [0, 0]),
    ],
)  # fmt: skip
def test_the_simulator_tells_when_a_result_is_known(told, said):
    assert _signal_ns(of_packets(**told), np.array([True, False])).tolist() == pytest.approx(said)


def test_an_engine_is_free_at_the_end_before_or_at_the_begin_and_the_simulator_tells_who_waited():
    rows = [row(1, 50, 10, "Vector"), row(2, 50, 10, "Vector"), row(3, 50, 10, "Vector")]
    rows[1].evt_wait_time = 1
    start, before = np.array([50.0] * 3), np.array([20.0, 60.0, 50.0])
    for is_simulated, free in ((False, [20, 50, 50]), (True, [52, 48, 52])):
        assert _free(Timeline("x", is_simulated, {}, rows, [], []), start, before).tolist() == free


def latest(start, free, over, told, on_engine, links=(), met=None):
    count = len(start)
    at, before = (np.array([pair[which] for pair in links], np.int64) for which in (0, 1))
    done = Done(np.array(over, float), np.array(told, float))
    met = np.full(count, -1) if met is None else np.array(met)
    found = _latest(np.array(start, float), np.array(free, float), done, np.array(on_engine), met, (at, before))
    return list(zip(*(column.tolist() for column in found)))


@pytest.mark.parametrize(
    ("over", "told", "free", "found"),
    [
        (40, 45, 44, (0, True)), (40, 45, 46, (1, False)), (40, 45, 45, (1, False)),  # of two of one time the later row
        (50, 70, 49, (0, True)), (51, 70, 49, (1, False)), (50, 70, 50, (1, False)),
    ],
)  # fmt: skip
def test_a_row_started_after_the_signal_or_the_engine_that_came_last(over, told, free, found):
    """Row 2 begins at 50 on the engine of row 1 and depends on row 0."""
    assert latest([0, 5, 50], [0, 0, free], [over, 44, 60], [told, 44, 60], [-1, -1, 1], [(2, 0)])[2] == found
    assert (
        latest([0, 5, 50], [0, 0, free], [over, 44, 60], [told, 44, 60], [-1, -1, 1], [(2, 0)])[:2] == [(-1, False)] * 2
    )


def test_of_a_signal_and_the_engine_of_one_row_the_signal_counts():
    assert latest([0, 50], [0, 40], [40, 60], [40, 60], [-1, 0], [(1, 0)])[1] == (0, True)


def test_what_began_with_a_row_or_after_it_is_not_before_it():
    assert latest([50, 50], [0, 0], [40, 60], [40, 60], [-1, -1], [(1, 0), (0, 1)]) == [(-1, False)] * 2


@pytest.mark.parametrize(("begin", "found"), [(240, (1, False)), (241, (0, True))])
def test_a_dma_without_packets_was_waited_for_200_ns_after_all_else(begin, found):
    assert latest([0, 5, begin], [0, 0, 40], [NAN, 40, 999], [NAN, 40, 999], [-1, -1, 1], [(2, 0)])[2] == found


def test_rows_that_begin_together_wait_for_what_the_other_waited_for():
    """Rows 2 and 3 meet; row 1 is done last."""
    links = [(2, 0), (3, 1)]
    assert (
        latest([0, 0, 50, 50], [0] * 4, [30, 45, 60, 60], [30, 45, 60, 60], [-1] * 4, links, [-1, -1, 3, 2])[2:]
        == [(1, True)] * 2
    )
    assert (
        latest([0, 50, 50, 50], [0] * 4, [30, 50, 60, 60], [30, 50, 60, 60], [-1] * 4, links, [-1, -1, 3, 2])[2:]
        == [(0, True)] * 2
    )


def test_the_row_before_is_that_of_the_same_engine_by_begin():
    assert _on_engine(np.array([0, 1, 0, 1, 0]), np.array([5, 0, 1, 9, 7])).tolist() == [2, -1, -1, 1, 0]


def test_a_dma_without_packets_is_done_when_the_first_that_depends_on_it_begins():
    done = Done(np.zeros(4), np.array([NAN, 30, NAN, 40.0]))
    at, before = np.array([1, 3, 3, 1]), np.array([0, 0, 1, 2])
    found = _known_done(done, np.array([10, 90, 90, 70.0]), at, before)
    assert found[[0, 1, 3]].tolist() == [70, 30, 40] and np.isnan(found[2])
    assert np.isnan(done.told_ns[0])


@pytest.mark.parametrize(
    ("works", "found"), [([1, 1, 1, 1], (2, 50)), ([1, 0, 0, 1], (0, 50)), ([0, 0, 0, 1], (3, 40)), ([0] * 4, None)]
)
def test_the_last_work_is_the_one_that_is_over_last_and_of_several_the_one_that_began_last(works, found):
    assert _last(np.array(works, bool), np.array([0, 5, 9, 30]), np.array([50, 50, 50, 40.0])) == found


def test_a_timeline_tells_dependences_where_all_rows_can():
    linked, plain = row(1, 0, 1, "Vector"), InstructionRow(0, 1, "Vector")
    assert _is_linked([linked], 1) is True
    assert not _is_linked([linked], 0) and not _is_linked([linked, plain], 1)


def test_a_chip_is_known_by_its_instance():
    assert chip_of(of_packets(instance_type="trn2.48xlarge")) is CHIPS["trn2"]
    assert chip_of(of_packets()) is chip_of(of_packets(instance_type=7)) is None


def test_the_first_row_of_a_file_may_meet_another():
    links, met = [(0, 1), (3, 2)], [3, -1, -1, 0]
    found = latest([50, 0, 0, 50], [0] * 4, [60, 30, 45, 60], [60, 30, 45, 60], [-1] * 4, links, met)
    assert found[0] == found[3] == (2, True)
