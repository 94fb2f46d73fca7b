"""The critical path of a timeline."""

from itertools import pairwise
from random import Random

import pytest

from neff_bench.doors.estimation import simulated
from neff_bench.parsers.event_rows import LinkedDmaRow, LinkedInstructionRow, Predecessor, Timeline
from neff_bench.simulator.files.in_process import shown
from neff_bench.viewer.critical_path import BOUNDS, PathStep, critical_path, path_totals
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
