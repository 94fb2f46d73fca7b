"""Declares RMS norm and static quantisation to FP8: out = clip(x / rms(x) * gamma / scale, +-240); batch b, sequence s, hidden h."""

from neff_bench.stage1_generate.kernel import Implementation, Kernel, Tensor

EPS = 1e-6
RANGE = 240.0  # largest float8_e4m3 of the hardware (quant_data_type_range in aws-neuron/nki-library, rmsnorm_quant_constants)
SCALE = 6.0 / RANGE  # dequantisation scale: six standard deviations of a normalised value fill the range


def _reference(d, t):
    import numpy as np

    hidden = t["hidden"]
    normal = hidden / np.sqrt((hidden * hidden).mean(axis=-1, keepdims=True) + EPS) * t["ln_w"]
    return (np.clip(normal / t["input_dequant_scale"][0, 0], -RANGE, RANGE),)


KERNEL = Kernel(
    name="rmsnorm_quant",
    dims=("b", "s", "h"),
    dtypes=("bfloat16", "float16"),
    inputs=lambda d, dtype: (
        Tensor("hidden", (d.b, d.s, d.h), dtype),
        Tensor("ln_w", (d.h,), dtype, values="constant"),
        Tensor("input_dequant_scale", (128, 1), "float32", values="constant", scale=SCALE),
    ),
    outputs=lambda d, dtype: (Tensor("out", (d.b, d.s, d.h), "float8_e4m3"),),
    reference=_reference,
    model_flops=lambda d: 0,
    # One step of float8_e4m3 is an eighth of the value; intermediates are bfloat16.
    tolerance={"bfloat16": (0.13, 0.5), "float16": (0.13, 0.5)},
    implementations={
        "nkilib": Implementation(
            "nki", "neff_bench.stage1_generate.kernels.rmsnorm_quant_nkilib:rmsnorm_quant", needs=("nkilib",)
        ),
    },
)
