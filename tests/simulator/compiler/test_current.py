"""What the compiler does to a kernel of the current dialect."""

import numpy as np
import pytest

from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.jit import jit
from neff_bench.simulator.nki.simulate import simulate
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import record

X = np.random.default_rng(5).standard_normal((128, 64)).astype(np.float32)


def kernel(compute, dtype=nl.float32):
    """What `compute` makes of a tile, stored."""

    @jit
    def computed(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile, made = (nl.ndarray(x.shape, dtype=dtype, buffer=nl.sbuf) for _ in range(2))
        nisa.dma_copy(dst=tile, src=x)
        compute(made, tile)
        nisa.dma_copy(dst=out, src=made)
        return out

    return computed


def steps(compute, dtype="float32"):
    program = record(
        kernel(compute, getattr(nl, dtype)).function, "k", [InputSpec("x", X.shape, dtype)], {}, (), "trn2", 1
    )
    return [step for step in program.cores[0] if not step.op.startswith("dma_")]


@pytest.mark.parametrize(
    ("options", "engine"),
    [
        ({"op0": nl.multiply}, "scalar"),
        ({"op0": nl.add}, "scalar"),
        ({"op0": nl.maximum}, "vector"),
        ({"op0": nl.multiply, "op1": nl.add, "operand1": 1.0}, "vector"),
        ({"op0": nl.multiply, "engine": nisa.engine.vector}, "vector"),
    ],
)
def test_what_scalar_can_do_with_one_number_is_on_scalar(options, engine):
    [step] = steps(lambda made, tile: nisa.tensor_scalar(made, tile, operand0=2.0, **options))
    assert step.engine == engine


def test_whole_numbers_stay_on_vector():
    [step] = steps(lambda made, tile: nisa.tensor_scalar(made, tile, nl.add, 2), "int32")
    assert step.engine == "vector"


def turned_and(readers):
    def compute(made, tile):
        psum = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum)
        nisa.memset(psum, value=2.0)
        copied = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(copied, psum)
        readers(made, copied, tile)

    return compute


def test_a_copy_from_psum_goes_whose_reader_can_read_psum():
    added = turned_and(lambda made, copied, tile: nisa.tensor_tensor(made, copied, tile, op=nl.add))
    assert [step.op for step in steps(added)] == ["memset", "tensor_tensor"]
    assert np.array_equal(simulate(kernel(added))(X), X + 2)


def test_a_copy_within_sbuf_stays():
    def compute(made, tile):
        copied = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(copied, tile)
        nisa.tensor_tensor(made, copied, tile, op=nl.add)

    assert [step.op for step in steps(compute)] == ["tensor_copy", "tensor_tensor"]
