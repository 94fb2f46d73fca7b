"""Declares the output projection after attention: out = attention @ weight over n heads of size d; batch b, sequence s, hidden h.

nki-library has one kernel for prefill (CTE) and one for decode (TKG), with different layouts; up to 128 tokens, which is as
much as the second takes, a case is decode.
"""

from neff_bench.stage1_generate.kernel import Implementation, Kernel, Tensor

TKG_TOKENS = 128  # aws-neuron/nki-library, output_projection_tkg: "B * S must not exceed 128"
_CORE = "nkilib_src.nkilib.core.output_projection"


def _decode(d):
    return d.b * d.s <= TKG_TOKENS


def _inputs(d, dtype):
    shape = (d.d, d.b, d.n, d.s) if _decode(d) else (d.b, d.n, d.d, d.s)
    weight = Tensor("weight", (d.n * d.d, d.h), dtype, scale=(d.n * d.d) ** -0.5)
    return (Tensor("attention", shape, dtype), weight)


def _outputs(d, dtype):
    return (Tensor("out", (d.b * d.s, d.h) if _decode(d) else (d.b, d.s, d.h), dtype),)


def _reference(d, t):
    weight = t["weight"].reshape(d.n, d.d, d.h)
    if _decode(d):
        tokens = t["attention"].transpose(1, 3, 2, 0).reshape(d.b * d.s, d.n * d.d)
        return (tokens @ weight.reshape(d.n * d.d, d.h),)
    tokens = t["attention"].transpose(0, 3, 1, 2).reshape(d.b, d.s, d.n * d.d)
    return (tokens @ weight.reshape(d.n * d.d, d.h),)


def _refuses(d, lnc):
    if d.d > 128:
        return f"nki-library's output projection needs d to be at most 128 (d is {d.d})"
    if _decode(d) and d.h % (512 * lnc):
        return f"nki-library's output_projection_tkg needs h to be a multiple of {512 * lnc} at LNC {lnc} (h is {d.h})"
    if not _decode(d) and d.h % lnc:
        return f"nki-library's output_projection_cte needs h to be a multiple of the LNC {lnc} (h is {d.h})"
    return None


KERNEL = Kernel(
    name="output_projection",
    dims=("b", "s", "n", "d", "h"),
    inputs=_inputs,
    outputs=_outputs,
    reference=_reference,
    model_flops=lambda d: 2 * d.b * d.s * d.n * d.d * d.h,
    dtypes=("bfloat16", "float16"),
    implementations={
        "nkilib": Implementation(
            "nki",
            lambda d: f"{_CORE}.output_projection_tkg:output_projection_tkg"
            if _decode(d)
            else f"{_CORE}.output_projection_cte.output_projection_cte:output_projection_cte",
            needs=("nkilib",),
            path=lambda d: "TKG" if _decode(d) else "CTE",
            refuses=_refuses,
        ),
    },
)
