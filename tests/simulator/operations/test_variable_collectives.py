import numpy as np
import pytest

from neff_bench.simulator.errors import ExecutionError, KernelError
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.launch import launch_ranks
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.stated_error import time_error

install()

import nki.collectives as ncc  # noqa: E402 - after install
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402


def exchanged(x, table, collective, size, groups, **flags):
    """dst, which holds -1 before, and the metadata after."""
    src, dst, rows = (nl.ndarray(s, dtype=d, buffer=nl.shared_hbm) for s, d in
                      ((x.shape, x.dtype), ((size,), x.dtype), (table.shape, table.dtype)))  # fmt: skip
    out, after = nl.ndarray((size,), dtype=x.dtype, buffer=nl.shared_hbm), nl.ndarray(
        table.shape, dtype=table.dtype, buffer=nl.shared_hbm)  # fmt: skip
    nothing = nl.ndarray((1, size), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(nothing, -1.0)
    nisa.dma_copy(dst=dst.reshape((1, size)), src=nothing)
    nisa.dma_copy(dst=src, src=x)
    nisa.dma_copy(dst=rows, src=table)
    getattr(ncc, collective)([src], [dst], ncc.ReplicaGroup(groups), rows, **flags)
    nisa.dma_copy(dst=out, src=dst)
    nisa.dma_copy(dst=after, src=rows)
    return out, after


def run(collective, tables, size=8, groups=((0, 1),), lnc=1, **flags):
    """The launch of each rank; rank r sends the elements 10 r, 10 r + 1, ..."""
    bound = [
        {
            "x": 10.0 * rank + np.arange(6, dtype=np.float32),
            "table": np.array(table, np.uint32),
            "collective": collective,
            "size": size,
            "groups": [list(ranks) for ranks in groups],
            **flags,
        }
        for rank, table in enumerate(tables)
    ]
    return launch_ranks(exchanged, bound, lnc)


TABLES = [[[2, 1], [0, 4], [7, 7]], [[0, 3], [0, 1], [7, 7]]]
"""Rank 0 sends its elements 0, 1 to itself and 4 to rank 1; rank 1 sends nothing to rank 0, and its elements 1 to 3 to itself."""


def test_all_to_all_v_gives_each_rank_its_chunks_in_equal_parts_and_counts_them():
    (first, counted), (second, _) = (done.result for done in run("all_to_all_v", TABLES))
    assert first.tolist() == [0, 1, -1, -1, -1, -1, -1, -1]
    assert second.tolist() == [4, -1, -1, -1, 11, 12, 13, -1]
    assert counted.tolist() == [[2, 1], [0, 4], [2, 0]]


def test_known_counts_are_left_alone():
    (_, counted), _ = (done.result for done in run("all_to_all_v", TABLES, recv_counts_known=True))
    assert counted.tolist() == TABLES[0]


def test_all_gather_v_gives_every_rank_the_chunk_of_the_first_column():
    tables = [[[count, 9, 9, 9], [1, 9, 9, 9], [0, 0, 0, 0]] for count in (2, 0, 1, 3)]
    for done in run("all_gather_v", tables, size=12, groups=((2, 0, 1, 3),), lnc=2):
        out, counted = done.result
        assert out.tolist() == [21, -1, -1, 1, 2, -1, -1, -1, -1, 31, 32, 33]
        assert counted[2].tolist() == [1, 2, 0, 3]


def test_bytes_that_only_the_run_knows_are_said_to_be_not_exact():
    program = run("all_to_all_v", TABLES)[0].program
    assert "bytes are not exact" in time_error(program, schedule(program), ())


@pytest.mark.parametrize(
    ("collective", "changed", "says"),
    [
        (
            "all_to_all_v",
            {"tables": [[[2, 1], [0, 6], [0, 0]], TABLES[1]]},
            "rank 0 of the list sends elements 6 to 7 of 6",
        ),
        ("all_to_all_v", {"tables": [[[5, 1], [0, 0], [0, 0]], TABLES[1]]}, "5 elements of rank 0 .* room to 4"),
    ],
)
def test_metadata_that_do_not_fit_are_refused_when_they_are_read(collective, changed, says):
    with pytest.raises(ExecutionError, match=says):
        run(collective, **changed)


@pytest.mark.parametrize(
    ("collective", "changed", "says"),
    [
        ("all_to_all_v", {"has_rdispls": True}, "has_rdispls=True is for ranks of several servers on trn2"),
        ("all_gather_v", {"has_rdispls": True}, "has_rdispls=True is not supported"),
        ("all_gather_v", {}, "expected LNC 2 and lists of 4 ranks, not LNC 1"),
        ("all_to_all_v", {"size": 7}, "cannot be cut into 2 equal parts"),
        ("all_to_all_v", {"tables": [[[2, 1]], [[2, 1]]]}, r"metadata_tensor must be uint32 \[3, 2\] in HBM or SBUF"),
    ],
)
def test_a_call_that_the_documentation_forbids_is_refused_at_its_line(collective, changed, says):
    with pytest.raises(KernelError, match=says):
        run(collective, **{"tables": TABLES, **changed})


def test_on_chips_with_a_switch_all_ranks_of_two_devices_take_part(monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn3")
    with pytest.raises(KernelError, match="lists of all ranks of two devices or more on trn3"):
        run("all_to_all_v", TABLES, lnc=2)
    tables = [[[1] * 8, list(range(6)) + [0, 0], [0] * 8, list(range(7, -1, -1))] for _ in range(8)]
    done = run("all_to_all_v", tables, groups=(range(8),), lnc=2, has_rdispls=True)
    assert done[2].result[0].tolist() == [72, 62, 52, 42, 32, 22, 12, 2]
