"""Gives nki-library's rmsnorm_quant_kernel with its arguments object filled in."""

import nki
from nkilib_src.nkilib.core.rmsnorm.rmsnorm_quant import RmsNormQuantKernelArgs, rmsnorm_quant_kernel
from nkilib_src.nkilib.core.utils.common_types import NormType, QuantizationType


@nki.jit
def rmsnorm_quant(hidden, ln_w, input_dequant_scale):
    """Normalise and quantise: hidden [b, s, h], ln_w [h], input_dequant_scale [128, 1] float32 -> [b, s, h] float8_e4m3."""
    kargs = RmsNormQuantKernelArgs(
        lower_bound=0.0, norm_type=NormType.RMS_NORM, quantization_type=QuantizationType.STATIC, eps=1e-6
    )
    return rmsnorm_quant_kernel(hidden=hidden, ln_w=ln_w, kargs=kargs, input_dequant_scale=input_dequant_scale)
