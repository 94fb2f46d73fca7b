"""Mistakes that a newcomer makes: each is one line, with the line of the kernel and what was expected."""

import functools

import numpy as np
import pytest

from neff_bench.simulator.errors import KernelError
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.beta import isa as old_nisa
from neff_bench.simulator.nki.beta import language as old_nl
from neff_bench.simulator.nki.beta.jit import jit as old_jit
from neff_bench.simulator.nki.jit import jit
from neff_bench.simulator.nki.simulate import simulate

X = np.random.default_rng(4).standard_normal((128, 64)).astype(np.float32)


def loaded(x):
    tile = nl.ndarray(x.shape, x.dtype)
    nisa.dma_copy(tile, x)
    return tile


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (lambda t: t + 1, r"a tensor of nki has no \+; call nl.add"),
        (lambda t: t @ t, r"has no @; call nl.matmul or nisa.nc_matmul"),
        (lambda t: t > 0, r"has no >; call nl.greater"),
        (lambda t: t == 0, "call nl.equal to compare it"),
        (lambda t: abs(t), r"has no abs\(\); call nl.abs"),
        (lambda t: -t, "has no -; call nl.negative"),
        (lambda t: np.exp(t), "numpy's functions do not take tensors; call those of nki.language"),
        (lambda t: np.ones((128, 64)) + t, r"has no \+; call nl.add"),
        (lambda t: np.asarray(t), "numpy cannot read .*: its value is not known while the kernel is recorded"),
        (lambda t: int(t), "the int of .* is not known while the kernel is recorded"),
        (lambda t: range(t), "a tensor, whose value is not known .*, cannot be interpreted as an integer"),
        (lambda t: f"{t:.3f}", r"cannot be formatted by '\.3f'"),
        (lambda t: nl.sum(t, axis=0), "axis 0 of .* are its partitions"),
        (lambda t: nl.sum(t, axis=3), "axis 3 of .*; expected 1 to 1"),
        (lambda t: nl.sum(t, axis="free"), "axis 'free' of .*; expected 1 to 1"),
        (
            lambda t: nl.sum(t, axis=1, keepdim=True),
            "nl.sum got an unexpected .* 'keepdim'; it takes x, axis, dtype, keep",
        ),
        (lambda t: nisa.dma_copy(dst=t), "nisa.dma_copy missing 1 .* 'src'; it takes dst, src"),
        (
            lambda t: t.__setitem__(..., np.zeros((128, 64))),
            r"must be a number or a tensor, not an array of \[128, 64\]",
        ),
        (lambda t: t.shpae, "a tensor of nki has no attribute 'shpae'"),
    ],
)
def test_of_the_current_dialect(use, text):
    with pytest.raises(KernelError, match=rf"test_mistakes\.py:\d+: .*{text}"):
        simulate(jit(lambda x: use(loaded(x))))(X)


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (lambda t: t @ t, r"a tile of neuronxcc.nki has no @; call nl.matmul"),
        (lambda t: t // 2, "has no //"),
        (lambda t: bool(t > 0), "cannot steer Python"),
        (lambda t: list(t), "cannot be iterated over; index it instead"),
        (lambda t: np.exp(t), "numpy's functions do not take tensors"),
        (lambda t: np.ones((128, 64)) + t, r"nl.add: an operand is a tile or a number, not an array of \[128, 64\]"),
        (lambda t: t[np.arange(8)], r"an array of \[8\] cannot index a tile: .* nl.arange is expected"),
        (lambda t: old_nl.max(t, axis=None), "nl.max: axis None of .*; expected 1 to 1"),
        (lambda t: old_nisa.tensor_reduce(np.add, t, axis=2), "nisa.tensor_reduce: axis 2 of .*; expected 1 to 1"),
        (lambda t: old_nl.exp(t, oops=3), "nl.exp has no argument 'oops'; it takes x, y, dtype, mask"),
        (lambda t: old_nisa.tensor_tensor(t, t), "nisa.tensor_tensor missing 1 .* 'op'"),
        (lambda t: old_nl.copy(t, mask=t > 0), "a mask is a comparison of index expressions, not a tensor"),
    ],
)
def test_of_the_old_dialect(use, text):
    with pytest.raises(KernelError, match=rf"test_mistakes\.py:\d+: .*{text}"):
        simulate(old_jit(lambda x: use(old_nl.load(x))))(X)


def test_a_number_of_numpy_is_a_number():
    def kernel(x):
        out = old_nl.ndarray(x.shape, x.dtype, buffer=old_nl.shared_hbm)
        old_nl.store(out, np.float32(2) * old_nl.load(x) + np.float32(1))
        return out

    np.testing.assert_allclose(simulate(old_jit(kernel))(X), 2 * X + 1, rtol=1e-6)


def test_an_assert_without_a_text_shows_its_line():
    def kernel(x):
        raise AssertionError  # as `assert` does; pytest rewrites that

    with pytest.raises(KernelError, match="failed: raise AssertionError"):
        simulate(jit(kernel))(X)


def kernel_of_one(x):
    out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
    nisa.dma_copy(out, loaded(x))
    return out


def test_a_kernel_with_the_name_of_a_function_of_nl_is_not_taken_for_it():
    def softmax(x):
        return kernel_of_one(x)

    with pytest.raises(KernelError, match=r"softmax\(x\) is called with other arguments: missing"):
        simulate(jit(softmax))(y=X)


@pytest.mark.parametrize(("args", "kwargs"), [((), {}), ((X, X), {}), ((X,), {"y": 1})])
def test_a_call_that_the_kernel_does_not_take_says_what_it_takes(args, kwargs):
    with pytest.raises(
        KernelError, match=r"test_mistakes\.py:\d+: kernel_of_one\(x\) is called with other arguments: "
    ):
        simulate(jit(kernel_of_one))(*args, **kwargs)


def test_an_argument_of_a_dtype_that_no_chip_has_is_named():
    with pytest.raises(KernelError, match="argument 'x': no canonical dtype for numpy float64"):
        simulate(jit(kernel_of_one))(X.astype(np.float64))
    with pytest.raises(KernelError, match="a kernel is a function, not int"):
        simulate(3)(X)


class Doubled:
    def __call__(self, x):
        return kernel_of_one(x)


@pytest.mark.parametrize("kernel", [functools.partial(kernel_of_one), Doubled(), functools.partial(jit(kernel_of_one))])
def test_a_kernel_without_a_name_of_its_own_is_a_kernel(kernel):
    assert np.array_equal(simulate(kernel)(X), X)
