"""Declares a gated MLP: out = (silu(hidden @ gate_w) * (hidden @ up_w)) @ down_w, with batch b, sequence s, hidden h, intermediate i."""

from neff_bench.stage1_generate.kernel import Implementation, Kernel, Tensor

TKG_TOKENS = 96  # TKG_BS_SEQLEN_THRESHOLD of aws-neuron/nki-library, core/mlp/mlp_parameters.py


def _inputs(d, dtype):
    return (
        Tensor("hidden", (d.b, d.s, d.h), dtype),
        Tensor("gate_w", (d.h, d.i), dtype, scale=d.h**-0.5),
        Tensor("up_w", (d.h, d.i), dtype, scale=d.h**-0.5),
        Tensor("down_w", (d.i, d.h), dtype, scale=d.i**-0.5),
    )


def _isa_inputs(d, dtype):
    """Return the inputs of the closed kernel: it always takes a norm weight, here ones, since the norm is off."""
    hidden, *weights = _inputs(d, dtype)
    return (hidden, Tensor("ln_w", (1, d.h), dtype, values="constant"), *weights)


def _reference(d, t):
    import numpy as np

    hidden = t["hidden"].reshape(d.b * d.s, d.h)
    gate = hidden @ t["gate_w"]
    inner = gate / (1 + np.exp(-gate)) * (hidden @ t["up_w"])
    return ((inner @ t["down_w"]).reshape(d.b, d.s, d.h),)


def _nkilib_refuses(d, lnc):
    if d.h % 128:
        return f"nki-library's mlp needs h to be a multiple of 128 (h is {d.h})"
    return None


KERNEL = Kernel(
    name="mlp",
    dims=("b", "s", "h", "i"),
    inputs=_inputs,
    outputs=lambda d, dtype: (Tensor("out", (d.b, d.s, d.h), dtype),),
    reference=_reference,
    model_flops=lambda d: 6 * d.b * d.s * d.h * d.i,
    implementations={
        "nkilib": Implementation(
            "nki",
            "nkilib_src.nkilib.core.mlp.mlp:mlp",
            parameters=(
                "hidden_tensor",
                "gate_proj_weights_tensor",
                "up_proj_weights_tensor",
                "down_proj_weights_tensor",
            ),
            needs=("nkilib",),
            path=lambda d: "TKG" if d.b * d.s <= TKG_TOKENS else "CTE",
            refuses=_nkilib_refuses,
        ),
        "nki": Implementation("nki", "neff_bench.stage1_generate.kernels.mlp_nki:mlp"),
        "xla": Implementation("xla", "neff_bench.stage1_generate.kernels.mlp_xla:mlp"),
        "neuronxcc": Implementation(
            "isa",
            "neuronxcc.nki._private_kernels.mlp:mlp_isa_kernel",
            arguments=lambda d: {"fused_rmsnorm": False, "eps": 1e-6, "kernel_name": "MLP"},
            needs=("neuronxcc",),
            inputs=_isa_inputs,
        ),
    },
)
