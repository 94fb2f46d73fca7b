"""Declares causal attention for prefill: out = softmax(q k / sqrt(d)) v; b queries (batch x heads), kv keys, sequence s, head size d."""

from neff_bench.stage1_generate.kernel import Implementation, Kernel, Tensor


def _reference(d, t):
    import numpy as np

    out = np.empty((d.b, d.s, d.d), dtype=np.float32)
    hidden = np.triu(np.ones((d.s, d.s), dtype=bool), 1)
    for query in range(d.b):  # one head at a time: the scores of all heads together may not fit in memory
        key = query // (d.b // d.kv)
        score = t["q"][query] @ t["k"][key] * np.float32(d.d**-0.5)
        score[hidden] = -np.inf
        score -= score.max(axis=-1, keepdims=True)
        np.exp(score, out=score)
        out[query] = score @ t["v"][key] / score.sum(axis=-1, keepdims=True)
    return (out,)


def _check(d):
    return f"b must be a multiple of kv, found b {d.b} and kv {d.kv}" if d.b % d.kv else None


KERNEL = Kernel(
    name="attention_cte",
    dims=("b", "kv", "s", "d"),
    defaults={"d": 128},
    check_dims=_check,
    dtypes=("bfloat16", "float16"),
    inputs=lambda d, dtype: (
        Tensor("q", (d.b, d.s, d.d), dtype),
        Tensor("k", (d.kv, d.d, d.s), dtype),
        Tensor("v", (d.kv, d.s, d.d), dtype),
    ),
    outputs=lambda d, dtype: (Tensor("out", (d.b, d.s, d.d), dtype),),
    reference=_reference,
    # Two products over the lower triangle, diagonal included.
    model_flops=lambda d: 2 * d.b * d.d * d.s * (d.s + 1),
    tolerance={"bfloat16": (2e-2, 1e-2), "float16": (5e-3, 2e-3)},
    implementations={
        "nkilib": Implementation(
            "nki",
            "nkilib_src.nkilib.core.attention.attention_cte:attention_cte",
            arguments=lambda d: {"scale": d.d**-0.5, "causal_mask": True, "tp_q": True, "tp_k": False, "tp_out": False},
            needs=("nkilib",),
            path=lambda d: "CTE",
        ),
    },
)
