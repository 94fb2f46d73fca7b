"""The timeline of a schedule."""

from collections import Counter

from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.timeline import timeline_of
from tests.simulator.programs import matmul


def updates(tiles):
    """How often each engine, 5 for a DMA, changes each semaphore."""
    rows = timeline_of(schedule(matmul(tiles=tiles))).cores[0].semaphores
    return Counter(zip(rows.engine.tolist(), rows.semaphore.tolist()))


def test_engines_signal_by_semaphores_of_their_own_and_each_dma_16_times_by_one():
    tensor, vector, dma = 0, 3, 5
    loads_and_store = {(dma, 8): 16, (dma, 9): 16, (dma, 10): 16}
    assert updates(1) - updates(0) == {(tensor, 3): 1, (vector, 6): 1, **loads_and_store}
