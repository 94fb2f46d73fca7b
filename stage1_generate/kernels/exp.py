"""Declares the kernel out[M, N] = exp(x[M, N])."""

from neff_bench.stage1_generate.kernel import Implementation, Kernel, Tensor


def _reference(d, t):
    import numpy as np

    return (np.exp(t["x"]),)


KERNEL = Kernel(
    name="exp",
    dims=("M", "N"),
    inputs=lambda d, dtype: (Tensor("x", (d.M, d.N), dtype),),
    outputs=lambda d, dtype: (Tensor("out", (d.M, d.N), dtype),),
    reference=_reference,
    model_flops=lambda d: 0,
    implementations={"nki": Implementation("nki", "neff_bench.stage1_generate.kernels.exp_nki:exp")},
)
