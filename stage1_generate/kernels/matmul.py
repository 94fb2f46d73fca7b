"""Declares the kernel out[M, N] = lhs[M, K] @ rhs[K, N]."""

from neff_bench.stage1_generate.kernel import FLOATS, FP8_TOLERANCES, TOLERANCES, Implementation, Kernel, Tensor

KERNEL = Kernel(
    name="matmul",
    dims=("M", "K", "N"),
    dtypes=(*FLOATS, "float8_e4m3", "float8_e5m2"),
    tolerance={**TOLERANCES, **FP8_TOLERANCES},  # the output has the dtype of the inputs
    inputs=lambda d, dtype: (
        Tensor("lhs", (d.M, d.K), dtype),
        Tensor("rhs", (d.K, d.N), dtype, scale=d.K**-0.5),
    ),
    outputs=lambda d, dtype: (Tensor("out", (d.M, d.N), dtype),),
    reference=lambda d, t: (t["lhs"] @ t["rhs"],),
    model_flops=lambda d: 2 * d.M * d.K * d.N,
    implementations={
        "nki": Implementation("nki", "neff_bench.stage1_generate.kernels.matmul_nki:matmul"),
        "xla": Implementation("xla", "neff_bench.stage1_generate.kernels.matmul_xla:matmul"),
    },
)
