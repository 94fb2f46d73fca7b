"""zhang677/AccelOpt: NKIBench, with the shapes and references of its own files."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from validation.wild.cases.case import Case

_KERNELS = {
    "adamw_M10944_N2048": 1,
    "add_rmsnorm_matmul_M4096_N2048_K1024": 1,
    "bmm_B16_M4096_K64_N4096": 1,
    "bmm_softmax_B16_K64_M4096_N4096": 1,
    "gqa_full_B1_N4096_QH16_KH8_D128": 2,
    "lora_M4096_N12288_K5120_R128": 1,
    "mamba_M7168_C256_S16": 1,
    "matmul_M4096_N12288_K5120": 2,
    "matmul_add_rmsnorm_M4096_N2048_K2048": 1,
    "rmsnorm_matmul_M4096_N2048_K1024": 1,
    "rope_single_freq_apply_B1_H64_N4096_D128": 1,
    "silu_M4096_N7168": 0,
    "swiglu_M4096_N3072_K1024": 2,
    "transpose_matmul_M4096_K2048_N10944": 1,
}


def reference_module(checkout: Path, kernel_path: str) -> Any:
    """Return the benchmark's own file of inputs and reference for one of its kernels."""
    stem = Path(kernel_path).stem.rpartition("_")[0]
    path = checkout / f"NKIBench/reference/{stem}_numpy_{_KERNELS[stem]}.py"
    spec = importlib.util.spec_from_file_location(f"reference_{stem}", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _given_by_the_module(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("inputs and reference are in the checkout")


CASES = tuple(
    Case(
        "zhang677/AccelOpt",
        "47e29a7",
        f"NKIBench/kernels/{name}_0.py",
        "kernel",
        _given_by_the_module,
        _given_by_the_module,
        target="trn1",
        module_reference=True,
    )
    for name in _KERNELS
)
