import numpy as np
import pytest

from neff_bench.chips import CHIPS
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.compiler.code.descriptors import made_at_compile_time
from neff_bench.simulator.costs.transfers import SEMAPHORE_PACKET_BYTES
from neff_bench.simulator.timing.runtime import around
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.timeline import timeline_of
from tests.simulator.programs import matmul


@pytest.mark.parametrize("chip", ["inf2", "trn1", "trn2"])
def test_every_semaphore_of_a_kernel_is_cleared_once_behind_it(chip):
    timed = schedule(matmul(), CHIPS[chip])
    updates = around(timed, 0).updates()
    cleared = updates.semaphore[(updates.value == 0) & (updates.time_ns > timed.cores[0].kernel_end_ns)]
    assert sorted(number for number in cleared.tolist() if number != 2) == list(range(3, 256))


def test_engines_meet_before_the_kernel_and_twice_behind_it_on_trn1():
    updates = around(schedule(matmul(), CHIPS["trn1"]), 0).updates()
    meeting = updates.value[updates.semaphore == 2]
    assert np.count_nonzero(meeting == 0) == 3 and len(meeting) == 27


@pytest.mark.parametrize("flag", [False, True])
def test_engines_prepare_for_descriptors_made_on_the_device_where_a_program_has_them(flag):
    chip = CHIPS["trn2"]
    program = made_at_compile_time(matmul()) if flag else matmul()
    timed = schedule(program, chip)
    assert timed.overheads is (chip.overheads.static if flag else chip.overheads)
    loads = around(timed, 0).opcode == OPCODES["TENSOR_LOAD"]
    assert loads.any() != flag


@pytest.mark.parametrize(("chip", "gap_ps"), [("inf2", 96_000), ("trn2", 0)])
def test_a_dma_engine_bumps_the_semaphore_after_a_gap(chip, gap_ps):
    dma = timeline_of(schedule(matmul(), CHIPS[chip])).cores[0].dma
    mine = (dma.transfer == 0) & (dma.engine == 0)
    bump = mine & (dma.bytes == SEMAPHORE_PACKET_BYTES)
    assert dma.start_ps[bump] - dma.end_ps[mine & ~bump].max() == pytest.approx(gap_ps, abs=2)


def test_each_engine_clears_its_own_semaphores_one_after_the_other():
    """Those of a range take equal parts of the instruction that clears them."""
    found = around(schedule(matmul(), CHIPS["trn2"]), 0)
    updates = found.updates()
    first = {0: 3, 1: 54, 2: 105, 3: 156, 4: 207}
    for engine, number in first.items():
        mine = (updates.engine == engine) & (updates.value == 0) & (updates.semaphore != 2)
        assert updates.semaphore[mine].tolist() == list(range(number, first.get(engine + 1, 256)))
        [clear] = np.flatnonzero((found.engine == engine) & (found.opcode == OPCODES["EVENT_SEMAPHORE_RANGE_CLEAR"]))
        steps = np.arange(1, mine.sum() + 1) / mine.sum()
        assert updates.time_ns[mine] == pytest.approx(found.start_ns[clear] + steps * found.duration_ns[clear])


def test_an_engine_meets_the_others_when_its_wait_ends():
    found = around(schedule(matmul(), CHIPS["trn2"]), 0)
    updates = found.updates()
    waits = (found.opcode == OPCODES["EVENT_SEMAPHORE"]) & ~np.isin(np.arange(len(found.opcode)), found.clears.control)
    ends = (found.start_ns + found.duration_ns)[waits]
    assert updates.time_ns[updates.semaphore == 2].tolist() == sorted(ends.tolist())
