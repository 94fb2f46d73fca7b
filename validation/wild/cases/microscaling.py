"""AWS's MX kernels of trn3, which nki-samples and the SDK documentation both hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from validation.wild.cases.case import Case, floats

Make = Callable[..., Case]

_FOUR = {"float8_e5m2": np.uint32, "float8_e4m3fn": np.uint32, "float4_e2m1fn": np.uint8}
"""How the host holds what the chip packs four of: as words of four, as bytes of two."""


def _quantized(random: np.random.Generator, dtype: str, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """128 x `columns` groups of four, packed, and their scales: the exponents, biased by 127, of 8 x 1 groups."""
    values = floats(random, 128, columns * 4).astype(getattr(ml_dtypes, dtype))
    packed = values.view(np.uint8)
    if dtype == "float4_e2m1fn":
        packed = packed[:, ::2] & 15 | packed[:, 1::2] << 4
    return packed.view(_FOUR[dtype]), random.integers(125, 130, (16, columns)).astype(np.uint8)


def _values(packed: np.ndarray, scales: np.ndarray, dtype: str) -> np.ndarray:
    """[512, columns]: each partition's four elements are four rows of the contraction."""
    if dtype == "float4_e2m1fn":
        packed = np.stack([packed & 15, packed >> 4], -1).reshape(len(packed), -1)
    values = packed.view(getattr(ml_dtypes, dtype)).astype(np.float32).reshape(128, -1, 4)
    values = values * np.exp2(scales.astype(np.float32) - 127).repeat(8, 0)[..., None]
    return values.transpose(0, 2, 1).reshape(512, -1)


def _offline(case: Make, dtype: str) -> Case:
    def arguments(random: np.random.Generator) -> dict[str, Any]:
        given: dict[str, Any] = {"mx_dtype": f"{dtype}_x4"}
        for name, columns in (("stationary", 128), ("moving", 512)):
            given[f"{name}_mx_data"], given[f"{name}_mx_scale"] = _quantized(random, dtype, columns)
        return given

    return case(
        kernel="kernel_offline_quantized_mx_matmul",
        arguments=arguments,
        reference=lambda stationary_mx_data, stationary_mx_scale, moving_mx_data, moving_mx_scale, **_: (
            _values(stationary_mx_data, stationary_mx_scale, dtype).T @ _values(moving_mx_data, moving_mx_scale, dtype)
        ),
        label=f", {dtype}",
    )


def _on_device(case: Make, dtype: str) -> Case:
    """Return the case whose moving tensor is of powers of two, which float8 holds as they are."""

    def arguments(random: np.random.Generator) -> dict[str, Any]:
        data, scales = _quantized(random, dtype, 128)
        moving = np.exp2(random.integers(-3, 4, (128, 2048))).astype(ml_dtypes.bfloat16)
        names = {"stationary_mx_dtype": f"{dtype}_x4", "moving_mx_dtype": "float8_e5m2_x4"}
        return {"stationary_mx_data": data, "stationary_mx_scale": scales, "moving_data_bf16": moving, **names}

    def reference(stationary_mx_data: Any, stationary_mx_scale: Any, moving_data_bf16: Any, **_: Any) -> np.ndarray:
        moving = moving_data_bf16.astype(np.float32).reshape(128, 512, 4).transpose(0, 2, 1).reshape(512, 512)
        return _values(stationary_mx_data, stationary_mx_scale, dtype).T @ moving

    return case(
        kernel="kernel_on_device_quantize_matmul_mx", arguments=arguments, reference=reference, label=f", {dtype}"
    )


def _strided(case: Make, copies: bool, packed_scale: bool = False) -> Case:
    def arguments(random: np.random.Generator) -> dict[str, Any]:
        sizes = {"stationary_hbm": 128, "moving_hbm": 512}
        given = {
            key: np.exp2(random.integers(-3, 4, (512, size))).astype(ml_dtypes.bfloat16) for key, size in sizes.items()
        }
        return {**given, "mx_dtype": "float8_e5m2_x4", "use_tensor_copy": copies}

    return case(
        kernel="kernel_copy_strided_quantize_matmul_mx" + ("_packed_scale" if packed_scale else ""),
        arguments=arguments,
        reference=lambda stationary_hbm, moving_hbm, **_: (
            stationary_hbm.astype(np.float32).T @ moving_hbm.astype(np.float32)
        ),
        label=", copies" if copies else ", DMA",
    )


def cases(case: Make, packed_scale: bool = False) -> tuple[Case, ...]:
    """Return the cases of a file. `case`: makes a case of the file. `packed_scale`: whether the file has the kernel with both tensors' scales in one tile."""
    make = partial(case, target="trn3", tolerance=2e-2)
    return (
        *(_offline(make, dtype) for dtype in ("float8_e5m2", "float4_e2m1fn", "float8_e4m3fn")),
        *(_on_device(make, dtype) for dtype in ("float8_e5m2", "float4_e2m1fn", "float8_e4m3fn")),
        *(_strided(make, copies) for copies in (True, False)),
        *((_strided(make, True, True),) if packed_scale else ()),
    )
