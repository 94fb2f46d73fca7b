"""DMAs that `--disable-dge` compiles: a queue has sixteen at a time."""

import numpy as np

from neff_bench.simulator.compiler.code.descriptors import made_at_compile_time
from neff_bench.simulator.timing.schedule import schedule
from tests.simulator.programs import ProgramBuilder

LOADS = 40


def loads(**attributes):
    """Of tiles of 128 KiB."""
    built = ProgramBuilder()
    x = built.input("x", (128, 256), "float32")
    for _ in range(LOADS):
        built.copy(built.sbuf((128, 256), "float32"), x, **attributes)
    return built.program()


def started(program):
    """When each DMA is started, and when it is done, in ns."""
    [core] = schedule(program).cores
    mine = np.flatnonzero(core.code.transfer >= 0)
    return core.start_ns[mine], core.done_ns[mine]


def test_the_seventeenth_dma_is_started_when_the_first_is_done():
    start, done = started(made_at_compile_time(loads()))
    assert len(start) == LOADS
    assert (start[16:] >= done[:-16]).all()
    assert start[15] < done[0]


def test_descriptors_that_the_kernel_asks_for_do_not_wait():
    start, done = started(loads(dge_mode="none"))
    assert (start[16:] < done[:-16]).any()
