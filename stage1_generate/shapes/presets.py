"""Names lists of shapes, each a case without its implementation, dtype, target and LNC: `{preset: llm, implementation: nki}`, `--preset llm`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Entry = dict[str, Any]

M_TILE, K_TILE, N_TILE = 128, 128, 512
"""Rows of the stationary operand, contraction and columns of the moving operand that one matmul instruction takes (AWS docs,
nki/api/nki.isa.nc_matmul)."""

LINEAR_PROJECTIONS = {
    "q_proj": (64, 960, 768),
    "k_proj": (64, 320, 768),
    "v_proj": (64, 320, 768),
    "o_proj": (64, 768, 960),
    "up_proj": (64, 3072, 768),
    "gate_proj": (64, 3072, 768),
    "down_proj": (64, 768, 3072),
}
"""The projections of a small llama block: sequence 64, embedding 768, 15 query and 5 key heads of 64, FFN 3072; (M, N, K)."""

VLLM_SEQUENCE_BUCKETS = (128, 256, 512, 1024, 2048)
"""Lengths to which vLLM's Neuron backend pads sequences by default."""


def _matmul(m: int, k: int, n: int) -> Entry:
    return {"kernel": "matmul", "M": m, "K": k, "N": n}


def quick() -> Iterator[Entry]:
    """Four small matmuls, the quick test of the document on matmul latency."""
    for m, k, n in ((64, 128, 128), (128, 128, 128), (128, 256, 256), (256, 512, 512)):
        yield _matmul(m, k, n)


def llm(hidden: int = 2048) -> Iterator[Entry]:
    """Projections and feed-forward layers (4 x hidden): prefill (M = tokens) and decode (M = batch)."""
    for tokens in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048):
        yield _matmul(tokens, hidden, hidden)
        yield _matmul(tokens, hidden, 4 * hidden)
        yield _matmul(tokens, 4 * hidden, hidden)


def tiling() -> Iterator[Entry]:
    """Vary each dimension alone, around the first four multiples of its tile; the others at one tile."""
    for offset in (-32, -16, 0, 16, 32):
        for count in (1, 2, 3, 4):
            yield _matmul(count * M_TILE + offset, K_TILE, N_TILE)
            yield _matmul(M_TILE, count * K_TILE + offset, N_TILE)
            yield _matmul(M_TILE, K_TILE, count * N_TILE + offset)


def sweep() -> Iterator[Entry]:
    """Powers of two from 64 to 1024 in all dimensions."""
    sizes = (64, 128, 256, 512, 1024)
    for m in sizes:
        for k in sizes:
            for n in sizes:
                yield _matmul(m, k, n)


def boundary() -> Iterator[Entry]:
    """Take one element below, at and above tile boundaries of each dimension."""
    for edge in (128, 256, 512, 1024):
        for size in (edge - 1, edge, edge + 1):
            yield _matmul(size, K_TILE, K_TILE)
            yield _matmul(K_TILE, size, K_TILE)
            yield _matmul(K_TILE, K_TILE, size)


def buckets(hidden: int = 1024) -> Iterator[Entry]:
    """Lengths among which buckets may be chosen: powers of two up to 128, then every 128 up to 2048."""
    for length in (1, 2, 4, 8, 16, 32, 64, *range(128, 2049, 128)):
        yield _matmul(length, hidden, hidden)


def linear_projection() -> Iterator[Entry]:
    """Yield the seven projections of a transformer block."""
    for m, n, k in LINEAR_PROJECTIONS.values():
        yield _matmul(m, k, n)


_MADE = (llm, tiling, sweep, boundary, buckets, linear_projection, quick)
_ALL: dict[str, Callable[[], Iterator[Entry]]] = {function.__name__: function for function in _MADE}
NAMES = tuple(_ALL)


def preset(name: str) -> list[Entry]:
    """Return the entries of a preset, each shape once, in order. Raises `KeyError` for a name that is not in `NAMES`."""
    unique = {tuple(entry.items()): entry for entry in _ALL[name]()}
    return list(unique.values())
