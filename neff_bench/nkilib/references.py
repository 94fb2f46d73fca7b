"""Says what kernels of nki-library's benchmarks compute, in numpy, where a release of the library has no reference of its own in its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def rope_hf(q: Array, k: Array, cos: Array, sin: Array, **_: Array) -> tuple[Array, Array]:
    """Rotate queries and keys [b, heads, s, d], whose halves along d are the two coordinates. `cos`, `sin`: [b, s, d]."""

    def turned(x: Array) -> Array:
        first, second = np.split(x, 2, axis=-1)
        made: Array = x * cos[:, np.newaxis] + np.concatenate([-second, first], axis=-1) * sin[:, np.newaxis]
        return made

    return turned(q), turned(k)


def find_nonzero_indices(input_tensor: Array) -> tuple[Array, Array]:
    """Return for each column of [t, c] the rows that are not zero, then -1, and how many there are."""
    indices = np.full(input_tensor.shape[::-1], -1, np.int32)
    for row, column in zip(indices, input_tensor.T):
        found = np.flatnonzero(column)
        row[: found.size] = found
    return indices, np.count_nonzero(input_tensor, axis=0).astype(np.int32)


def find_nonzero_indices_with_count(input_tensor: Array) -> Array:
    """Return the columns of [1, t] that are not zero, then -1, and last how many there are."""
    indices, counts = find_nonzero_indices(input_tensor.T)
    return np.concatenate([indices, counts[:, np.newaxis]], axis=1)


def depthwise_conv1d(img_ref: Array, filter_ref: Array) -> Array:
    """Convolve each channel of [n, c, 1, w] with its own filter of [c, 1, 1, s]."""
    windows = np.lib.stride_tricks.sliding_window_view(img_ref, filter_ref.shape[-1], axis=-1)
    made: Array = np.einsum("nchqs,chs->nchq", windows, filter_ref[:, 0])
    return made


def cross_entropy_backward(logits_hbm: Array, targets_hbm: Array, lse_state_hbm: Array) -> Array:
    """Return the gradient of the mean loss. `lse_state_hbm`: the logarithm of the sum of the exponentials of each row, as the kernel is given it."""
    gradient: Array = np.exp(logits_hbm - lse_state_hbm[:, np.newaxis])
    gradient[np.arange(len(targets_hbm)), targets_hbm] -= 1
    return gradient / len(targets_hbm)


def moe_cte(
    hidden_states: Array,
    expert_affinities_masked: Array,
    gate_up_proj_weight: Array,
    down_proj_weight: Array,
    token_position_to_id: Array,
    block_to_expert: Array,
) -> Array:
    """Send each block of tokens through its expert and sum what a token gets, weighted by its affinity to the expert."""
    affinities = expert_affinities_masked.reshape(len(hidden_states), -1)
    made = np.zeros_like(hidden_states)
    for tokens, expert in zip(np.split(token_position_to_id, len(block_to_expert)), block_to_expert[:, 0]):
        gate, up = np.einsum("th,hki->kti", hidden_states[tokens], gate_up_proj_weight[expert], optimize=True)
        hidden = gate / (1 + np.exp(-gate)) * up
        made[tokens] += hidden @ down_proj_weight[expert] * affinities[tokens, expert, np.newaxis]
    return made
