import numpy as np
import pytest
import threadpoolctl

from neff_bench.simulator.machine.products import products

RNG = np.random.default_rng(61)


@pytest.mark.parametrize(("rows", "depth", "columns"), [(1, 4096, 2048), (128, 1024, 512), (127, 1000, 511), (3, 5, 7)])
def test_products_of_any_size_agree_with_numpy(rows, depth, columns):
    a, b = RNG.standard_normal((depth, rows), np.float32).T, RNG.standard_normal((depth, columns), np.float32)
    with products() as product:
        np.testing.assert_allclose(product(a, b), a @ b, rtol=1e-4, atol=1e-3)


def test_blas_threads_are_given_back():
    def threads():
        return [library["num_threads"] for library in threadpoolctl.threadpool_info()]

    before = threads()
    with products():
        assert set(threads()) <= {1}
    assert threads() == before
