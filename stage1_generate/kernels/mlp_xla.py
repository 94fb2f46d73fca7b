"""Computes the gated MLP down(silu(x @ gate) * (x @ up)) for XLA."""

from __future__ import annotations

from typing import Any


def mlp(hidden: Any, gate: Any, up: Any, down: Any) -> Any:
    """Return `hidden` [b, s, h], `gate` and `up` [h, i], `down` [i, h] -> [b, s, h] in the dtype of `hidden`.

    Products are accumulated in float32; the gated activation is computed in float32 and rounded once.
    """
    import jax
    import jax.numpy as jnp

    def project(x: Any, weight: Any) -> Any:
        return jnp.matmul(x, weight, preferred_element_type=jnp.float32)

    intermediate = (jax.nn.silu(project(hidden, gate)) * project(hidden, up)).astype(hidden.dtype)
    return project(intermediate, down).astype(hidden.dtype)
