import numpy as np
import pytest

from neff_bench.simulator.errors import ExecutionError

DATA = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


def test_dropout_of_nothing_and_of_everything(apply):
    prob = np.array([[0], [1], [0]], np.float32)
    out = apply("dropout", {"dst": ((3, 4), "float32")}, {"data": DATA, "prob": prob})
    np.testing.assert_array_equal(out, DATA * (1 - prob))


def test_dropout_by_chance_drops_that_share(apply):
    data = np.ones((128, 512), np.float32)
    out = apply("dropout", {"dst": (data.shape, "float32")}, {"data": data}, prob=0.25)
    assert 0.24 < np.mean(out == 0) < 0.26 and np.mean(out == 1) == 1 - np.mean(out == 0)


def test_random_bits_fill_their_range_and_repeat(apply):
    out = [apply("rng", {"dst": ((128, 64), "uint16")}, {}) for _ in range(2)]
    np.testing.assert_array_equal(out[0], out[1])
    assert abs(out[0].mean() / 65535 - 0.5) < 0.01 and len(np.unique(out[0])) > 7000


def test_uniform_numbers_lie_between_their_bounds(apply):
    out = apply("rand2", {"dst": ((128, 64), "float32")}, {}, min=2.0, max=3.0)
    assert out.min() >= 2 and out.max() <= 3 and abs(out.mean() - 2.5) < 0.01


def test_a_seed_decides_the_sequence(builder):
    def drawn(seed):
        b = builder()
        bits = b.sbuf((4, 8), "uint32")
        b.do("set_rng_seed", {}, {"src_seeds": b.load("s", np.array([[seed]], np.uint32))}, "vector")
        b.do("rng", {"dst": bits}, {}, "vector")
        b.copy(b.output("y", (4, 8), "uint32"), bits)
        return b.run(s=np.array([[seed]], np.uint32))["y"]

    np.testing.assert_array_equal(drawn(7), drawn(7))
    assert not np.array_equal(drawn(7), drawn(8))


def test_a_state_that_was_set_is_read_back(builder):
    b = builder()
    seeds = np.arange(24, dtype=np.uint32).reshape(4, 6)
    state = b.sbuf((4, 6), "uint32")
    b.do("rand_set_state", {}, {"src_seeds": b.load("s", seeds)}, "gpsimd")
    b.do("rand_get_state", {"dst": state}, {}, "gpsimd")
    b.copy(b.output("y", (4, 6), "uint32"), state)
    np.testing.assert_array_equal(b.run(s=seeds)["y"], seeds)


def test_a_state_is_unknown_after_numbers_were_drawn(builder):
    b = builder()
    seeds = np.arange(24, dtype=np.uint32).reshape(4, 6)
    b.do("rand_set_state", {}, {"src_seeds": b.load("s", seeds)}, "gpsimd")
    b.do("rng", {"dst": b.sbuf((4, 8), "uint32")}, {}, "gpsimd")
    b.do("rand_get_state", {"dst": b.sbuf((4, 6), "uint32")}, {}, "gpsimd")
    with pytest.raises(ExecutionError, match="not known after it drew numbers"):
        b.run(s=seeds)


def test_a_state_that_was_never_set_is_unknown(apply):
    with pytest.raises(ExecutionError, match="generator was never seeded"):
        apply("rand_get_state", {"dst": ((4, 6), "uint32")}, engine="gpsimd")
