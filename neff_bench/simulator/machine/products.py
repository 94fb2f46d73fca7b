"""Computes float32 matrix products on all cores of the host.

BLAS is held to one thread, and large products are split here: its own threads wait for each other in a loop, which makes products of middling size
ten times slower on a busy machine.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

_SPLIT_ABOVE = 1 << 22
"""Multiply-adds of a product that is worth handing over (about 50 us on one core)."""

_ALONE = 1 << 34
"""Multiply-adds of a program that the caller does by itself (about 0.4 s): threads save time, and cost a fifth more CPU."""


Product = Callable[[np.ndarray, np.ndarray], Any]


@contextlib.contextmanager
def products() -> Iterator[Product]:
    """Yield a function for a @ b of two float32 matrices; use it inside the context only."""
    workers = _cpus()
    with blas().limit(limits=1):
        if workers == 1:
            yield np.matmul
            return
        with ThreadPoolExecutor(workers - 1) as pool:
            yield _Split(pool, workers)


@cache
def blas() -> Any:
    """Return what sets the threads of numpy's BLAS. To find it takes longer than a small program does."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


class _Split:
    """Each worker computes a band of rows; the caller is one of them."""

    def __init__(self, pool: ThreadPoolExecutor, workers: int) -> None:
        self._pool, self._workers, self._done = pool, workers, 0

    def __call__(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        rows, depth = a.shape
        work = rows * depth * b.shape[1]
        self._done += work
        if work <= _SPLIT_ABOVE or rows < self._workers or self._done <= _ALONE:
            return np.asarray(a @ b)
        out = np.empty((rows, b.shape[1]), np.float32)
        edges = [rows * worker // self._workers for worker in range(self._workers + 1)]
        bands = [slice(start, stop) for start, stop in itertools.pairwise(edges)]
        others = [self._pool.submit(np.matmul, a[band], b, out[band]) for band in bands[1:]]
        np.matmul(a[bands[0]], b, out[bands[0]])
        for other in others:
            other.result()
        return out


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
