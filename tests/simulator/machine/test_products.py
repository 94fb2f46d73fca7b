import threading

import numpy as np
import pytest
import threadpoolctl

from neff_bench.simulator.machine import products as module
from neff_bench.simulator.machine.products import products

RNG = np.random.default_rng(61)


@pytest.mark.parametrize(("rows", "depth", "columns"), [(1, 4096, 2048), (128, 1024, 512), (127, 1000, 511), (3, 5, 7)])
@pytest.mark.parametrize("alone", [0, 1 << 34])
def test_products_of_any_size_agree_with_numpy(rows, depth, columns, alone, monkeypatch):
    a, b = RNG.standard_normal((depth, rows), np.float32).T, RNG.standard_normal((depth, columns), np.float32)
    monkeypatch.setattr(module, "_ALONE", alone)
    with products() as product:
        np.testing.assert_allclose(product(a, b), a @ b, rtol=1e-4, atol=1e-3)


def test_blas_threads_are_given_back():
    def threads():
        return [library["num_threads"] for library in threadpoolctl.threadpool_info()]

    before = threads()
    with products():
        assert set(threads()) <= {1}
    assert threads() == before


def test_threads_help_with_long_programs_only(monkeypatch):
    threads = set()
    matmul = np.matmul
    monkeypatch.setattr(np, "matmul", lambda *given: threads.add(threading.get_ident()) or matmul(*given))
    monkeypatch.setattr(module, "_cpus", lambda: 2)
    a = RNG.standard_normal((256, 256), np.float32)
    for alone, count in ((1 << 26, 0), (1 << 20, 2)):
        monkeypatch.setattr(module, "_ALONE", alone)
        with products() as product:
            product(a, a)
        assert len(threads) == count
