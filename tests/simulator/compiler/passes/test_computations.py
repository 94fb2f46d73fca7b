"""Kernels of the old dialect that compute something twice: AWS's compiler makes some of it once, so their rows say so."""

from pathlib import Path

import numpy as np
import pytest

from neff_bench.simulator.nki.beta import isa as nisa
from neff_bench.simulator.nki.beta import language as nl
from tests.simulator.nki.beta.kernels import recorded


def transposed(between):
    """x.T in as many outputs as `between` has functions, which each get the tile before it is transposed; the first result is kept."""

    def kernel(x):
        tile = nl.load(x)
        outs = []
        for change in between:
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            tile = change(tile)
            nl.store(out, nisa.nc_transpose(tile))
            outs.append(out)
        return tuple(outs)

    return kernel


def same(tile):
    return tile


def added(tile):
    tile += 1.0
    return tile


def shared(tile):
    return nl.add(tile, 1.0)


@pytest.mark.parametrize(
    ("between", "repeats"),
    [((same,), False), ((same, same), True), ((same, added), False), ((same, shared), False)],
)
def test_a_program_that_computes_the_same_of_the_same_values_says_so(between, repeats):
    program = recorded(transposed(between), (128, 128), middle_end=True)
    assert program.before_middle_end == repeats
    if repeats:
        line = 1 + (Path(__file__).read_text().split("nl.store(out, nisa.nc_transpose(tile))")[0].count("\n"))
        assert program.what_changes == f"computations that the kernel repeats (test_computations.py:{line})"


def test_what_is_computed_of_equal_values_in_other_tiles_is_the_same_too():
    def kernel(x):
        outs = [nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(2)]
        tile = nl.load(x)
        for out in outs:
            ones = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
            ones[...] = nisa.memset(x.shape, 1.0, x.dtype)
            nl.store(out, nl.multiply(nl.add(tile, ones), float(out is outs[0])))
        return tuple(outs)

    assert recorded(kernel, (128, 128), middle_end=True).before_middle_end


def test_products_that_are_added_to_one_another_are_not_repeated():
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        total = nl.zeros(x.shape, np.float32, buffer=nl.psum)
        for _ in nl.affine_range(3):
            total += nisa.nc_matmul(tile, tile)
        nl.store(out, nl.copy(total))
        return out

    assert not recorded(kernel, (128, 128), middle_end=True).before_middle_end


def test_random_numbers_are_not_repeated():
    def kernel(x):
        out = nl.ndarray((2, *x.shape), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        for part in range(2):
            nl.store(out[part], nl.add(tile, nl.rand(x.shape)))
        return out

    assert not recorded(kernel, (128, 128), middle_end=True).before_middle_end
