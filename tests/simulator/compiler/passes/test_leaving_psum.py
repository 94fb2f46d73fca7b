"""Kernels of the old dialect with more products than PSUM has banks: which leave, and that every result is what it was."""

import numpy as np
import pytest

from neff_bench.simulator.compiler.program.capacity import memory_peak
from neff_bench.simulator.errors import CapacityError
from neff_bench.simulator.nki.beta import isa as nisa
from neff_bench.simulator.nki.beta import language as nl
from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.simulate import simulate
from tests.simulator.nki.beta.kernels import recorded

BANKS = 12
"""Products of one bank each; PSUM has eight."""
X = np.random.default_rng(5).standard_normal((128, BANKS * 512)).astype(np.float32)
W = np.random.default_rng(6).standard_normal((128, 128)).astype(np.float32)


def products(w, x, rounds):
    """w.T @ x in twelve tiles, `rounds` times over the tiles."""
    w, x = nl.load(w), nl.load(x)
    tiles = nl.zeros((BANKS, nl.par_dim(128), 512), nl.float32, buffer=nl.psum)
    for _ in range(rounds):
        for part in nl.affine_range(BANKS):
            tiles[part] += nisa.nc_matmul(w, x[:, nl.ds(512 * part, 512)])
    return tiles


def centred(w, x):
    """Each row of w.T @ x less its largest element, for which all of the row must be there."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tiles, most = products(w, x, 1), nl.ndarray((128, BANKS), nl.float32)
    for part in nl.affine_range(BANKS):
        most[:, nl.ds(part, 1)] = nisa.tensor_reduce(np.max, tiles[part], axis=1)
    top = nl.max(most, axis=1)
    for part in nl.affine_range(BANKS):
        nl.store(out[:, nl.ds(512 * part, 512)], nisa.tensor_scalar(tiles[part], np.subtract, top))
    return out


def repeated(w, x):
    """3 w.T @ x, each tile added to again after all the others."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tiles = products(w, x, 3)
    for part in nl.affine_range(BANKS):
        nl.store(out[:, nl.ds(512 * part, 512)], nl.copy(tiles[part]))
    return out


def between(program, source, to):
    memory = [buffer.memory for buffer in program.buffers]
    moved = [
        (memory[s.reads["src"].buffer], memory[s.writes["dst"].buffer]) for s in program.cores[0] if "src" in s.reads
    ]
    return moved.count((source, to))


def test_products_without_a_bank_are_read_from_sbuf():
    program = recorded(centred, W.shape, X.shape, middle_end=True)
    [psum] = [peak for peak in memory_peak(program) if peak.memory == "psum"]
    assert psum.used_bytes <= psum.capacity_bytes
    assert 4 <= between(program, "psum", "sbuf") <= 5
    assert between(program, "sbuf", "psum") == 0
    assert program.before_middle_end
    expected = W.T @ X
    found = simulate(jit(centred))(W, X)
    np.testing.assert_allclose(found, expected - expected.max(1, keepdims=True), rtol=1e-3, atol=1e-3)


def test_a_product_that_is_added_to_again_comes_back():
    program = recorded(repeated, W.shape, X.shape, middle_end=True)
    assert between(program, "sbuf", "psum") >= 2 * 4
    np.testing.assert_allclose(simulate(jit(repeated))(W, X), 3 * (W.T @ X), rtol=1e-3, atol=1e-3)


def test_a_kernel_that_turns_the_middle_end_off_is_refused():
    with pytest.raises(CapacityError, match="PSUM of core 0 is full"):
        recorded(centred, W.shape, X.shape)
