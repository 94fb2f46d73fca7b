"""Declares attention for decode: s new tokens over a cache of p positions, the last s of which are the new ones; batch b, n query
heads on one key head of size d. Every new token attends to all p positions. Queries come scaled by 1 / sqrt(d)."""

from neff_bench.stage1_generate.kernel import Implementation, Kernel, Tensor


def _inputs(d, dtype):
    return (
        Tensor("q", (d.d, d.b * d.n * d.s), dtype, scale=d.d**-0.5),
        Tensor("k_active", (d.d, d.b * d.s), dtype),
        Tensor("v_active", (d.b, 1, d.s, d.d), dtype),
        Tensor("k_prior", (d.b, 1, d.d, d.p), dtype),
        Tensor("v_prior", (d.b, 1, d.p, d.d), dtype),
        Tensor("mask", (d.p, d.b, d.n, d.s), "uint8", values="constant"),
    )


def _reference(d, t):
    import numpy as np

    keys, values = t["k_prior"][:, 0].copy(), t["v_prior"][:, 0].copy()  # [b, d, p], [b, p, d]
    keys[:, :, -d.s :] = t["k_active"].reshape(d.d, d.b, d.s).transpose(1, 0, 2)
    values[:, -d.s :] = t["v_active"][:, 0]
    score = np.einsum("dbns,bdp->bnsp", t["q"].reshape(d.d, d.b, d.n, d.s), keys)
    score = np.exp(score - score.max(axis=-1, keepdims=True))
    score /= score.sum(axis=-1, keepdims=True)
    return (np.einsum("bnsp,bpd->bnds", score, values),)


def _check(d):
    return f"p must be more than s, found p {d.p} and s {d.s}" if d.p <= d.s else None


KERNEL = Kernel(
    name="attention_tkg",
    dims=("b", "n", "s", "p", "d"),
    defaults={"s": 1, "d": 128},
    check_dims=_check,
    dtypes=("bfloat16", "float16"),
    inputs=_inputs,
    outputs=lambda d, dtype: (Tensor("out", (d.b, d.n, d.d, d.s), dtype),),
    reference=_reference,
    model_flops=lambda d: 4 * d.b * d.n * d.s * d.p * d.d,
    tolerance={"bfloat16": (2e-2, 4e-3), "float16": (5e-3, 1e-3)},
    implementations={
        "nkilib": Implementation(
            "nki",
            "neff_bench.stage1_generate.kernels.attention_tkg_nkilib:attention",
            needs=("nkilib",),
            path=lambda d: "TKG",
        ),
    },
)
