"""Declares the kernel out[M, N] = lhs[M, K] @ rhs[K, N] with the tile sizes of the caller."""

from neff_bench.stage1_generate.kernel import Implementation, Kernel
from neff_bench.stage1_generate.kernels.matmul import KERNEL as MATMUL

MOST = {"tile_m": 128, "tile_k": 128, "tile_n": 512}
"""What one matmul instruction takes: stationary columns, contraction, moving columns (AWS docs, nki/api/nki.isa.nc_matmul)."""


def _too_large(d):
    for name, most in MOST.items():
        if getattr(d, name) > most:
            return f"{name} is {getattr(d, name)}; one matmul instruction takes at most {most}"
    return None


KERNEL = Kernel(
    name="tiled_matmul",
    dims=("M", "K", "N", "tile_m", "tile_k", "tile_n"),
    defaults={"tile_m": 64, "tile_k": 64, "tile_n": 64},
    check_dims=_too_large,
    dtypes=MATMUL.dtypes,
    tolerance=MATMUL.tolerance,
    inputs=MATMUL.inputs,
    outputs=MATMUL.outputs,
    reference=MATMUL.reference,
    model_flops=MATMUL.model_flops,
    implementations={
        "nki": Implementation(
            "nki",
            "neff_bench.stage1_generate.kernels.tiled_matmul_nki:tiled_matmul",
            arguments=lambda d: {name: getattr(d, name) for name in MOST},
        ),
    },
)
