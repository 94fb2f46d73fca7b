"""Computes a gated MLP for torch_neuronx.trace."""


def mlp(hidden, gate_w, up_w, down_w):
    """Compute an MLP: hidden [b, s, h], gate_w and up_w [h, i], down_w [i, h] -> [b, s, h]."""
    gate = hidden @ gate_w
    return (gate * gate.sigmoid() * (hidden @ up_w)) @ down_w
