"""nki-library's mlp, unmodified, recorded and timed, beside what was measured of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec
from neff_bench.simulator.program import Program
from neff_bench.simulator.timing.counters import summarise
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.timeline import timeline_of
from validation.correlation.origin import silenced
from validation.idle import beside_idle_core
from validation.rows import Row, spread

_TYPES = "nkilib_src.nkilib.core.utils.common_types"
_COLUMNS = (
    ("total us", "total_time", "total_time_us"),
    ("tensor active us", "tensor_engine_active_time", "tensor_active_us"),
    ("dma active us", "dma_active_time", "dma_active_us"),
    ("vector active us", "vector_engine_active_time", "vector_active_us"),
    ("scalar active us", "scalar_engine_active_time", "scalar_active_us"),
    ("gpsimd active us", "gpsimd_engine_active_time", "gpsimd_active_us"),
    ("sync active us", "sync_engine_active_time", "sync_active_us"),
)
_COUNTERS = (
    "hardware_flops",
    "matmul_instruction_count",
    "hbm_read_bytes",
    "hbm_write_bytes",
    "sbuf_read_bytes",
    "sbuf_write_bytes",
    "inputs_outputs_weights_size_bytes",
)
LONG_US = 500.0
_BY_HAND = (0, 2211)
"""Ends of figures, in picoseconds, that were set by hand: whole microseconds, and 238, 258, 638 and 6638 us and 2211 ps."""
_ROW = re.compile(r"^\s*\[([^\[\]#]*NormType\.[^\[\]#]*)\]", re.MULTILINE)


def mlp_rows(nkilib: Path, data: Path) -> Iterator[Row]:
    """Yield the published rows. The neuronxcc ones are another kernel: nki-library's stands in for it.

    `lnc` of a row: the cores that the kernel was launched on. All were compiled for logical cores of two: the script of the source
    launches one kernel on both in the same process, and sets nothing else.
    """
    measured = json.loads((data / "measured.json").read_bytes())
    for row in (*measured["mlp_trn2"], measured["mlp_trn2_detail"]):
        cores = "LNC 2" if row["lnc"] == 2 else "LNC 2, one core idle"
        name = f"{row['implementation']} s{row['s']} h{row['h']} i{row['i']} {cores}"
        if row is measured["mlp_trn2_detail"]:
            name += " (detailed)"
        program = _mlp(nkilib, row["lnc"], row["b"], row["s"], row["h"], row["i"])
        summary = _summarised(beside_idle_core(program) if row["lnc"] == 1 else program)
        for column, key, source in _COLUMNS:
            if source in row:
                yield Row(name, column, summary[key] * 1e6, row[source])


def counter_rows(nkilib: Path, data: Path) -> Iterator[Row]:
    row = json.loads((data / "measured.json").read_bytes())["mlp_trn2_detail"]
    summary = _summarised(_mlp(nkilib, row["lnc"], row["b"], row["s"], row["h"], row["i"]))
    for name in _COUNTERS:
        yield Row(name, "", summary[name], row[name])
    yield Row(
        "mm_arithmetic_intensity", "", round(summary["mm_arithmetic_intensity"], 2), row["mm_arithmetic_intensity"]
    )
    best = summary["mfu_max_achievable_estimated_percent"]
    yield Row("mfu_max_achievable (%)", "", round(100 * best, 2), 100 * row["mfu_max_achievable_estimated"])


def baseline_rows(nkilib: Path, limit: int | None) -> Iterator[Row]:
    """Return `tpbSgCyclesSum` of the mlp tests (picoseconds), spread over the sizes. Each figure once, at the first case that has it:
    a measurement in picoseconds does not occur twice, so the others are copies."""
    from neff_bench.simulator.errors import SimulatorError

    found = cases(nkilib)
    for mode in ("cte", "tkg"):
        ordered = sorted((c for c in found if c["mode"] == mode), key=lambda c: c["work"])
        for case in spread(ordered, limit):
            try:
                summary = _summarised(_recorded(nkilib, case["lnc"], case["inputs"], case["arguments"]))
            except SimulatorError as error:
                yield Row(f"{case['name']}: {error}"[:100], "failed", 0.0, None)
                continue
            measured = case["picoseconds"] * 1e-6
            length = "long" if measured >= LONG_US else "short"
            yield Row(case["name"], f"{mode} LNC {case['lnc']} {length} us", summary["total_time"] * 1e6, measured)


def cases(nkilib: Path) -> list[dict[str, Any]]:
    """Return the mlp tests that have a figure of their own: name, mode (cte, tkg), lnc, picoseconds, inputs and arguments."""
    tests = nkilib / "test" / "integration" / "nkilib" / "core" / "mlp"
    return [*_cases(tests / "test_mlp_cte.py", tkg=False), *_cases(tests / "test_mlp_tkg.py", tkg=True)]


_LABELS = ("add", "store", "skip_gate", "gb", "ub", "db", "nb", "row_gu", "row_down", "layout")
"""Of what a case turns on: fused add and its store, no gate, biases of gate, up, down and norm, then for token generation:
gate, up and down without column tiling, and the down weights' other layout."""


def _cases(path: Path, tkg: bool) -> Iterator[dict[str, Any]]:
    seen: set[float] = set()
    for text in _ROW.findall(path.read_text()):
        fields = [field.strip() for field in text.split(",") if field.strip()]
        if tkg:
            if len(fields) != 21 or fields[5] != "nl.bfloat16" or fields[6] != "None" or fields[8] in ("None", "0"):
                continue
            lnc, b, s, h, i = (int(field) for field in fields[:5])
            cycles, norm, fused, store, act, skip, *biases, gate_up, down, layout = fields[8:21]
            tiling = [str(gate_up != "True"), str(down != "True"), layout]
        else:
            if len(fields) != 17 or fields[5] == "None" or fields[8] != "QuantizationType.NONE":
                continue
            lnc, b, s, h, i = (int(field) for field in fields[:5])
            cycles, _, norm, _, fused, store, skip, act, *biases = fields[5:]
            tiling = ["False"] * 3
        picoseconds = float(cycles.replace("_", ""))
        if picoseconds % 1e6 in _BY_HAND or picoseconds in seen or (not tkg and skip == "True"):
            # nki-library's own cte refuses to skip the gate.
            continue
        seen.add(picoseconds)
        name = f"b{b} s{s} h{h} i{i} {norm.split('.')[1].lower()} LNC {lnc}"
        flags = [
            label for label, on in zip(_LABELS, (fused, store, skip, *biases, *tiling), strict=True) if on == "True"
        ]
        if flags:
            name += " " + "+".join(flags)
        yield {
            "name": name, "mode": "tkg" if tkg else "cte", "lnc": lnc, "picoseconds": picoseconds, "work": b * s * h * i,
            **_case_arguments(b, s, h, i, norm.split(".")[1], act.split(".")[1], set(flags)),
        }  # fmt: skip


def _case_arguments(b: int, s: int, h: int, i: int, norm: str, act: str, flags: set[str]) -> dict[str, Any]:
    shapes = {
        "hidden_tensor": (b, s, h), "gate_proj_weights_tensor": (h, i), "up_proj_weights_tensor": (h, i),
        "down_proj_weights_tensor": (i, h),
    }  # fmt: skip
    if norm not in ("NO_NORM", "RMS_NORM_SKIP_GAMMA"):
        shapes["normalization_weights_tensor"] = (1, h)
    for flag, name, shape in (
        ("gb", "gate_proj_bias_tensor", (1, i)),
        ("ub", "up_proj_bias_tensor", (1, i)),
        ("db", "down_proj_bias_tensor", (1, h)),
        ("nb", "normalization_bias_tensor", (1, h)),
        ("add", "fused_add_tensor", (b, s, h)),
    ):
        if flag in flags:
            shapes[name] = shape
    arguments: dict[str, Any] = {
        "activation_fn": {"ref": f"{_TYPES}:ActFnType.{act}"},
        "normalization_type": {"ref": f"{_TYPES}:NormType.{norm}"},
        "store_fused_add_result": "store" in flags,
        "skip_gate_proj": "skip_gate" in flags,
        "use_tkg_gate_up_proj_column_tiling": "row_gu" not in flags,
        "use_tkg_down_proj_column_tiling": "row_down" not in flags,
        "use_tkg_down_proj_optimized_layout": "layout" in flags,
    }
    inputs = tuple(InputSpec(name, shape, "bfloat16") for name, shape in shapes.items())
    return {"inputs": inputs, "arguments": arguments}


@cache
def _mlp(nkilib: Path, lnc: int, b: int, s: int, h: int, i: int) -> Program:
    case = _case_arguments(b, s, h, i, "NO_NORM", "SiLU", set())
    return _recorded(nkilib, lnc, case["inputs"], case["arguments"])


def _recorded(nkilib: Path, lnc: int, inputs: tuple[InputSpec, ...], arguments: dict[str, Any]) -> Program:
    source = nkilib / "src"
    spec = KernelSpec(
        "nkilib_src.nkilib.core.mlp.mlp:mlp", inputs, (str(source), str(source / "nkilib_src")), arguments
    )
    with silenced():
        return trace_kernel(spec, "trn2", lnc)


def _summarised(program: Program) -> dict[str, Any]:
    timed = schedule(program)
    return summarise(program, timed, timeline_of(timed))
