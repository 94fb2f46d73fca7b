"""Names element types under their canonical names, the ones that NKI and the NEFF use: their sizes and how fast the PE takes them."""

from __future__ import annotations

from types import MappingProxyType

SIZE_BYTES = MappingProxyType({
    "float32": 4,
    "tfloat32": 4,
    "bfloat16": 2,
    "float16": 2,
    "float8_e4m3": 1,
    "float8_e5m2": 1,
    "float8_e4m3fn": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "float8_e8m0fnu": 1,
    "float8_e4m3fn_x4": 4,
    "float8_e5m2_x4": 4,
    "float4_e2m1fn_x4": 2,
})  # fmt: skip
"""Bytes of one element. tfloat32 is kept in four bytes."""

SHORT = MappingProxyType({"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "tfloat32": "tf32"})
"""What tables print for some, and a shapes file may say."""
LONG = MappingProxyType({short: name for name, short in SHORT.items()})

PACKED = MappingProxyType({
    "float8_e4m3fn_x4": "float8_e4m3fn",
    "float8_e5m2_x4": "float8_e5m2",
    "float4_e2m1fn_x4": "float4_e2m1fn",
})  # fmt: skip
"""The types whose element holds four values, the first in its lowest bits, with the type of a value (AWS docs
nki/deep-dives/mxfp-matmul.rst, Data Tensor; its mx_cpu_utils.py has the order of the values)."""

VALUES = 4
"""Values of a packed element."""

RATE = MappingProxyType({
    "bfloat16": 1.0,
    "float16": 1.0,
    "tfloat32": 1.0,
    "float32": 0.25,  # four passes of the array; the guides say 23 of 92 and 20 of 79 TFLOPS
    "float8_e4m3": 2.0,  # two rows of a cell at once (perf_mode double_row)
    "float8_e4m3fn": 2.0,
    "float8_e5m2": 2.0,
    "float8_e4m3fn_x4": 4.0,  # four values of a scaled group at once (nc_matmul_mx)
    "float8_e5m2_x4": 4.0,
    "float4_e2m1fn_x4": 4.0,
})  # fmt: skip
"""Matmul rate of a dtype over that of bfloat16, on a chip that has the mode for it.

Sources: AWS docs nki/guides/architecture/{trainium2,trainium3}_arch.rst; nki.isa.nc_matmul: double_row on NeuronCore-v3 and v4.
"""
