"""Declares the fused QKV projection: out[b, s, (n + 2 kv) d] = input[b, s, h] @ weights; n query heads, kv key heads of size d each."""

from neff_bench.stage1_generate.kernel import Implementation, Kernel, Tensor

CTE_TOKENS = 96  # SEQLEN_THRESHOLD_FOR_QKV_CTE of aws-neuron/nki-library, core/qkv/qkv.py


def _width(d):
    return (d.n + 2 * d.kv) * d.d


def _refuses(d, lnc):
    if d.h % 128 or d.h > 24576:
        return f"nki-library's qkv needs h to be a multiple of 128, at most 24576 (h is {d.h})"
    if _width(d) > 4096:
        return f"nki-library's qkv needs (n + 2 kv) d to be at most 4096 (it is {_width(d)})"
    return None


KERNEL = Kernel(
    name="qkv",
    dims=("b", "s", "h", "n", "kv", "d"),
    defaults={"kv": 1, "d": 128},
    dtypes=("bfloat16", "float16"),  # the library computes float32 in bfloat16
    inputs=lambda d, dtype: (
        Tensor("input", (d.b, d.s, d.h), dtype),
        Tensor("fused_qkv_weights", (d.h, _width(d)), dtype, scale=d.h**-0.5),
    ),
    outputs=lambda d, dtype: (Tensor("out", (d.b, d.s, _width(d)), dtype),),
    reference=lambda d, t: (t["input"] @ t["fused_qkv_weights"],),
    model_flops=lambda d: 2 * d.b * d.s * d.h * _width(d),
    implementations={
        "nkilib": Implementation(
            "nki",
            "nkilib_src.nkilib.core.qkv.qkv:qkv",
            needs=("nkilib",),
            path=lambda d: "CTE" if d.s > CTE_TOKENS else "TKG",
            refuses=_refuses,
        ),
    },
)
