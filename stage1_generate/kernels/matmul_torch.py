"""Computes a matmul for torch_neuronx.trace."""


def matmul(lhs, rhs):
    """Compute out[M, N] = lhs[M, K] @ rhs[K, N]."""
    return lhs @ rhs
