"""nki-library's kernels as nki-autotune's NAKB lists measured them: device latencies of a launch on trn2.

The lists (benchmark/nakb_*.py of awslabs/nki-autotune) have shapes, dtypes and a latency in nanoseconds for each workload. They name neither a
release nor the commit of the kernels; the kernels here are those of nki-library at the commit that validation/correlation/nkilib.py names. Where the lists
say no LNC, it is 2, the default of trn2. A clone of nki-autotune has no commit with the lists: their figures stand here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.correlation.nkilib import SOURCE as LIBRARY
from validation.correlation.origin import silenced

SOURCE = ("awslabs/nki-autotune", "f0fe0c2")
_CORE = "nkilib_src.nkilib.core."
_TYPES = f"{_CORE}utils.common_types:"
_BF16, _FP8 = "bfloat16", "float8_e4m3"


class Workload(NamedTuple):
    """inputs: shape and dtype by name. us: measured. lnc: cores that the kernel is launched on."""

    name: str
    entry: str
    inputs: Mapping[str, tuple[tuple[int, ...], str]]
    arguments: Mapping[str, Any]
    us: float
    lnc: int = 2


def kernels(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each workload of the lists that may be looked at."""
    for one in DEVELOPMENT:
        family = f"nakb_{one.name.partition(' ')[0]}"
        program = partial(recorded, checkouts / LIBRARY[0], one)
        yield Measured(*SOURCE, family, f"{family} LNC {one.lnc}", one.name, "trn2", one.lnc, "nki", one.us, program)


def recorded(library: Path, one: Workload) -> Program:
    """Return the kernel of nki-library with these inputs."""
    inputs = tuple(InputSpec(name, shape, dtype) for name, (shape, dtype) in one.inputs.items())
    path = (str(library / "src"), str(library / "src" / "nkilib_src"))
    with silenced():
        return trace_kernel(KernelSpec(_CORE + one.entry, inputs, path, dict(one.arguments)), "trn2", one.lnc)


def _type(name: str) -> dict[str, str]:
    return {"ref": f"{_TYPES}{name}"}


def _rope(d: int, b: int, heads: int, s: int, contiguous: bool, us: float) -> Workload:
    inputs = {"x_in": ((d, b, heads, s), _BF16), "cos": ((d // 2, b, s), _BF16), "sin": ((d // 2, b, s), _BF16)}
    given = {"lnc_shard": True, "contiguous_layout": contiguous, "relayout_in_sbuf": False}
    name = f"rope d{d} b{b} n{heads} s{s}{'' if contiguous else ' interleaved'}"
    return Workload(name, "embeddings.rope:RoPE", inputs, given, us)


def _rope_hf(b: int, heads: int, s: int, d: int, dtype: str, backward: bool, us: float) -> Workload:
    q, k, angles = (b, heads, s, d), (b, heads // 4, s, d), (b, s, d)
    shapes = {"q": q, "k": k, "q_out": q, "k_out": k, "cos": angles, "sin": angles}
    name = f"rope_hf b{b} n{heads} s{s} d{d} {dtype}{' backward' if backward else ''}"
    return Workload(name, "embeddings.rope_hf:rope_hf", {key: (shape, dtype) for key, shape in shapes.items()}, {"backward": backward}, us)  # fmt: skip


def _cumsum(shape: tuple[int, ...], dtype: str, us: float) -> Workload:
    return Workload(f"cumsum {'x'.join(map(str, shape))} {dtype}", "cumsum.cumsum:cumsum", {"x": (shape, dtype)}, {"axis": -1}, us)  # fmt: skip


def _max(b: int, s: int, v: int, us: float) -> Workload:
    inputs = {"input_tensor": ((b, s, v), "float32")}
    return Workload(f"cascaded_max b{b} s{s} v{v}", "max.cascaded_max:cascaded_max", inputs, {}, us)


def _projected(d: int, b: int, n: int, s: int, h: int, how: str, us: float, transposed: bool = False) -> Workload:
    """how: NONE, ROW or STATIC quantisation; PLAIN for none without a bias."""
    weight = _BF16 if how in ("NONE", "PLAIN") else _FP8
    inputs = {"attention": ((d, b, n, s), _BF16), "weight": ((n * d, h), weight)}
    if how != "PLAIN":
        inputs["bias"] = ((1, h), _BF16)
    if how in ("ROW", "STATIC"):
        inputs["weight_scale"] = ((128, h if how == "ROW" else 1), "float32")
    if how == "STATIC":
        inputs["input_scale"] = ((128, 1), "float32")
    kind = "NONE" if how == "PLAIN" else how
    given = {"quantization_type": _type(f"QuantizationType.{kind}"), "TRANSPOSE_OUT": transposed, "OUT_IN_SB": False}
    name = f"output_projection_tkg d{d} b{b} n{n} s{s} h{h} {how.lower()}"
    return Workload(name, "output_projection.output_projection_tkg:output_projection_tkg", inputs, given, us)


def _routed(t: int, h: int, e: int, k: int, act: str, bias: bool, pre: bool, norm: bool, us: float) -> Workload:
    inputs = {
        "x": ((t, h), _BF16), "w": ((h, e), _BF16), "router_logits": ((t, e), _BF16), "expert_affinities": ((t, e), _BF16),
        "expert_index": ((t, k), "uint32"),
    }  # fmt: skip
    if bias:
        inputs["w_bias"] = ((e,), _BF16)
    given = {
        "act_fn": _type(f"RouterActFnType.{act}"), "k": k, "x_hbm_layout": 1, "x_sb_layout": 0, "router_pre_norm": pre,
        "norm_topk_prob": norm, **({} if bias else {"w_bias": None}),
    }  # fmt: skip
    name = f"router_topk t{t} h{h} e{e} k{k} {act.lower()}{' bias' if bias else ''}{' pre' if pre else ''}"
    return Workload(name, "router_topk.router_topk:router_topk", inputs, given, us)


def _mlp(b: int, s: int, h: int, i: int, norm: str, how: str, us: float, lnc: int = 2, gate: bool = True) -> Workload:
    weight = _BF16 if how == "NONE" else _FP8
    inputs = {
        "hidden_tensor": ((b, s, h), _BF16), "gate_proj_weights_tensor": ((h, i), weight),
        "up_proj_weights_tensor": ((h, i), weight), "down_proj_weights_tensor": ((i, h), weight),
    }  # fmt: skip
    if norm != "NO_NORM":
        inputs["normalization_weights_tensor"] = ((1, h), _BF16)
    for name, width in (("gate_w_scale", i), ("up_w_scale", i), ("down_w_scale", h)) if how != "NONE" else ():
        inputs[name] = ((128, width if how == "ROW" else 1), "float32")
    for name in ("gate_up_in_scale", "down_in_scale") if how == "STATIC" else ():
        inputs[name] = ((128, 1), "float32")
    given = {
        "activation_fn": _type("ActFnType.SiLU"), "normalization_type": _type(f"NormType.{norm}"),
        "quantization_type": _type(f"QuantizationType.{how}"), "skip_gate_proj": not gate,
    }  # fmt: skip
    name = f"mlp_tkg b{b} s{s} h{h} i{i} {norm.lower()} {how.lower()} LNC {lnc}"
    return Workload(name, "mlp.mlp:mlp", inputs, given, us, lnc)


def _qkv(b: int, s: int, h: int, i: int, norm: str, us: float, how: str = "NONE", added: bool = False, **options: Any) -> Workload:  # fmt: skip
    """options: d_head (128), num_q_heads, num_kv_heads (1), layout (BSD), bias, norm_bias, eps."""
    hidden, weight = (b, s, h), _BF16 if how == "NONE" else _FP8
    inputs = {"hidden": (hidden, _BF16), "qkv_w": ((h, i), weight)}
    if norm != "NO_NORM":
        inputs["norm_w"] = ((1, h), _BF16)
    if options.get("bias"):
        inputs["qkv_bias"] = ((1, i), _BF16)
    if options.get("norm_bias"):
        inputs["norm_bias"] = ((1, h), _BF16)
    if added:
        inputs |= {"mlp_prev": (hidden, _BF16), "attn_prev": (hidden, _BF16)}
    if how != "NONE":
        inputs["qkv_w_scale"] = ((128, i if how == "ROW" else 3), "float32")
    if how == "STATIC":
        inputs["qkv_in_scale"] = ((128, 1), "float32")
    given = {
        "fused_add": added, "d_head": options.get("d_head", 128), "num_kv_heads": options.get("num_kv_heads", 1),
        "num_q_heads": options["num_q_heads"], "output_layout": _type(f"QKVOutputLayout.{options.get('layout', 'BSD')}"),
        "eps": options.get("eps", 1e-6), "norm_type": _type(f"NormType.{norm}"), "quantization_type": _type(f"QuantizationType.{how}"),
    }  # fmt: skip
    name = f"qkv_tkg b{b} s{s} h{h} i{i} {norm.lower()} {how.lower()}{' residuals' if added else ''}"
    return Workload(name, "qkv.qkv_tkg:qkv_tkg", inputs, given, us)


DEVELOPMENT = (
    _rope(128, 32, 4, 64, False, 68.330), _rope(128, 1, 8, 16, True, 20.465), _rope(128, 64, 8, 128, True, 223.438),
    _rope(64, 64, 8, 128, True, 176.862), _rope(64, 8, 1, 128, True, 18.606),
    _rope_hf(1, 32, 256, 128, _BF16, False, 65.473), _rope_hf(1, 32, 256, 128, "float32", False, 65.125),
    _rope_hf(1, 32, 512, 64, "float32", False, 77.856), _rope_hf(2, 16, 512, 128, _BF16, False, 79.685),
    _rope_hf(1, 32, 256, 128, "float32", True, 64.677),
    _cumsum((1, 256), "float32", 13.543), _cumsum((128, 2048), "float32", 24.992), _cumsum((2048, 4096), "float32", 224.320),
    _cumsum((256, 10, 8192), _BF16, 422.969), _cumsum((64, 4, 1024), _BF16, 20.700),
    _max(1, 1, 16000, 17.452), _max(1, 1, 256, 14.358), _max(1, 1, 3168, 15.344), _max(1, 7, 3999, 23.373),
    _max(128, 1, 3168, 23.592), _max(4, 5, 8192, 21.081), _max(8, 5, 4058, 21.145), _max(8, 5, 8192, 27.950),
    _projected(128, 128, 8, 3, 3072, "NONE", 54.059, True), _projected(128, 4, 8, 4, 16384, "NONE", 117.928, True),
    _projected(32, 512, 8, 4, 3072, "NONE", 75.300, True), _projected(128, 16, 8, 1, 3072, "ROW", 33.562),
    _projected(128, 16, 8, 1, 8192, "STATIC", 53.857, True), _projected(128, 4, 2, 4, 16384, "NONE", 39.242),
    _projected(128, 4, 2, 4, 8192, "NONE", 32.470), _projected(64, 4, 8, 4, 3072, "PLAIN", 30.172),
    _routed(32, 3072, 128, 4, "SIGMOID", True, True, False, 29.343), _routed(8, 8192, 128, 8, "SIGMOID", True, True, True, 71.924),
    _routed(2, 4096, 128, 8, "SIGMOID", False, False, False, 38.488), _routed(2, 4096, 128, 8, "SIGMOID", False, True, False, 33.046),
    _routed(2, 5120, 128, 1, "SIGMOID", False, False, False, 37.752), _routed(2, 5120, 16, 1, "SIGMOID", False, False, False, 35.512),
    _routed(2, 5120, 128, 1, "SIGMOID", False, True, False, 36.743), _routed(2, 5120, 16, 1, "SIGMOID", False, True, False, 35.075),
    _routed(8, 8192, 128, 8, "SOFTMAX", True, False, False, 69.406),
    _mlp(2, 4, 8448, 1408, "LAYER_NORM", "NONE", 143.634), _mlp(3, 8, 8192, 832, "LAYER_NORM", "NONE", 124.894, 1),
    _mlp(256, 1, 8192, 3584, "RMS_NORM", "STATIC", 313.052), _mlp(4, 5, 8192, 512, "RMS_NORM", "ROW", 64.312),
    _mlp(4, 1, 16384, 832, "NO_NORM", "NONE", 109.052, gate=False), _mlp(1, 1, 16384, 896, "NO_NORM", "ROW", 106.306),
    _mlp(1, 1, 16384, 896, "NO_NORM", "STATIC", 101.870),
    _qkv(8, 5, 3072, 640, "RMS_NORM", 44.085, num_q_heads=8, d_head=64, bias=True),
    _qkv(1, 1, 16384, 512, "NO_NORM", 53.450, num_q_heads=2, layout="NBSd"),
    _qkv(1, 1, 8192, 768, "NO_NORM", 49.799, num_q_heads=2, num_kv_heads=2, layout="NBSd"),
    _qkv(1, 1, 8192, 10240, "RMS_NORM", 348.357, num_q_heads=64, num_kv_heads=8),
    _qkv(1, 5, 8192, 384, "LAYER_NORM", 35.203, num_q_heads=1, norm_bias=True),
    _qkv(1, 5, 8192, 1280, "RMS_NORM", 53.429, "ROW", num_q_heads=8), _qkv(1, 5, 8192, 1280, "RMS_NORM", 51.194, "STATIC", num_q_heads=8),
    _qkv(1, 4, 16384, 384, "RMS_NORM", 53.172, added=True, num_q_heads=1), _qkv(4, 1, 32768, 384, "NO_NORM", 83.299, added=True, num_q_heads=1),
    _qkv(1, 1, 8192, 512, "RMS_NORM", 42.027, added=True, num_q_heads=2, eps=77.0),
)  # fmt: skip
