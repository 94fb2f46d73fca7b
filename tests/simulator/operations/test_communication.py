import ml_dtypes
import numpy as np
import pytest

from neff_bench.simulator.errors import ExecutionError, KernelError
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.launch import launch_ranks

install()

import nki.collectives as ncc  # noqa: E402 - after install
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402

RNG = np.random.default_rng(3)


def inputs(ranks, *shape, dtype=np.float32):
    return [RNG.standard_normal(shape).astype(dtype) for _ in range(ranks)]


def run(kernel, arrays, lnc=1, **arguments):
    """The result of each rank."""
    return [done.result for done in launch_ranks(kernel, [{"x": x, **arguments} for x in arrays], lnc)]


def hbm(shape, like):
    return nl.ndarray(shape, dtype=like.dtype, buffer=nl.shared_hbm)


def in_hbm(x, collective, shape):
    """Copy `x`, let `collective(src, dst)` communicate, copy the result out."""
    src, dst, out = hbm(x.shape, x), hbm(shape, x), hbm(shape, x)
    nisa.dma_copy(dst=src, src=x)
    collective([src], [dst])
    nisa.dma_copy(dst=out, src=dst)
    return out


def reduced(x, groups, op=nl.add):
    return in_hbm(x, lambda s, d: ncc.all_reduce(s, d, ncc.ReplicaGroup(groups), op), x.shape)


@pytest.mark.parametrize("lnc", [1, 2])
@pytest.mark.parametrize(("op", "numpy"), [(nl.add, np.sum), (nl.minimum, np.min), (nl.maximum, np.max)])
def test_all_reduce_gives_every_rank_of_a_list_the_same(op, numpy, lnc):
    xs = inputs(4, 8, 16)
    out = run(reduced, xs, lnc, groups=[[0, 2], [1, 3]], op=op)
    for rank, group in enumerate([(0, 2), (1, 3), (0, 2), (1, 3)]):
        np.testing.assert_array_equal(out[rank], numpy([xs[i] for i in group], axis=0))


def test_a_sum_is_rounded_once():
    xs = [np.full((1, 2), value, ml_dtypes.bfloat16) for value in (256.0, 1.0, 1.0)]
    assert run(reduced, xs, groups=[[0, 1, 2]])[0].astype(float).tolist() == [[258.0, 258.0]]


def test_integers_are_added_as_integers():
    xs = [np.full((1, 1), 2**30 + rank, np.int32) for rank in (0, 1)]
    assert run(reduced, [x // 2 for x in xs], groups=[[0, 1]])[0].item() == 2**30


def test_all_gather_is_in_the_order_of_the_list():
    def kernel(x):
        return in_hbm(x, lambda s, d: ncc.all_gather(s, d, ncc.ReplicaGroup([[2, 0, 1]]), 0), (12, 8))

    xs = inputs(3, 4, 8, dtype=ml_dtypes.bfloat16)
    for out in run(kernel, xs):
        np.testing.assert_array_equal(out, np.concatenate([xs[2], xs[0], xs[1]]))


@pytest.mark.parametrize("lnc", [1, 2])
def test_each_core_gathers_its_own_tile_in_sbuf(lnc):
    def kernel(x):
        cores = nl.num_programs(0) if lnc > 1 else 1
        core, half = nl.program_id(0) if lnc > 1 else 0, x.shape[1] // lnc
        out = hbm((lnc, x.shape[0], 2 * half), x)
        src, dst = (nl.ndarray((x.shape[0], n * half), dtype=x.dtype, buffer=nl.sbuf) for n in (1, 2))
        nisa.dma_copy(dst=src, src=x[:, core * half : (core + 1) * half])
        ncc.all_gather(srcs=[src], dsts=[dst], replica_group=ncc.ReplicaGroup([[0, 1]]), collective_dim=1)
        nisa.dma_copy(dst=out[core], src=dst)
        assert cores == lnc
        return out

    xs = inputs(2, 4, 8)
    for out in run(kernel, xs, lnc):
        for core, of in enumerate(np.split(np.stack(xs), lnc, axis=2)):
            np.testing.assert_array_equal(out[core], np.concatenate(of, axis=1))


def test_reduce_scatter_gives_each_rank_its_part_and_gathering_them_is_an_all_reduce():
    def kernel(x):
        group = ncc.ReplicaGroup([[0, 1]])
        part, whole, src, out = hbm((2, 8), x), hbm(x.shape, x), hbm(x.shape, x), hbm((3, *x.shape), x)
        nisa.dma_copy(dst=src, src=x)
        ncc.reduce_scatter([src], [part], group, 0, nl.add)
        ncc.all_gather([part], [whole], group, 0)
        nisa.dma_copy(dst=out[0], src=whole)
        nisa.dma_copy(dst=out[1, 0:2], src=part)
        nisa.dma_copy(dst=out[1, 2:4], src=part)
        ncc.all_reduce([src], [whole], group, nl.add)
        nisa.dma_copy(dst=out[2], src=whole)
        return out

    xs = inputs(2, 4, 8)
    for rank, out in enumerate(run(kernel, xs)):
        np.testing.assert_array_equal(out[0], xs[0] + xs[1])
        np.testing.assert_array_equal(out[1, :2], (xs[0] + xs[1])[2 * rank : 2 * rank + 2])
        np.testing.assert_array_equal(out[0], out[2])


def test_several_tensors_go_in_one_collective():
    def kernel(x):
        srcs, dsts, out = [hbm((8,), x) for _ in (0, 1)], [hbm((8,), x) for _ in (0, 1)], hbm((2, 8), x)
        for at in (0, 1):
            nisa.dma_copy(dst=srcs[at], src=x[at])
        ncc.all_reduce(srcs, dsts, ncc.ReplicaGroup([[0, 1]]), nl.add)
        for at in (0, 1):
            nisa.dma_copy(dst=out[at], src=dsts[at])
        return out

    xs = inputs(2, 2, 8)
    np.testing.assert_array_equal(run(kernel, xs)[1], xs[0] + xs[1])


def test_all_to_all_transposes_ranks_and_parts():
    def kernel(x):
        return in_hbm(x, lambda s, d: ncc.all_to_all(s, d, ncc.ReplicaGroup([[0, 1, 2]]), 0), x.shape)

    xs = inputs(3, 3, 8)
    np.testing.assert_array_equal(np.stack(run(kernel, xs)), np.stack(xs).transpose(1, 0, 2))


def test_a_permutation_sends_along_its_rings_and_leaves_other_ranks_alone():
    def kernel(x):
        src, dst, out = hbm(x.shape, x), hbm(x.shape, x), hbm(x.shape, x)
        nisa.dma_copy(dst=src, src=x)
        nisa.dma_copy(dst=dst, src=x)
        ncc.collective_permute([src], [dst], [(0, 1), (1, 3), (3, 0)])
        nisa.dma_copy(dst=out, src=dst)
        return out

    xs = inputs(4, 2, 2)
    out = run(kernel, xs)
    for rank, sender in enumerate([3, 0, 2, 1]):
        np.testing.assert_array_equal(out[rank], xs[sender])


def ring(x, steps, reduce=False):
    """Pass `x` on `steps` times; store what came at the place of the rank that it came from."""
    group = ncc.ReplicaGroup([[0, 1, 2]])
    out, held = hbm((3, *x.shape), x), nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    zero, empty = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf) for _ in (0, 1))
    nisa.memset(zero, 0.0)
    nisa.memset(empty, 0.0)
    for part in range(3):
        nisa.dma_copy(dst=out[part], src=empty)
    nisa.dma_copy(dst=held, src=x)
    for step in range(steps):
        after = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        if reduce:
            ncc.collective_permute_implicit_reduce([[held]], [[zero]], [[after]], group, nl.add)
        else:
            ncc.collective_permute_implicit([[held]], [[after]], group)
        held = after
        rank = ncc.collective_permute_implicit_current_processing_rank_id(step + 1, group)
        rows, columns = x.shape
        nisa.dma_copy(dst=out.ap(pattern=[[columns, rows], [1, columns]], scalar_offset=rank, indirect_dim=0), src=held)
    return out


@pytest.mark.parametrize("reduce", [False, True])
def test_a_ring_says_whose_data_it_holds(reduce):
    xs = inputs(3, 2, 4)
    for rank, out in enumerate(run(ring, xs, steps=2, reduce=reduce)):
        for other in range(3):
            np.testing.assert_array_equal(out[other], 0 * xs[0] if other == rank else xs[other])


def test_a_rank_knows_its_number():
    def kernel(x):
        out = hbm((1, x.shape[1]), x)
        columns = x.shape[1]
        row = x.ap(pattern=[[columns, 1], [1, columns]], scalar_offset=ncc.rank_id(), indirect_dim=0)
        nisa.dma_copy(dst=out, src=row)
        return out

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert [out[0, 0] for out in run(kernel, [x, x, x])] == [0, 4, 8]


def test_a_replica_group_of_other_ranks_than_run_is_an_error():
    with pytest.raises(ExecutionError, match=r"\[\[0, 1, 2\]\] is for ranks 0 to 2, and 2 run"):
        run(reduced, inputs(2, 2, 2), groups=[[0, 1, 2]])


def test_cores_that_do_not_both_communicate_are_refused():
    def kernel(x):
        if nl.program_id(0) == 0:
            return reduced(x, [[0, 1]])
        return hbm(x.shape, x)

    with pytest.raises(KernelError, match="only core 0 reaches this all_reduce"):
        run(kernel, inputs(2, 2, 2), lnc=2)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda x, s, d: ncc.all_reduce([x], [d], [[0, 1]], nl.add), "is an input; copy it"),
        (lambda x, s, d: ncc.all_reduce(s, [d], [[0, 1]], nl.add), "srcs must be a list of tensors"),
        (lambda x, s, d: ncc.all_reduce([s], [d], [[0, 1]], nl.multiply), "op multiply is not supported"),
        (lambda x, s, d: ncc.all_reduce([s], [d], [[0, 1], [1, 2]], nl.add), "each rank may occur once"),
        (lambda x, s, d: ncc.all_reduce([s], [d], [[0, 1], [2]], nl.add), "all lists must have one length"),
        (lambda x, s, d: ncc.all_reduce([s], [d], 2, nl.add), "replica_group must be ReplicaGroup"),
        (lambda x, s, d: ncc.all_gather([s], [d], [[0, 1]], 0), "dst must hold 32 elements for 2 ranks"),
        (lambda x, s, d: ncc.all_gather([s], [hbm((8, 4), x)], [[0, 1]], 1), "collective_dim must be 0"),
        (lambda x, s, d: ncc.reduce_scatter([s], [d], [[0, 1]], 0, nl.add), "src must hold"),
        (lambda x, s, d: ncc.all_to_all([s], [d], [[0, 1, 2]], 0), "cannot be cut into 3 parts"),
        (lambda x, s, d: ncc.all_to_all([nl.load(x)], [nl.load(x)], [[0, 1]], 0), "tensors must be in HBM"),
        (lambda x, s, d: ncc.collective_permute([s], [d], [(0, 1)]), "must form rings"),
    ],
)
def test_what_the_device_would_refuse_is_refused(wrong, error):
    def kernel(x):
        src, dst = hbm(x.shape, x), hbm(x.shape, x)
        nisa.dma_copy(dst=src, src=x)
        wrong(x, src, dst)
        return dst

    with pytest.raises(KernelError, match=error):
        run(kernel, inputs(2, 4, 4))
