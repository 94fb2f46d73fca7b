"""Loops that registers bound: constants, and what the kernel's data decide."""

import numpy as np
import pytest

from neff_bench.simulator.errors import ExecutionError, NotModelledError
from neff_bench.simulator.execution.execute import execute
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.jit import jit
from neff_bench.simulator.nki.launch import launch
from neff_bench.simulator.nki.simulate import simulate
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record

X = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)


def loaded(count):
    """A register with the one element of `count`."""
    cell = nl.ndarray((1, 1), nl.int32)
    nisa.dma_copy(cell, count)
    register = nisa.register_alloc()
    nisa.register_load(register, cell)
    return register


def counted(count):
    return np.array([[count]], np.int32)


def doubled(loop):
    """A kernel that doubles `x` once for each trip of `loop`."""

    def kernel(x, count):
        out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
        tile = nl.load(x)

        def body(*_):
            nisa.tensor_scalar(tile, tile, nl.multiply, 2.0)

        loop(count, body)
        nisa.dma_copy(out, tile)
        return out

    return kernel


def by_range(count, body):
    for _ in nl.dynamic_range(1, loaded(count)):
        body()


def by_fori(count, body):
    nl.fori_loop(1, loaded(count), body)


def by_while(count, body):
    """Counts down in SBUF, as a kernel has to: registers have no arithmetic."""
    left = nl.load(count)
    register = loaded(count)
    while register:
        nisa.tensor_scalar(left, left, nl.subtract, 1)
        nisa.register_load(register, left)
        if register:
            body()


@pytest.mark.parametrize("loop", [by_range, by_fori, by_while])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_data_bound_a_loop(loop, count):
    np.testing.assert_array_equal(simulate(jit(doubled(loop)))(X, counted(count)), X * 2.0 ** (count - 1))


def test_a_program_serves_the_data_that_it_was_recorded_with():
    done = launch(doubled(by_range), (X, counted(3)), {}, 1, fits=True)
    assert execute(done.program, {"x": X, "count": counted(3)})
    with pytest.raises(ExecutionError, match=r"test_data\.py:\d+: compare_branch: .* this register 3; these make it 2"):
        execute(done.program, {"x": X, "count": counted(2)})


def test_without_data_a_loop_of_their_length_is_not_modelled():
    inputs = [InputSpec("x", X.shape, "float32"), InputSpec("count", (1, 1), "int32")]
    with pytest.raises(NotModelledError, match=r"test_data\.py:\d+: .*not modelled"):
        record(Call(doubled(by_range), "doubled", inputs), "trn2", 1)


def test_a_constant_bounds_a_loop_without_data():
    def constant(count, body):
        end = nisa.register_alloc(2)
        copy = nisa.register_alloc()
        nisa.register_move(copy, end)
        nl.fori_loop(0, copy, body)

    inputs = [InputSpec("x", X.shape, "float32"), InputSpec("count", (1, 1), "int32")]
    program = record(Call(doubled(constant), "doubled", inputs), "trn2", 1)
    assert [step.op for step in program.cores[0]].count("tensor_scalar") == 2


def test_the_index_of_a_register_bounded_loop_addresses_memory():
    def kernel(x, count):
        out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)

        def body(row):
            tile = nl.ndarray((1, 16), x.dtype)
            nisa.dma_copy(tile, x.ap([[16, 1], [1, 16]], scalar_offset=row, indirect_dim=0))
            nisa.dma_copy(out.ap([[16, 1], [1, 16]], scalar_offset=row, indirect_dim=0), tile)

        nl.fori_loop(0, loaded(count), body)
        return out

    np.testing.assert_array_equal(simulate(jit(kernel))(X, counted(8)), X)


def test_while_loop_runs_as_long_as_its_condition():
    def kernel(x, count):
        out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
        tile, left = nl.load(x), nl.load(count)

        def body(condition):
            nisa.tensor_scalar(tile, tile, nl.add, 1.0)
            nisa.tensor_scalar(left, left, nl.subtract, 1)
            rest = nisa.register_alloc()
            nisa.register_load(rest, left)
            return rest

        nl.while_loop(loaded(count), body)
        nisa.dma_copy(out, tile)
        return out

    np.testing.assert_array_equal(simulate(jit(kernel))(X, counted(3)), X + 3)
