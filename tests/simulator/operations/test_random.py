import numpy as np
import pytest

from neff_bench.simulator.errors import ExecutionError

DATA = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


def test_dropout_of_nothing_and_of_everything(apply):
    prob = np.array([[0], [1], [0]], np.float32)
    out = apply("dropout", {"dst": ((3, 4), "float32")}, {"data": DATA, "prob": prob})
    np.testing.assert_array_equal(out, DATA * (1 - prob))


def test_dropout_by_chance_is_refused(apply):
    with pytest.raises(ExecutionError, match="kernel.py:7: dropout: .*not published"):
        apply("dropout", {"dst": ((3, 4), "float32")}, {"data": DATA}, prob=0.5)


@pytest.mark.parametrize("op", ["rng", "rand2"])
def test_random_numbers_are_refused(apply, op):
    with pytest.raises(ExecutionError, match=f"operation '{op}' is not modelled"):
        apply(op, {"dst": ((3, 4), "uint32")})


def test_a_state_that_was_set_is_read_back(builder):
    b = builder()
    seeds = np.arange(24, dtype=np.uint32).reshape(4, 6)
    state = b.sbuf((4, 6), "uint32")
    b.do("rand_set_state", {}, {"src_seeds": b.load("s", seeds)}, "gpsimd")
    b.do("rand_get_state", {"dst": state}, {}, "gpsimd")
    b.copy(b.output("y", (4, 6), "uint32"), state)
    np.testing.assert_array_equal(b.run(s=seeds)["y"], seeds)


def test_a_state_that_was_never_set_is_unknown(apply):
    with pytest.raises(ExecutionError, match="generator was never seeded"):
        apply("rand_get_state", {"dst": ((4, 6), "uint32")}, engine="gpsimd")
