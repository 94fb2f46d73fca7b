"""Kernels of KevGomes1403/nki-moe-megakernel on trn2 and trn3, current dialect: attention and mixtures of experts, in their versions. Studied rows.

Figures are `total_time` of the profiler, from a trace where the repository has one, else from its logs and from a plot of them, whose labels are
whole microseconds. The runtime has LNC 2; a kernel that is launched without a grid has all its work on one core. Inputs are those of the
repository's benchmark scripts: one token (640 for the attention of the context), 2048 wide; attention has 8 heads of 128 over 640 positions,
the experts are 8 of 128.
A plot holds more versions of the fused mixture of experts; those launch another graph, which slices padded weights first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec
from neff_bench.simulator.program import Program
from validation.correlation import norms
from validation.correlation.measured import Measured
from validation.correlation.origin import data, placed, silenced, traced
from validation.idle import beside_idle_core
from validation.wild.loading import replace_host_packages

SOURCE = "KevGomes1403/nki-moe-megakernel"
_FIRST, _SECOND, _LAST = "f1fe87a", "6df2105", "90c3c94"
_ATTENTION = "kernels/attn_tkg/"
_LOG = f"{_ATTENTION}OPTIMIZATION_LOG.md"
_PROFILING = f"{_ATTENTION}PROFILING.md"
_PLOT = f"{_ATTENTION}agents/results/plots/runtime_by_version.png"
_EXPERTS = "kernels/moe_fused_tkg/moe_fused_optimization_log.md"
_QUANTIZED = "kernels/moe_fused_tkg/quantized/"
_SPARSE = "kernels/moe_tkg/agents/PROFILING.md"
_CONTEXT = "kernels/attn_cte/"


_DTYPES = {
    "position_ids": "int32", "expert_indices": "int32", "routing_weights_k": "float32",
    "gate_up_scales": "float32", "down_scales": "float32",
}  # fmt: skip


def _inputs(**shapes: tuple[int, ...]) -> tuple[InputSpec, ...]:
    """bfloat16, but for what counts and scales, and for weights beside scales."""
    dtypes = _DTYPES | (dict.fromkeys(("gate_up_w", "down_w"), "int8") if "down_scales" in shapes else {})
    return tuple(InputSpec(name, shape, dtypes.get(name, "bfloat16")) for name, shape in shapes.items())


def _attention(heads: int, wo: tuple[int, ...] | None) -> tuple[InputSpec, ...]:
    """heads: of keys and values. wo: the shape of the output projection, where there is one."""
    projected = {} if wo is None else {"Wo": wo}
    keys, caches = (128 * heads, 2048), (1, heads, 640, 128)
    return _inputs(
        hidden_states=(1, 1, 2048), Wq=(1024, 2048), Wk=keys, Wv=keys, **projected, q_norm_weight=(128,), k_norm_weight=(128,),
        K_cache=caches, V_cache=caches, cos=(1, 128), sin=(1, 128), position_ids=(1, 1),
    )  # fmt: skip


def _quantized(scales: int) -> tuple[InputSpec, ...]:
    """Weights of eight bits, read as float8, and how many columns of the output have scales."""
    weights = {
        "gate_up_w": (128, 2048, 384),
        "gate_up_scales": (128, 384),
        "down_w": (128, 192, 2048),
        "down_scales": (128, scales),
    }
    return _inputs(inp=(1, 1, 2048), gamma=(1, 2048), router_w=(2048, 128), **weights)


def _context(transposed: bool, norm: tuple[int, ...]) -> tuple[InputSpec, ...]:
    """transposed: whether the weights of the projections come so. norm: the shape of a norm's weights."""
    wide = {"Wq": (1024, 2048), "Wk": (512, 2048), "Wv": (512, 2048)}
    projections = {name: shape[::-1] if transposed else shape for name, shape in wide.items()}
    tables = {"q_norm_weight": norm, "k_norm_weight": norm, "cos": (640, 128), "sin": (640, 128)}
    return _inputs(hidden_states=(1, 640, 2048), **projections, **tables)


INPUTS: Mapping[str, tuple[InputSpec, ...]] = {
    "attention_tkg 4 heads of keys": _attention(4, None),
    "attention_tkg": _attention(1, (1024, 2048)),
    "attention_tkg Wo not transposed": _attention(1, (2048, 1024)),
    "moe_fused_tkg": _inputs(
        inp=(1, 1, 2048), gamma=(1, 2048), router_w=(2048, 128), gate_up_w=(128, 2048, 384), down_w=(128, 192, 2048)
    ),
    "moe_tkg": _inputs(
        hidden_states=(1, 2048), gate_up_weights=(128, 2048, 512), down_weights=(128, 256, 2048),
        expert_indices=(1, 8), routing_weights_k=(1, 8),
    ),
    "moe_fused_tkg_fp8 of 512": _quantized(512),
    "moe_fused_tkg_fp8": _quantized(2048),
    "context_attention": _context(False, (128,)),
    "context_attention transposed": _context(True, (128,)),
    "context_attention columns": _context(True, (128, 1)),
}  # fmt: skip
"""Of each task."""


class Version(NamedTuple):
    """us: None where the trace at `where` says it. path: without `.py`."""

    commit: str
    task: str
    path: str
    us: float | None
    where: str
    lnc: int = 1
    target: str = "trn2"


def _of(
    commit: str,
    task: str,
    folder: str,
    where: str,
    figures: Mapping[str, float | None],
    lnc: int = 1,
    target: str = "trn2",
) -> tuple[Version, ...]:
    return tuple(Version(commit, task, folder + name, us, where, lnc, target) for name, us in figures.items())


def _traced(task: str, folder: str, files: Mapping[str, str]) -> tuple[Version, ...]:
    return tuple(Version(_FIRST, task, folder + name, None, f"{folder}{trace}.ntff") for name, trace in files.items())


VERSIONS: tuple[Version, ...] = (
    *_of(_FIRST, "attention_tkg 4 heads of keys", f"{_ATTENTION}agents/", _PROFILING, {
        "v0_attn_tkg_fused": 531.79, "v1_direct_layout": 459.11, "v3_reduce_replace": 797.27,
    }),
    *_traced("attention_tkg 4 heads of keys", f"{_ATTENTION}agents/", {
        "v2_kv_dedup": "profile_v2_new_exec_2", "v4_merged_layout_dedup": "profile_attn_v4_new_exec_2",
        "v5_freedim_packing": "profile_attn_v5_new_exec_2", "v6_ultimate": "profile_attn_v6_exec_2",
    }),
    *_of(_SECOND, "attention_tkg Wo not transposed", f"{_ATTENTION}agents/", _PLOT, {"v6_ultimate": 1831, "v7_combined": 1831}),
    *_of(_SECOND, "attention_tkg", f"{_ATTENTION}agents/", _PLOT, {
        "v8_wo_transposed": 134, "v9_broadcasts": 126, "v9_optimized": 127, "v9_tp_broadcast": 128, "v10a": 59, "v10b": 59,
        "v10d": 63, "v10e": 64, "v11a": 71, "v11b": 64, "v12a": 66, "v12b": 63, "v12c": 67, "v12d": 64,
    }),
    *_of(_SECOND, "attention_tkg", f"{_ATTENTION}agents/", _PLOT, {"v14_planD": 71, "v14_planE": 70}, lnc=2),
    *_of(_SECOND, "attention_tkg", f"{_ATTENTION}agents/", _LOG, {
        "v12e": 65.33, "v13_planA": 64.01, "v13_planB": 61.43, "v13_planC": 64.15, "v13_BC": 59.47, "v14_planG": 67.69,
        "v14_planH": 61.43, "v14_planI": 76.72,
    }),
    *_of(_LAST, "moe_fused_tkg", "kernels/moe_fused_tkg/versions/kernel_", _EXPERTS, {
        "v20b": 117.46, "v26g": 104.89, "v27a": 107.15, "v27b": 115.88, "v27c": 113.00, "v27d": 103.48, "v27e": 106.81,
        "v27f": 106.64, "v27g": 110.06, "v27h": 109.05, "v27i": 105.54, "v28e": 98.74, "v28f": 98.15, "v28i": 101.99,
        "v29j": 100.05, "v29k": 98.99, "v29m": 100.98,
    }, lnc=2),
    *_of(_FIRST, "moe_tkg", "kernels/moe_tkg/agents/", _SPARSE, {
        "v5_token_parallel_tkg": 1000.0, "v5a_coalesce_gateup_dma": 530.66, "v5b_widen_down_matmul": 751.88,
        "v5c_batch_routing_weights": 1000.0, "v6a_widen_down_on_v5a": 278.65, "v6c_transpose_gateup": 547.00,
        "v7a_fused_coalesce_widen_down": 220.81, "v7b_preload_gateup_rows": 274.66, "v7c_coalesce_hidden_dma": 261.64,
    }),
    *_traced("moe_tkg", "kernels/moe_tkg/agents/", {"v6b_1_coalesce_down_dma": "profile_v6b_exec_2"}),
    *_of(_LAST, "moe_fused_tkg_fp8 of 512", _QUANTIZED, f"{_QUANTIZED}OPTIMIZATION_LOG.md", {
        "v5": 131.60, "v6a": 125.62, "v6b": 127.36, "v6c": 142.69, "v7": 120.44,
    }, lnc=2),
    *_of(_LAST, "moe_fused_tkg_fp8", _QUANTIZED, f"{_QUANTIZED}OPTIMIZATION_LOG.md", {
        "v11c": 104.40, "v12d": 112.29, "v12g": 106.98, "v12h": 109.29, "v12i": 90.54, "v12k": 126.57, "v12m": 90.94,
    }, lnc=2),
    *_of(_LAST, "moe_fused_tkg_fp8", _QUANTIZED, f"{_QUANTIZED}OPTIMIZATION_LOG_TRN3.md", {
        "v12i": 89.80, "v14a": 88.68, "v14b": 137.52, "v14c": 89.13,
    }, lnc=2, target="trn3"),
    *_of(_LAST, "context_attention", f"{_CONTEXT}agents/", f"{_CONTEXT}PROFILING.md", {
        "v4a_qwen3_attn_cte_fused": 4740, "v5a_qwen3_attn_cte_fused": 4230,
    }),
    *_of(_LAST, "context_attention transposed", f"{_CONTEXT}agents/", f"{_CONTEXT}PROFILING.md", {
        "v5b_qwen3_attn_cte_fused": 3950, "v6a_qwen3_attn_cte_fused": 3230,
    }),
    *_of(_LAST, "context_attention columns", f"{_CONTEXT}agents/", f"{_CONTEXT}PROFILING_LNC2.md", {
        "v7ab_qwen3_attn_cte_fused": 1480, "v8a_qwen3_attn_cte_fused": 783.02,
    }, lnc=2),
)  # fmt: skip


def versions(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each version with a figure."""
    checkout = checkouts / SOURCE
    for one in VERSIONS:
        found = data(checkout, one.commit, one.where)
        total, active = traced(found, one.where)[:2] if one.us is None else (one.us, {})
        yield Measured(
            SOURCE, one.commit, one.task.split()[0], f"{one.task} {one.target} LNC {one.lnc}", f"{Path(one.path).name}, {one.where}",
            one.target, one.lnc, "nki", total, partial(recorded, checkouts, one), active, variants=True,
        )  # fmt: skip


def recorded(checkouts: Path, version: Version) -> Program:
    """Return the kernel of that commit; nki-library gives it its views of tensors. Raises ValueError for a file without a kernel."""
    source = data(checkouts / SOURCE, version.commit, f"{version.path}.py").decode()
    kernel = re.search(r"@nki\.jit.*?\ndef (\w+)\(", source, re.DOTALL)
    if kernel is None:
        raise ValueError(f"{version.path}.py: no kernel")
    install()
    replace_host_packages()
    spec = KernelSpec(f"{placed(source, 'kernel.py')}:{kernel[1]}", INPUTS[version.task], norms.library(checkouts), {})
    with silenced():
        program = trace_kernel(spec, version.target, version.lnc)
    return program if version.lnc > 1 else beside_idle_core(program)
