"""Kernels that ucb-bar/autocomp went through on its way, with the latency of each: trn1, old dialect. Studied rows.

`examples/trn-*/*_trace.py` nest the candidates of a search; each has its code and a score, which is `nki.benchmark`'s 99th percentile on
the NeuronCore, in ms. The last one stands whole in `*_opt.py` and is taken from there; of some others the published code has gaps. The
authors name the instance, trn1.2xlarge, where they tell of this search. Shapes are those of the harnesses of that time. The candidates of
`1_gemm_trace.py` are those of `2_gemm_trace.py` again, so only these are rows.

The sample run of the visualizer has latencies of layer normalisations too. Its failed candidates print the compiler's command,
whose target is trn1; 4096 x 8192 in float32 is what the harness runs. Every candidate that the harness found right is a row.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from neff_bench.doors.estimation import record_kernel
from neff_bench.simulator.compiler.code.descriptors import made_at_compile_time
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.correlation.origin import data, placed
from validation.wild.cases.autocomp import OLD

SOURCE = ("ucb-bar/autocomp", "dd26a56")


class Search(NamedTuple):
    """inputs: shape and dtype of each argument, in their order. numbers: further arguments."""

    family: str
    inputs: Mapping[str, tuple[tuple[int, ...], str]]
    numbers: Mapping[str, Any] = {}


_STATES = {"delta": (1, 256, 2048), "u": (1, 256, 2048), "A": (256, 16), "B": (1, 16, 2048), "C": (1, 16, 2048)}

SEARCHES: Mapping[str, Search] = {
    "trn-tutorial/2_gemm": Search(
        "tutorial_gemm", {"lhsT": ((8192, 4096), "bfloat16"), "rhs": ((8192, 8192), "bfloat16")}
    ),
    "trn-tutorial/3_mamba": Search("tutorial_mamba", {name: (shape, "float32") for name, shape in _STATES.items()}),
    "trn-tutorial/4_attention": Search("tutorial_attention", dict.fromkeys("qkv", ((128, 4096), "bfloat16"))),
    "trn-tutorial/5_sd_attention": Search(
        "tutorial_sd_attention", {f"{name}_ref": ((4096, 64), "float32") for name in "qkv"}
    ),
    "trn-advanced/4_conv1d": Search(
        "conv1d_depthwise",
        {"img_ref": ((8, 512, 1, 2048), "float32"), "filter_ref": ((512, 1, 1, 3), "float32")},
        {"padding": ((0, 0), (1, 1))},
    ),
}


def candidates(checkouts: Path) -> Iterator[Measured]:
    """Those of each search, the first first."""
    checkout = checkouts / SOURCE[0]
    for path, search in SEARCHES.items():
        file = f"examples/{path}_trace.py"
        found = codes(data(checkout, SOURCE[1], file).decode())
        whole = data(checkout, SOURCE[1], f"examples/{path}_opt.py").decode()
        for number, (code, score_ms) in enumerate(found):
            program = partial(recorded, whole if number == len(found) - 1 else code, search)
            name, total = f"{file} {number}", score_ms * 1e3
            yield Measured(
                *SOURCE,
                search.family,
                f"{search.family} trn1",
                name,
                "trn1",
                1,
                "beta",
                total,
                program,
                variants=True,
            )


_SAMPLE = "visualizer/src/extension/__fixtures__/sample_run/eval-results-iter-"
_LAYERNORM = Search(
    "tutorial_layernorm",
    {
        "input_tensor": ((4096, 8192), "float32"),
        "gamma_vector": ((8192,), "float32"),
        "beta_vector": ((8192,), "float32"),
    },
    {"epsilon": 1e-5},
)
SAMPLED_MS = {
    "1/code_0": 2.774, "1/code_2": 2.326, "1/code_3": 2.968, "1/code_7": 2.951, "2/code_1": 2.160, "2/code_2": 2.499,
    "2/code_3": 4.396, "2/code_5": 2.083, "2/code_7": 2.752, "2/code_12": 2.327, "2/code_15": 3.734,
}  # fmt: skip
"""Iteration and candidate, and the latency that its file begins with."""


def sampled(checkouts: Path) -> Iterator[Measured]:
    """Yield the kernel that the sample run began with, then its candidates."""
    for number, (candidate, ms) in enumerate(SAMPLED_MS.items()):
        file = f"{_SAMPLE}{candidate}_result_full.txt"
        result = data(checkouts / SOURCE[0], SOURCE[1], file).decode()
        found = codes(result[result.index("CodeCandidate(") :])
        of_file = (
            (("start", *found[0]), (candidate, found[-1][0], ms)) if number == 0 else ((candidate, found[-1][0], ms),)
        )
        for name, code, latency_ms in of_file:
            program = partial(recorded, code, _LAYERNORM)
            yield Measured(
                *SOURCE, _LAYERNORM.family, f"{_LAYERNORM.family} trn1", f"sample run {name}", "trn1", 1, "beta",
                latency_ms * 1e3, program, variants=True,
            )  # fmt: skip


def codes(trace: str) -> list[tuple[str, float]]:
    """Code and score of each candidate, the first first. Raises KeyError for a candidate that lacks one."""
    calls = [node for node in ast.walk(ast.parse(trace)) if isinstance(node, ast.Call)]
    found = []
    for call in calls:
        given = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg in ("code", "score")}
        found.append((given["code"], given["score"]))
    return found[::-1]


def recorded(code: str, search: Search) -> Program:
    """Return the kernel `test` after the imports that the harness puts before it; descriptors are static, as in all traces of trn1."""
    install()
    path = placed(f"{OLD}\n{code}", "candidate.py")
    return made_at_compile_time(record_kernel(f"{path}:test", dict(search.inputs), "trn1", 1, dict(search.numbers)))
