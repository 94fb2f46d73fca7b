"""Computes C[M, N] = A[M, K] @ B[K, N] for XLA."""

from __future__ import annotations

from typing import Any


def matmul(lhs: Any, rhs: Any) -> Any:
    """Return `lhs` [M, K], `rhs` [K, N] -> [M, N] in the dtype of `lhs`, accumulated in float32."""
    import jax.numpy as jnp

    return jnp.matmul(lhs, rhs, preferred_element_type=jnp.float32).astype(lhs.dtype)
