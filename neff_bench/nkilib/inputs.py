"""Makes the inputs of nki-library's kernels whose values must fit each other, for the cases of its benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEAD_DIM = 128
"""The inputs of the attention_bwd of shapes.yaml."""
BLOCKS_OF_ROW = 80
"""The input of indexed_flatten: a row of 10,240 elements in blocks of 128."""


def row_offsets(shape: tuple[int, ...]) -> NDArray[np.int32]:
    """Return where each row of indexed_flatten begins, in blocks: rows with a gap between them, so that none overlaps another."""
    return np.arange(shape[0], dtype=np.int32) * (BLOCKS_OF_ROW + 5)


def tokens_of_blocks(shape: tuple[int, ...]) -> NDArray[np.int32]:
    """Return the tokens of the blocks of moe_cte: each token twice, for two experts, and in no block twice."""
    return np.tile(np.random.default_rng(0).permutation(shape[0] // 2).astype(np.int32), 2)


def attention_input(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return queries, keys and values of attention_bwd, [1, 1, d, s]: small, so that no key has all the weight."""
    drawn: NDArray[np.float32] = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    drawn *= np.float32(0.2)
    return drawn


def attention_output(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return what the forward pass makes of `attention_input` as queries, keys and values, causal and without a scale: [1, 1, d, s]."""
    weights, _ = _attention(shape)
    made: NDArray[np.float32] = (_rounded(shape) @ weights.T).reshape(shape)
    return made


def attention_lse(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return the logarithm of the sum of the scores of each query, [1, 1, 128, s // 128]: query 128 t + p lies at [p, t]."""
    _, lse = _attention((1, 1, HEAD_DIM, shape[2] * shape[3]))
    placed: NDArray[np.float32] = lse.reshape(shape[3], shape[2]).T.reshape(shape)
    return placed


def _rounded(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return the inputs as the kernel gets them."""
    import ml_dtypes

    rounded: NDArray[np.float32] = attention_input(shape)[0, 0].astype(ml_dtypes.bfloat16).astype(np.float32)
    return rounded


def _attention(shape: tuple[int, ...]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    values = _rounded(shape)
    scores: NDArray[np.float32] = values.T @ values
    scores[np.triu_indices(shape[3], 1)] = -np.inf
    lse: NDArray[np.float32] = np.log(np.exp(scores - scores.max(axis=1, keepdims=True)).sum(axis=1)) + scores.max(
        axis=1
    )
    return np.exp(scores - lse[:, np.newaxis]), lse
