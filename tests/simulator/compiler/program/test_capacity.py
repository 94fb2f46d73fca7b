"""SBUF and PSUM over time."""

import numpy as np
import pytest

from neff_bench.simulator.compiler.program.capacity import memory_peak
from neff_bench.simulator.errors import CapacityError, CapacityWarning
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.simulate import simulate
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record


def trace(kernel):
    return record(Call(kernel, "kernel", [InputSpec("x", (128, 16384), "float32")]), "trn2", 1)


def tiles(count, address=None):
    """`count` tiles of 64 KiB that are all made before any is used."""

    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        held = []
        for at in range(count):
            place = None if address is None else address(at)
            tile = nl.ndarray((128, 16384), nl.float32, address=place)
            nisa.memset(tile, 0)
            held.append(tile)
        for tile in held:
            nisa.memset(tile, 0)
            nisa.tensor_scalar(tile, tile, nl.add, 1.0)
            nisa.dma_copy(out, tile)
        return out

    return kernel


def test_tensors_that_live_together_add_up():
    sbuf, psum = memory_peak(trace(tiles(3)))
    assert (sbuf.used_bytes, sbuf.capacity_bytes, sbuf.instruction) == (3 * 65536, 208 * 1024, 2)
    assert (psum.used_bytes, psum.instruction) == (0, None)


def test_tensors_that_follow_each_other_do_not():
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        for _ in range(9):
            tile = nl.ndarray((128, 16384), nl.float32)
            nisa.dma_copy(tile, x)
            nisa.tensor_scalar(tile, tile, nl.add, 1.0)
            nisa.dma_copy(out, tile)
        return out

    assert memory_peak(trace(kernel))[0].used_bytes == 65536


def test_a_transfer_does_not_hold_a_tensor():
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        held = []
        for _ in range(9):
            tile = nl.ndarray((128, 16384), nl.float32)
            nisa.dma_copy(tile, x)
            held.append(tile)
        for tile in held:
            nisa.tensor_scalar(tile, tile, nl.add, 1.0)
        for tile in held:
            nisa.dma_copy(out, tile)
        return out

    assert memory_peak(trace(kernel))[0].used_bytes == 65536


def test_tensors_of_few_partitions_lie_side_by_side():
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        held = [nl.ndarray((rows, 16384), nl.float32) for rows in (64, 33, 1)]
        for tile in held:
            nisa.memset(tile, 0)
        for tile in held:
            nisa.dma_copy(out[: tile.shape[0]], tile)
            nisa.tensor_scalar(tile, tile, nl.add, 1.0)
        return out

    assert memory_peak(trace(kernel))[0].used_bytes == (64 + 64 + 32) * 65536 // 128


def test_places_that_the_kernel_chose_count_once():
    assert memory_peak(trace(tiles(4, lambda at: (0, at % 2 * 65536))))[0].used_bytes == 2 * 65536


def test_the_allocation_that_overflows_is_named():
    with pytest.raises(CapacityError, match=r"test_capacity\.py:\d+: SBUF of core 0 is full: .*262144 .*212992"):
        trace(tiles(5))


def test_numbers_are_computed_even_of_a_kernel_that_does_not_fit():
    x = np.zeros((128, 16384), np.float32)
    with pytest.warns(CapacityWarning, match="SBUF of core 0 is full"):
        assert np.array_equal(simulate(tiles(5))(x), x + 1)
