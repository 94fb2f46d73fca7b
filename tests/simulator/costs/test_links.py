import numpy as np
import pytest

from neff_bench.chips import CHIPS
from neff_bench.simulator.costs.links import plan
from neff_bench.simulator.costs.transfers import COLLECTIVES, SEMAPHORE_PACKET_BYTES
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record
from neff_bench.simulator.program import ENGINES
from neff_bench.simulator.timing.counters import summarise
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.timeline import timeline_of

install()

import nki.collectives as ncc  # noqa: E402 - after install
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402

TRN2 = CHIPS["trn2"]
MIB = 1 << 20


def kernel(x, ranks):
    src, dst, out = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(3))
    nisa.dma_copy(dst=src, src=x)
    ncc.all_reduce([src], [dst], ncc.ReplicaGroup([list(range(ranks))]), nl.add)
    nisa.dma_copy(dst=out, src=dst)
    return out


def program(ranks, lnc=2, rows=64):
    return record(Call(kernel, "k", [InputSpec("x", (rows, 512), "float32")], {"ranks": ranks}), "trn2", lnc)


@pytest.mark.parametrize(
    ("op", "group", "size", "algorithm", "steps", "sent"),
    [
        ("all_gather", range(1), 64, "copy", 0, 0),
        ("all_gather", range(4), 1 * MIB, "Mesh", 1, 3 * MIB // 4),  # one device
        ("all_reduce", range(4), 64 * MIB, "Mesh", 2, 96 * MIB),
        ("all_gather", range(64), MIB // 2, "Mesh", 2, 63 * MIB // 128),
        ("all_gather", range(64), MIB - 64, "Mesh", 2, 63 * (MIB - 64) // 64),
        ("all_gather", range(64), MIB, "RDH", 5, 63 * MIB // 64),
        ("reduce_scatter", range(64), 8 * MIB, "RDH", 5, 63 * MIB // 8),
        ("all_gather", range(64), 56 * MIB, "RDH", 5, 63 * 56 * MIB // 64),
        ("all_gather", range(64), 56 * MIB + 64, "KangaRing", 32, 63 * (56 * MIB + 64) // 64),
        ("all_reduce", range(64), 64 * MIB, "KangaRing", 64, 126 * MIB),
        ("all_gather", range(0, 64, 4), 64 * MIB, "Ring", 15, 60 * MIB),  # a rank of each device
        ("all_to_all", range(64), 64 * MIB, "Mesh", 2, 63 * MIB),
        ("collective_permute_implicit", range(64), 64 * MIB, "permute", 1, 64 * MIB),
    ],
)
def test_the_documented_algorithm_follows_from_ranks_and_bytes(op, group, size, algorithm, steps, sent):
    assert plan(op, list(group), size, 2, TRN2)[:3] == (algorithm, steps, sent)


def test_a_core_has_its_share_of_the_links_between_devices_only():
    assert plan("all_gather", [0, 1], MIB, 2, TRN2).bandwidth == 0
    assert plan("all_gather", [0, 4], MIB, 2, TRN2).bandwidth == TRN2.link_bandwidth / 8


@pytest.mark.parametrize("lnc", [1, 2])
def test_bytes_are_those_of_the_operands_and_of_what_is_sent(lnc):
    made = program(4, lnc)
    size = 64 * 512 * 4
    timed = schedule(made)
    moved = [t for core in timed.cores for t in core.code.transfers if t.queue == COLLECTIVES]
    assert sum(t.bytes for t in moved) == 2 * 3 * size // 4 and len(moved) == lnc
    assert sum(t.hbm_read for t in moved) == sum(t.hbm_write for t in moved) == size
    packets = [core.dma for core in timeline_of(timed).cores]
    assert sum(int(p.bytes[(p.transfer >= 0) & (p.bytes > SEMAPHORE_PACKET_BYTES)].sum()) for p in packets) == sum(
        t.bytes for core in timed.cores for t in core.code.transfers
    )
    summary = summarise(made, timed, timeline_of(timed))
    copies = 2 * size * lnc  # in and out, by each core
    assert summary["hbm_read_bytes"] == copies + size
    assert (summary["cc_op_count"], summary["simulator_collective_sent_bytes"]) == (1, 2 * 3 * size // 4)
    assert 2 * TRN2.collective_step_ns < summary["cc_op_active_time"] * 1e9 < 2 * TRN2.collective_step_ns + 4000


def test_devices_and_slower_links_cost_time():
    near, far = (schedule(program(ranks)).total_ns for ranks in (4, 8))
    assert far > near + TRN2.collective_step_ns
    made = program(8, rows=1024)
    slow = schedule(made, chip=_changed(link_bandwidth=TRN2.link_bandwidth / 4))
    assert slow.total_ns > 1.5 * schedule(made).total_ns


def test_what_does_not_depend_on_a_collective_runs_beside_it():
    def overlapped(x, ranks):
        out = kernel(x, ranks)
        tile = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
        nisa.memset(tile, 1.0)
        for _ in range(20):
            nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
        more = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=more, src=tile)
        return out, more

    spec = [InputSpec("x", (64, 512), "float32")]
    both = schedule(record(Call(overlapped, "k", spec, {"ranks": 8}), "trn2", 1)).cores[0]
    collective = int(np.flatnonzero([t.queue == COLLECTIVES for t in both.code.transfers])[0])
    at = int(np.flatnonzero(both.code.transfer == collective)[0])
    inside = (
        (both.code.engine == ENGINES.index("vector"))
        & (both.start_ns > both.start_ns[at])
        & (both.end_ns < both.done_ns[at])
    )
    assert inside.sum() > 2


def _changed(**constants):
    from dataclasses import replace

    return replace(TRN2, **constants)
