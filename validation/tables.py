"""The figures of the public files, as tests/validation holds them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from neff_bench.chips.engines import ENGINES
from neff_bench.parsers.ntff import read_ntff
from neff_bench.simulator.calibration.operations import OPS, Operation, operation_of
from validation import predictions
from validation.gemm import GEMMS, LATER_GEMMS, gemm_rows
from validation.replay import kernel_rows, replay, target_of
from validation.rows import Row

_COUNTS = ("event_count", "matmul_instruction_count", "activate_instruction_count")


def write_tables(manifest: Sequence[dict[str, Any]], directory: Path, nkilib: Path, out: Path) -> None:
    """traces.json: what each trace holds. predictions.json: simulated beside measured. `nkilib`: a checkout."""
    _write(out / "traces.json", dict(traces(manifest, directory)))
    library, gemm = (next(e for e in manifest if name in e["repository"]) for name in ("nki-library", "InferenceX"))
    published = next(e for e in manifest if "NeuronStuff" in e["repository"])
    sets = {
        "mlp": (published, predictions.mlp_rows(nkilib, directory)),
        "baselines": (library, predictions.baseline_rows(nkilib, None)),
        "gemm": (gemm, gemm_rows(directory / "gemm", None, GEMMS)),
        "gemm, longitudinal": (gemm, gemm_rows(directory / "gemm", None, LATER_GEMMS)),
    }
    _write(out / "predictions.json", {name: _table(origin, rows) for name, (origin, rows) in sets.items()})


def traces(manifest: Sequence[dict[str, Any]], directory: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and figures of each trace that AWS's profiler made a JSON of."""
    for entry in manifest:
        for file in entry["files"]:
            if file["to"].endswith("/ntff.json"):
                folder = file["to"].rpartition("/")[0]
                trace = next(f for f in entry["files"] if f["to"].startswith(folder) and f["to"].endswith(".ntff"))
                origin = _origin(entry) | {"profile": file["path"], "trace": trace["path"]}
                yield folder.rpartition("/")[2], {"origin": origin, **_figures(directory, file["to"], trace["to"])}


def _figures(directory: Path, profile_name: str, trace_name: str) -> dict[str, Any]:
    profile = json.loads((directory / profile_name).read_bytes())
    trace = read_ntff(directory / trace_name)
    summary = profile["summary"][0]
    return {
        "target": target_of(profile),
        "ntff_version": trace.version,
        "total_time_us": _us(summary["total_time"]),
        **{name: summary[name] for name in _COUNTS},
        "engines": {
            name: {
                "instruction_count": summary[f"{name}_engine_instruction_count"],
                "active_time_us": _us(summary[f"{name}_engine_active_time"]),
            }
            for name in ENGINES
        },
        "dma_active_time_us": _us(summary["dma_active_time"]),
        "operations": [
            [*operation, len(ns), min(ns), statistics.median(ns)]
            for operation, ns in sorted(_durations_ns(kernel_rows(profile)).items())
        ],
        "replay_us": {
            column: {"model": _round(model), "measured": _round(real)} for column, model, real in replay(profile)
        },
    }


def _durations_ns(rows: Iterable[dict[str, Any]]) -> dict[Operation, list[float]]:
    """Return how long the operations of a profile's instructions last that the model has a cost of."""
    found: dict[Operation, list[float]] = {}
    for row in rows:
        if row["opcode"] in (*OPS, "MATMUL", "ACT_TABLE_LOAD"):
            operation = operation_of(row["opcode"], row["subgroup"], row["operands"], row["activation_fn"])
            found.setdefault(operation, []).append(row["duration"])
    return found


def _table(origin: dict[str, Any], rows: Iterable[Row]) -> dict[str, Any]:
    return {
        "origin": _origin(origin),
        "rows": [[row.name, row.column, round(row.model, 2), row.measured and round(row.measured, 2)] for row in rows],
    }


def _origin(entry: dict[str, Any]) -> dict[str, Any]:
    return {"repository": entry["repository"], "commit": entry["commit"]}


def _us(seconds: float) -> float:
    return round(seconds * 1e6, 6)


def _round(value: float) -> float:
    return float(f"{value:.6g}")


def _write(path: Path, document: dict[str, Any]) -> None:
    """Lists that hold no object are one line each, so that a change is seen in a diff."""
    path.write_text(_text(document, 0) + "\n")


def _text(value: Any, depth: int) -> str:
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        inside = [f"{pad}{json.dumps(name)}: {_text(item, depth + 1)}" for name, item in value.items()]
        return "{\n" + ",\n".join(inside) + f"\n{pad[1:]}}}"
    if isinstance(value, list) and any(isinstance(item, list | dict) for item in value) and depth < 4:
        inside = [f"{pad}{_text(item, 9)}" for item in value]
        return "[\n" + ",\n".join(inside) + f"\n{pad[1:]}]"
    return json.dumps(value)
