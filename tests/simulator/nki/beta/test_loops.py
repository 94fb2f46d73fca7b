"""Loops of the old dialect: what their bodies do to the kernel's own numbers."""

import numpy as np
import pytest

from neff_bench.simulator.errors import NkiValidationError
from neff_bench.simulator.nki.beta import language as nl
from neff_bench.simulator.nki.beta.compiler import sbuf
from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.simulate import simulate
from tests.simulator.nki.beta.kernels import recorded

X = np.arange(128 * 8, dtype=np.float32).reshape(128, 8)


def placed(loop):
    """A kernel that adds up an address in the body of a loop."""

    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        address = 256
        for at in loop(4):
            tile = nl.ndarray((nl.par_dim(128), 2), dtype=x.dtype, buffer=sbuf.mod_alloc(base_addr=address))
            address += 8
            tile[...] = nl.load(x[:, 2 * at : 2 * at + 2])
            nl.store(out[:, 2 * at : 2 * at + 2], tile)
        assert address == 256 + (32 if loop is nl.static_range else 8)
        return out

    return kernel


@pytest.mark.parametrize(
    ("loop", "addresses"),
    [(nl.affine_range, {256}), (nl.sequential_range, {256}), (nl.static_range, {256, 264, 272, 280})],
)
def test_a_body_that_the_compiler_sees_once_adds_once(loop, addresses):
    program = recorded(placed(loop), (128, 8))
    assert {buffer.address for buffer in program.buffers if buffer.memory == "sbuf"} - {None} == addresses
    np.testing.assert_array_equal(simulate(jit(placed(loop)))(X), X)


def test_a_bound_that_is_no_number_is_an_error_of_the_kernel():
    def kernel(x):
        for _ in nl.affine_range(x.shape):
            pass

    with pytest.raises(NkiValidationError, match=r"test_loops\.py:\d+: a loop is bounded by"):
        recorded(kernel, (128, 8))


def halves(x):
    """The tutorial's slip: the return is in the body."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for at in nl.affine_range(2):
        for half in nl.sequential_range(2):
            left = 4 * at + 2 * half
            nl.store(out[:, left : left + 2], nl.load(x[:, left : left + 2]))
            return out


def first_half(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x))
    for _ in nl.static_range(2):
        nl.store(out[:, 0:4], nl.exp(nl.load(x[:, 0:4])))
        return out


def test_a_return_in_a_body_that_the_compiler_sees_once_is_one_after_the_loop():
    np.testing.assert_array_equal(simulate(jit(halves))(X), X)


def test_an_unrolled_loop_is_left_by_a_return():
    program = recorded(first_half, (128, 8))
    assert sum(one.op == "activation" for core in program.cores for one in core) == 1
