"""nki-library's recorded baselines: `tpbSgCyclesSum` of its tests, in picoseconds, each figure once (trn2)."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.jit import body
from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec
from neff_bench.simulator.nki.trace import Call, record
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.correlation.origin import silenced
from validation.predictions import cases

SOURCE = ("aws-neuron/nki-library", "0759719da4e84ad29ddba3621a59e614779929ee")
NAKB = ("awslabs/nki-autotune", "f0fe0c2")
_TESTS = "test/integration/nkilib/core"
_ENTRIES = {
    "mlp": "nkilib_src.nkilib.core.mlp.mlp:mlp",
    "attention_cte": "nkilib_src.nkilib.core.attention.attention_cte:attention_cte",
    "rmsnorm_quant": "nkilib_src.nkilib.core.rmsnorm.rmsnorm_quant:rmsnorm_quant_kernel",
}
_DTYPES = SimpleNamespace(float32="float32", float16="float16", bfloat16="bfloat16")
MOST_WORK = 3e8
"""bs x seqlen_q x seqlen_kv of the largest attention that is recorded: beyond, one row takes minutes."""


def mlp(checkouts: Path) -> Iterator[Measured]:
    """Context encoding and token generation."""
    checkout = checkouts / SOURCE[0]
    for case in cases(checkout):
        program = partial(recorded, checkout, "mlp", case["lnc"], case["inputs"], case["arguments"])
        family = f"mlp_{case['mode']}"
        yield _row(family, case["name"], case["lnc"], case["picoseconds"], program)


def attention(checkouts: Path) -> Iterator[Measured]:
    """attention_cte; the later of two figures where a case has two."""
    checkout = checkouts / SOURCE[0]
    seen: set[float] = set()
    for names, values in _lists(checkout / _TESTS / "attention/test_attention_cte.py", "attention_cte_no_cp_"):
        case = {
            "vnc_degree": 1,
            "prior_len": None,
            "prior_used_len": None,
            "tp_k": False,
            "sink": False,
            "sliding_window": 0,
        }
        case |= dict(zip(names, values, strict=True))
        figure = case["tpbSgCyclesSum"]
        figure = figure[0] if isinstance(figure, tuple) else figure
        kv = case["seqlen_kv"] + (case["prior_len"] or 0)
        if not figure or figure in seen or case["bs"] * case["seqlen_q"] * kv > MOST_WORK:
            continue
        seen.add(figure)
        name = " ".join(f"{key}{case[key]}" for key in ("bs", "seqlen_q", "seqlen_kv", "prior_len", "d", "dtype"))
        name += "".join(f" {key}" for key in ("causal_mask", "tp_q", "tp_k", "tp_out", "sink") if case[key])
        name += f" sliding_window{case['sliding_window']}" if case["sliding_window"] else ""
        program = partial(_attention, checkout, case)
        yield _row("attention_cte", f"{name} LNC {case['vnc_degree']}", case["vnc_degree"], figure, program)


def _attention(checkout: Path, case: dict[str, Any]) -> Program:
    bs, q, kv, d, dtype = (case[key] for key in ("bs", "seqlen_q", "seqlen_kv", "d", "dtype"))
    bs_kv = case.get("bs_kv", bs)
    inputs = [
        InputSpec("q", (bs, q, d) if case["tp_q"] else (bs, d, q), dtype),
        InputSpec("k", (bs_kv, kv, d) if case["tp_k"] else (bs_kv, d, kv), dtype),
        InputSpec("v", (bs_kv, kv, d), dtype),
    ]
    if case["prior_len"]:
        prior = case["prior_len"]
        inputs += [
            InputSpec("k_prior", (bs_kv, prior, d) if case["tp_k"] else (bs_kv, d, prior), dtype),
            InputSpec("v_prior", (bs_kv, prior, d), dtype),
            InputSpec("prior_used_len", (1,), "int32"),
        ]
    if case["sink"]:
        inputs.append(InputSpec("sink", (bs, 1), "float32"))
    arguments = {key: case[key] for key in ("causal_mask", "tp_q", "tp_k", "tp_out", "sliding_window")}
    arguments["scale"] = case["softmax_scale"]
    return recorded(checkout, "attention_cte", case["vnc_degree"], tuple(inputs), arguments)


def rmsnorm_quant(checkouts: Path) -> Iterator[Measured]:
    """Row-wise quantisation with and without the norm."""
    checkout = checkouts / SOURCE[0]
    for seqlen, only, bound, figure in _RMSNORM_QUANT:
        inputs = (InputSpec("hidden", (1, seqlen, 16384), "bfloat16"), InputSpec("ln_w", (16384,), "bfloat16"))
        program = partial(_rmsnorm_quant, checkout, inputs, only, bound)
        yield _row("rmsnorm_quant", f"s{seqlen} h16384 {'quant' if only else 'norm'} {bound} LNC 2", 2, figure, program)


def rmsnorm_quant_again(checkouts: Path) -> Iterator[Measured]:
    """Six of these cases as nki-autotune's NAKB list has them, which is newer."""
    checkout = checkouts / SOURCE[0]
    for seqlen, only, bound, us in _RMSNORM_QUANT_AGAIN:
        inputs = (InputSpec("hidden", (1, seqlen, 16384), "bfloat16"), InputSpec("ln_w", (16384,), "bfloat16"))
        name = f"s{seqlen} h16384 {'quant' if only else 'norm'} {bound} LNC 2"
        program = partial(_rmsnorm_quant, checkout, inputs, only, bound)
        yield Measured(*NAKB, "nakb_rmsnorm_quant", "nakb_rmsnorm_quant", name, "trn2", 2, "nki", us, program)


def _rmsnorm_quant(checkout: Path, inputs: tuple[InputSpec, ...], only: bool, bound: float) -> Program:
    def kernel(**given: Any) -> Any:
        module = importlib.import_module(_ENTRIES["rmsnorm_quant"].partition(":")[0])
        norm = module.NormType.NO_NORM if only else module.NormType.RMS_NORM
        options = module.RmsNormQuantKernelArgs(bound, norm, module.QuantizationType.ROW)
        return body(module.rmsnorm_quant_kernel)(**given, kargs=options)

    install()
    sys.path[:0] = [str(checkout / "src"), str(checkout / "src" / "nkilib_src")]
    return record(Call(kernel, "rmsnorm_quant", inputs), "trn2", 2)


_RMSNORM_QUANT = (
    (2, True, 0.0, 51_564_336.0),
    (2, True, 0.5, 55_688_496.0),
    (2, False, 0.0, 89_102_777.0),
    (2, False, 0.5, 93_851_770.0),
    (2048, False, 0.0, 683_281_265.0),
    (160, False, 0.0, 106_546_750.0),
    (160, True, 0.0, 68_355_309.0),
)
"""Rows of tokens, whether it only quantises, lower bound, picoseconds: test_rmsnorm_quant.py, rmsnorm_quant_lnc_perms."""
_RMSNORM_QUANT_AGAIN = (
    (2, True, 0.0, 43.717),
    (2, True, 0.5, 46.420),
    (2, False, 0.0, 80.932),
    (2, False, 0.5, 81.072),
    (2048, False, 0.0, 579.846),
    (160, True, 0.0, 62.540),
)
"""The same in us: benchmark/nakb_rmsnorm_quant.py of awslabs/nki-autotune @f0fe0c2."""


def recorded(
    checkout: Path, kernel: str, lnc: int, inputs: tuple[InputSpec, ...], arguments: dict[str, Any]
) -> Program:
    """Return a kernel of the checkout."""
    source = checkout / "src"
    spec = KernelSpec(_ENTRIES[kernel], inputs, (str(source), str(source / "nkilib_src")), arguments)
    with silenced():
        return trace_kernel(spec, "trn2", lnc)


def _row(family: str, name: str, lnc: int, picoseconds: float, program: Any) -> Measured:
    return Measured(*SOURCE, family, f"{family} LNC {lnc}", name, "trn2", lnc, "nki", picoseconds * 1e-6, program)


def _lists(path: Path, prefix: str) -> Iterator[tuple[list[str], list[Any]]]:
    """Parameter names and values of each case of the test file's lists."""
    names: dict[str, str] = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            target = node.targets[0].id
            if target.startswith(prefix) and target.endswith(("_params", "_perms")):
                stem, _, kind = target.rpartition("_")
                known = {"np": _DTYPES, "nl": _DTYPES}
                value = eval(compile(ast.Expression(node.value), str(path), "eval"), known)  # noqa: S307 - a list of a test
                if kind == "params":
                    names[stem] = value
                    continue
                for row in value if stem in names else ():
                    yield [name.strip() for name in names[stem].split(",")], list(row)
