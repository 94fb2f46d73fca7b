"""The timeline of a schedule."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from neff_bench.simulator.costs.transfers import SEMAPHORE_PACKET_BYTES
from neff_bench.simulator.timing import timeline
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


@pytest.fixture(scope="module")
def timed():
    return schedule(matmul(lnc=2, tiles=3))


def test_instructions_stand_in_their_engines_streams_at_the_times_of_the_schedule(timed):
    for core, rows in zip(timed.cores, timeline_of(timed).cores):
        found = rows.instructions
        own = found.index >= 0
        assert sorted(found.index[own].tolist()) == list(range(len(core.code)))
        start, end = core.start_ns[found.index[own]], core.end_ns[found.index[own]]
        assert found.start_ps[own].tolist() == [round(1000 * one) for one in start.tolist()]
        assert (found.end_ps - found.start_ps)[own].tolist() == [round(1000 * one) for one in (end - start).tolist()]
        assert found.wait_ns[own].tolist() == core.wait_ns[found.index[own]].tolist() and not found.wait_ns[~own].any()
        for engine in range(5):
            of_engine = found.engine == engine
            assert found.pc[of_engine].tolist() == list(range(of_engine.sum()))
            assert (np.diff(found.start_ps[of_engine]) >= 0).all()
        assert rows.end_ps == round(1000 * (core.kernel_end_ns + timed.overheads.postamble_ns))
    assert timeline_of(timed).total_ps == max(core.end_ps for core in timeline_of(timed).cores)


def test_each_dma_moves_its_bytes_and_raises_its_semaphore_on_every_engine(timed):
    for core, rows in zip(timed.cores, timeline_of(timed).cores):
        dma = rows.dma
        assert (np.diff(dma.start_ps) >= 0).all() and (dma.end_ps > dma.start_ps).all()
        for number, transfer in enumerate(core.code.transfers):
            mine = dma.transfer == number
            bumps = mine & (dma.bytes == SEMAPHORE_PACKET_BYTES)
            assert sorted(dma.engine[bumps].tolist()) == list(range(timed.chip.dma_engines))
            assert dma.bytes[mine & ~bumps].sum() == transfer.bytes and (mine & ~bumps).sum() == transfer.packets
            assert set(dma.queue[mine].tolist()) == {transfer.queue}
        assert set(dma.queue[dma.transfer < 0].tolist()) == {14}
        assert rows.dma_queues() == len({*zip(dma.queue.tolist(), dma.engine.tolist())})


def test_packets_in_batches_are_all_packets_once(timed, monkeypatch):
    [core, _] = timeline_of(timed).cores

    def all_of(*parts):
        return sorted(row for part in parts for row in zip(*(column.tolist() for column in vars(part).values())))

    for batch in (1, 300, 1 << 16):
        monkeypatch.setattr(timeline, "_BATCH", batch)
        parts = [*core.packets()]
        assert all_of(*parts) == all_of(core.dma)
    assert len(parts) == 1


def test_updates_of_semaphores_are_counted_before_they_are_made(timed):
    for rows in timeline_of(timed).cores:
        found = rows.semaphores
        assert rows.semaphore_updates == len(found.value) and (np.diff(found.time_ps) >= 0).all()


def test_the_tensor_engine_is_warm_in_whole_picoseconds_until_the_end(timed):
    warm = ((1.0004, 2.5), (3.0, 1e9))
    cores = tuple(replace(core, warm=warm) for core in timed.cores)
    for rows in timeline_of(replace(timed, cores=cores)).cores:
        assert rows.warm_ps == ((1000, 2500), (3000, rows.end_ps))
