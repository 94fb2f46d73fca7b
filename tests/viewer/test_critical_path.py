"""The critical path of a timeline."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from neff_bench.chips import CHIPS
from neff_bench.doors.estimation import simulated
from neff_bench.parsers.event_rows import InstructionRow, LinkedDmaRow, LinkedInstructionRow, Predecessor, Timeline
from neff_bench.simulator.files.in_process import shown
from neff_bench.viewer.critical_path import (
    BOUNDS,
    Done,
    PathStep,
    _free,
    _is_linked,
    _known_done,
    _last,
    _latest,
    _on_engine,
    _pieces,
    _signal_ns,
    chip_of,
    critical_path,
    path_totals,
)
from tests.simulator.programs import ProgramBuilder

DMA = BOUNDS["dma_wait"]


def row(number, begin, duration, engine, opcode="COPY", after=()):
    return LinkedInstructionRow(
        timestamp=begin, duration=duration, subgroup=engine, opcode=opcode, id=number,
        predecessors=[Predecessor(one) for one in after],
    )  # fmt: skip


def path(rows, packets=(), instance=""):
    timeline = Timeline("x", False, {"instance_type": instance}, rows, list(packets), [])
    return [(rows[step.index].id, step.begin_ns, step.end_ns, step.spent_ns[0][0]) for step in critical_path(timeline)]


def spent(rows, packets=()):
    """What each step is spent on."""
    return [step.spent_ns for step in critical_path(Timeline("x", False, {}, rows, list(packets), []))]


def test_it_follows_what_was_done_last_signal_or_engine():
    rows = [
        row(1, 0, 10, "Vector"),
        row(2, 0, 30, "Scalar"),
        row(3, 30, 5, "Vector", after=[1, 2]),
        row(4, 34, 9, "Vector", after=[2]),
    ]
    assert path(rows) == [(2, 0, 30, "Scalar"), (3, 30, 34, "Vector"), (4, 34, 43, "Vector")]


def test_a_dma_lasts_until_its_last_packet():
    rows = [row(1, 0, 10, "Sync", "DMA_DIRECT2D"), row(2, 90, 10, "Tensor", "MATMUL", after=[1])]
    packets = [LinkedDmaRow(20, 60, 512, trigger=1), LinkedDmaRow(20, 5, 512, trigger=1)]
    assert path(rows, packets) == [(1, 0, 90, DMA), (2, 90, 100, "Tensor")]


def test_where_packets_are_not_known_a_long_wait_was_for_the_dma():
    rows = [
        row(1, 0, 10, "Sync", "DMA_DIRECT2D"),
        row(2, 0, 50, "Tensor", "MATMUL"),
        row(3, 900, 10, "Tensor", "MATMUL", after=[1]),
    ]
    assert path(rows) == [(1, 0, 900, DMA), (3, 900, 910, "Tensor")]
    rows[2] = row(3, 100, 10, "Tensor", "MATMUL", after=[1])
    assert path(rows)[0] == (2, 0, 100, "Tensor")


def test_a_last_dma_whose_packets_are_not_known_lasts_until_what_waits_for_it_begins():
    rows = [
        row(1, 0, 10, "Sync", "DMA_DIRECT2D"),
        row(2, 20, 10, "Sync", "DMA_DIRECT2D"),
        row(3, 500, 10, "Sync", "NOP", after=[1, 2]),
        row(4, 900, 10, "Scalar", "NOP", after=[2]),
    ]
    assert path(rows) == [(1, 0, 20, BOUNDS["issue"]), (2, 20, 500, DMA)]


def test_a_timeline_that_tells_no_dependences_has_none():
    assert path([row(1, 0, 10, "Vector")]) == []


def test_a_wait_of_200_ns_is_still_a_signal():
    rows = [
        row(1, 0, 10, "Sync", "DMA_DIRECT2D"),
        row(2, 0, 50, "Tensor", "MATMUL"),
        row(3, 250, 10, "Tensor", "MATMUL", after=[1]),
    ]
    assert path(rows)[0] == (2, 0, 250, "Tensor")
    rows[2] = row(3, 251, 10, "Tensor", "MATMUL", after=[1])
    assert path(rows)[0] == (1, 0, 251, DMA)


def test_of_several_dmas_whose_packets_are_not_known_the_last_that_began_was_waited_for():
    rows = [
        row(1, 0, 10, "Sync", "DMA_DIRECT2D"),
        row(2, 20, 10, "Scalar", "DMA_DIRECT2D"),
        row(3, 900, 10, "Tensor", "MATMUL", after=[1, 2]),
    ]
    assert path(rows) == [(2, 20, 900, DMA), (3, 900, 910, "Tensor")]


def test_what_is_done_after_a_row_began_is_not_what_it_waited_for():
    rows = [row(1, 0, 10, "Vector"), row(2, 0, 21, "Scalar"), row(3, 20, 5, "Vector", after=[1, 2])]
    assert path(rows) == [(1, 0, 20, "Vector"), (3, 20, 25, "Vector")]
    rows[1] = row(2, 0, 20, "Scalar")
    assert path(rows) == [(2, 0, 20, "Scalar"), (3, 20, 25, "Vector")]


def test_an_engine_takes_its_next_instruction_before_the_last_is_done():
    rows = [row(1, 0, 30, "Vector"), row(2, 0, 12, "Scalar"), row(3, 20, 15, "Vector", after=[2])]
    assert path(rows) == [(1, 0, 20, "Vector"), (3, 20, 35, "Vector")]


def test_the_path_is_of_work_and_ends_with_the_packets_of_the_last_dma():
    rows = [
        row(1, 0, 10, "Vector", "EVENT_SEMAPHORE"),
        row(2, 10, 5, "Vector", after=[1]),
        row(3, 15, 5, "Sync", "DMA_DIRECT2D", after=[2]),
        row(4, 900, 10, "Sync", "DRAIN", after=[3]),
    ]
    packets = [LinkedDmaRow(30, 10, 512, trigger=3), LinkedDmaRow(50, 900, 512, trigger=-1)]
    assert path(rows, packets) == [(2, 10, 15, "Vector"), (3, 15, 40, DMA)]


def test_engines_of_two_cores_are_two():
    rows = [row(1, 0, 10, "Vector"), row(2, 5, 20, "Vector"), row(3, 30, 10, "Vector", after=[1])]
    rows[1].subgraph = "sg01"
    assert path(rows) == [(1, 0, 30, "Vector"), (3, 30, 40, "Vector")]


def test_what_began_with_a_row_is_not_before_it():
    rows = [row(1, 0, 10, "Vector"), row(2, 10, 0, "Scalar"), row(3, 10, 5, "Vector", after=[2])]
    assert path(rows) == [(1, 0, 10, "Vector"), (3, 10, 15, "Vector")]


def test_an_engine_that_waits_for_its_own_dma_waits_for_the_packets():
    rows = [row(1, 0, 10, "Scalar", "DMA_DIRECT2D"), row(2, 95, 10, "Scalar", after=[1])]
    assert path(rows, [LinkedDmaRow(20, 60, 512, trigger=1)])[0] == (1, 0, 95, DMA)
    rows[1].predecessors = []
    rows[0].predecessors = [Predecessor(2)]
    assert path(rows, [LinkedDmaRow(20, 60, 512, trigger=1)])[0] == (1, 0, 95, "DMA issue")


def test_a_dma_is_known_to_be_done_later_than_its_last_packet():
    rows = [
        row(1, 0, 10, "Sync", "DMA_DIRECT2D"),
        row(2, 0, 50, "Scalar"),
        row(3, 500, 10, "Vector", after=[1, 2]),
    ]
    packets = [LinkedDmaRow(20, 20, 512, trigger=1)]  # the last one ends before the instruction of Scalar
    assert path(rows, packets)[0] == (2, 0, 500, "Scalar")
    assert path(rows, packets, "inf2.xlarge")[0] == (1, 0, 500, DMA)


def test_a_write_with_packets_is_a_dma():
    rows = [row(1, 0, 10, "Sync", "WRITE"), row(2, 0, 50, "Scalar"), row(3, 90, 10, "Vector", after=[1, 2])]
    assert path(rows, [LinkedDmaRow(20, 60, 512, trigger=1)])[0] == (1, 0, 90, DMA)


def test_an_engine_works_until_its_end_and_its_signal_takes_time():
    rows = [row(1, 0, 30, "Scalar"), row(2, 50, 10, "Vector", after=[1]), row(3, 65, 5, "Vector")]
    assert spent(rows) == [(("Scalar", 30), ("latency", 20)), (("Vector", 15),), (("Vector", 5),)]


def test_what_only_waits_is_latency():
    rows = [row(1, 0, 30, "Scalar"), row(2, 30, 20, "Scalar", "EVENT_SEMAPHORE"), row(3, 50, 5, "Scalar", after=[1])]
    assert spent(rows)[1] == (("latency", 20),)


def moved(**told):
    """A DMA of 10 ns whose packets move from 40 to 70 ns, and what waits for them until 90."""
    rows = [row(1, 0, 10, "Sync", "DMA_DIRECT2D"), row(2, 90, 10, "Tensor", after=[1])]
    for name, value in told.items():
        setattr(rows[0], name, value)
    return spent(rows, [LinkedDmaRow(40, 30, 512, trigger=1), LinkedDmaRow(71, 7, 4, trigger=1)])[0]


def test_a_simulated_dma_is_latency_movement_and_latency():
    assert moved(dma_start_ns=25, dma_pace="dma") == (("latency", 25), ("DMA", 45), ("latency", 20))
    assert moved(dma_start_ns=25, dma_pace="hbm")[1] == ("HBM bandwidth", 45)


@pytest.mark.parametrize("pace", ["", "a pace of another version"])
def test_where_the_file_does_not_tell_the_pace_the_wait_for_a_dma_is_one_thing(pace):
    assert moved(dma_pace=pace) == (("DMA with its latency", 90),)


def test_a_damaged_file_whose_instructions_meet_in_a_circle_has_a_path():
    rows = [row(1, 0, 9, "Vector"), row(2, 0, 9, "Vector", after=[3]), row(3, 0, 9, "Scalar"), row(4, 0, 9, "Scalar")]
    rows[0].meets, rows[2].meets = 4, 2
    rows[1].meets, rows[3].meets = 3, 1
    assert len(path(rows)) == 1


def test_a_dma_without_packets_is_one_thing():
    rows = [row(1, 0, 10, "Sync", "DMA_DIRECT2D"), row(2, 900, 10, "Tensor", after=[1])]
    rows[0].dma_pace = "dma"
    assert spent(rows)[0] == (("DMA with its latency", 900),)


def test_what_waits_for_the_engine_alone_waits_for_the_issue():
    rows = [
        row(1, 0, 12, "Sync", "DMA_DIRECT2D"),
        row(2, 12, 20, "Sync", "DMA_DIRECT2D"),
        row(3, 40, 5, "Vector", after=[2]),
    ]
    assert spent(rows, [LinkedDmaRow(20, 5, 512, trigger=1), LinkedDmaRow(25, 10, 512, trigger=2)])[0] == (
        ("DMA issue", 12),
    )


def test_what_the_runtime_does_is_not_on_the_path():
    rows = [row(1, 0, 10, "Vector"), row(2, 10, 10, "Scalar", after=[1]), row(3, 20, 90, "Scalar", "TENSOR_STORE")]
    assert len(path(rows)) == 3
    rows[2].alignment = "runtime"
    assert len(path(rows)) == 2


def test_the_last_of_two_instructions_that_begin_together_holds_both_cores_up():
    rows = [
        row(1, 0, 10, "Vector"),
        row(2, 40, 5, "GpSimd", "CORE_BARRIER", after=[1]),
        row(3, 0, 40, "Scalar"),
        row(4, 40, 5, "GpSimd", "CORE_BARRIER", after=[3]),
        row(5, 45, 10, "Vector", after=[2]),
    ]
    assert path(rows)[0] == (1, 0, 40, "Vector")
    for at in (2, 3):
        rows[at].subgraph = "sg01"
    rows[1].meets, rows[3].meets = 4, 2
    assert path(rows)[0] == (3, 0, 40, "Scalar")


def test_the_times_of_a_path_add_up_to_what_it_is_spent_on_the_longest_first():
    steps = [PathStep(1, 300, 380, (("Vector", 80.0),)), PathStep(2, 380, 600, (("Tensor", 200.0), ("Vector", 20.0)))]
    assert list(path_totals(steps).items()) == [("Tensor", 200.0), ("Vector", 100.0)]


def alone():
    """A core that moves and works, beside one that does nothing."""
    b = ProgramBuilder(lnc=2)
    b.copy(b.output("y", (128, 512), "float32"), b.load_of("x", (128, 512), "float32"))
    return b.program()


def of(program):
    """A program's critical path and its times."""
    timed = simulated(program)
    return critical_path(shown("x", program, timed.schedule, timed.timeline, timed.keys)), timed


def test_the_path_ends_with_the_last_work_where_one_core_does_nothing():
    steps, timed = of(alone())
    assert steps[-1].end_ns == pytest.approx(timed.schedule.cores[0].kernel_end_ns, abs=100)


def test_the_path_begins_with_the_first_work_not_with_the_load_of_a_register():
    b = ProgramBuilder()
    register, tile = b.sbuf((1, 1), "int32"), b.sbuf((128, 512), "float32")
    b.do("register_load", {"dst": register}, {"src": b.input("i", (1, 1), "int32")}, "gpsimd")
    b.copy(tile, b.input("x", (128, 512), "float32"))
    b.copy(b.output("y", (128, 512), "float32"), tile)
    steps, timed = of(b.program())
    first_dma_ns = timed.schedule.cores[0].start_ns[timed.schedule.cores[0].code.transfer >= 0].min()
    assert steps[0].begin_ns == pytest.approx(first_dma_ns, abs=1)


@pytest.mark.parametrize("seed", range(100))
def test_the_steps_of_any_program_follow_each_other_and_what_they_are_spent_on_adds_up(seed):
    steps, timed = of(any_program(Random(seed)))
    assert all(a.end_ns == b.begin_ns for a, b in pairwise(steps))
    assert all(sum(ns for _, ns in step.spent_ns) == step.end_ns - step.begin_ns for step in steps)
    last_ns = max(core.kernel_end_ns for core in timed.schedule.cores)
    assert steps[-1].end_ns == pytest.approx(last_ns, abs=100)


def behind(begin=60, engine="3", queue="Q1", pace="dma", trigger=1):
    """Two DMAs, of which the packets of the second follow those of the first, and what waits for the second. It is issued when Vector is done."""
    rows = [
        row(1, 0, 10, "Sync", "DMA_DIRECT2D"),
        row(2, 0, 30, "Vector"),
        row(3, 30, 10, "Sync", "DMA_DIRECT2D", after=[2]),
        row(4, 120, 10, "Tensor", after=[3]),
    ]
    for dma in (rows[0], rows[2]):
        dma.dma_start_ns, dma.dma_pace = 20, pace
    packets = [
        LinkedDmaRow(20, 30, 512, trigger=trigger, dma_engine=engine, dma_queue=queue),
        LinkedDmaRow(50, begin - 50, 4, trigger=trigger, dma_engine=engine, dma_queue=queue),
        LinkedDmaRow(60, 20, 512, trigger=3, dma_engine="3", dma_queue="Q1"),
        LinkedDmaRow(80, 20, 512, trigger=3, dma_engine="3", dma_queue="Q1"),
        LinkedDmaRow(100, 5, 4, trigger=3, dma_engine="3", dma_queue="Q1"),
    ]
    return rows, packets


def test_a_dma_whose_packets_stood_behind_those_of_another_follows_that_dma():
    rows, packets = behind()
    assert path(rows, packets) == [(1, 0, 60, "latency"), (3, 60, 120, "DMA"), (4, 120, 130, "Tensor")]
    assert spent(rows, packets)[:2] == [(("latency", 20), ("DMA", 40)), (("DMA", 40), ("latency", 20))]


@pytest.mark.parametrize(
    "other", [{"begin": 50}, {"engine": "4"}, {"queue": "Q2"}, {"pace": ""}, {"trigger": -1}, {"trigger": 4}]
)
def test_a_dma_that_stood_behind_none_follows_what_it_was_issued_after(other):
    assert [step[0] for step in path(*behind(**other))] == [2, 3, 4]


def test_a_chain_of_waiting_dmas_is_followed_to_the_one_that_found_its_queue_empty():
    rows = [row(at, 10 * at, 10, "Sync", "DMA_DIRECT2D") for at in range(5)]
    for dma in rows:
        dma.dma_start_ns, dma.dma_pace = 20, "dma"
    rows.append(row(9, 540, 5, "Vector", after=[4]))
    packets = [LinkedDmaRow(20 + 100 * at, 100, 512, trigger=at, dma_engine="0", dma_queue="Q1") for at in range(5)]
    assert [step[:3] for step in path(rows, packets)] == [
        (0, 0, 120), (1, 120, 220), (2, 220, 320), (3, 320, 420), (4, 420, 540), (9, 540, 545),
    ]  # fmt: skip


def test_dmas_that_wait_for_each_other_bound_a_kernel_whose_engine_would_be_fast_enough():
    b = ProgramBuilder()
    out = b.output("y", (128, 2048), "float32")
    for number in range(16):
        tile = b.load_of(f"x{number}", (128, 2048), "bfloat16")
        wide = b.sbuf((128, 2048), "float32")
        b.do("tensor_copy", {"dst": wide}, {"src": tile}, "vector")
        b.copy(out, wide)
    totals = path_totals(of(b.program())[0])
    assert totals["DMA"] > 0.9 * sum(totals.values())


def any_program(random):
    """Loads, work on several engines, barriers where there are two cores, and stores."""
    lnc = random.choice((1, 2))
    b = ProgramBuilder(lnc, random.choice(("trn2", "trn3") if lnc == 2 else ("trn1", "inf2", "trn2", "trn3")))
    columns = random.choice((64, 512, 2048))
    source, out = b.input("x", (128, columns), "float32"), b.output("y", (128, columns), "float32")
    for core in range(lnc):
        tiles = [b.sbuf((128, columns), "float32", core) for _ in range(random.randint(1, 4))]
        for number in range(24):
            tile, other = random.choice(tiles), random.choice(tiles)
            if number == 12 and lnc == 2:
                b.do("core_barrier", {"data": tile}, {"data": tile}, "gpsimd", core, cores=[0, 1], sync=0)
            for _ in range(random.randint(0, 3)):
                engine, op = random.choice(
                    (("vector", "tensor_copy"), ("scalar", "tensor_copy"), ("gpsimd", "tensor_copy"))
                )
                b.do(op, {"dst": tile}, {"src": other}, engine, core)
            b.do("dma_copy", {"dst": tile}, {"src": source}, random.choice(("sync", "scalar", "gpsimd")), core)
        b.copy(out, tiles[0], core)
    return b.program()


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
