"""nki-library's recorded baselines of fused projections to queries, keys and values for token generation: trn2, LNC 2, current dialect.

The performance list of test_qkv_tkg.py has one figure for each case, as `cyclesQoR`: a pair of nothing and a number of the size and form of the
library's other baselines, so picoseconds, which the test does not say. Release 2.28 and later ones have the same list. Each figure stands once: the
static quantisation repeats that of the case before it, and cases without a figure are left out. The chip is that of the library's tests.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.jit import body
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.correlation.nkilib import SOURCE
from validation.correlation.origin import data, silenced

_TEST = "test/integration/nkilib/core/qkv/test_qkv_tkg.py"
_LIST = "qkv_tkg_kernel_performance_bsd_test_"
_KERNEL = "nkilib_src.nkilib.core.qkv.qkv"
_TYPES = "nkilib_src.nkilib.core.utils.common_types"


class Case(NamedTuple):
    """width: of the hidden state. columns: of queries, keys and values together. norm: a name of NormType. added: two residuals."""

    batch: int
    tokens: int
    width: int
    columns: int
    head: int
    norm: str
    added: bool
    bias: bool
    picoseconds: int

    @property
    def name(self) -> str:
        """Shape and options."""
        options = f"{self.norm.lower()}{' residuals' if self.added else ''}{' bias' if self.bias else ''}"
        return f"b{self.batch} s{self.tokens} h{self.width} i{self.columns} d{self.head} {options} LNC 2"


def projections(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each figure."""
    checkout = checkouts / SOURCE[0]
    for case in cases(data(checkout, SOURCE[1], _TEST).decode()):
        program = partial(recorded, checkout, case)
        us = case.picoseconds * 1e-6
        yield Measured(*SOURCE, "qkv_tkg", "qkv_tkg LNC 2", case.name, "trn2", 2, "nki", us, program)


def cases(test: str) -> Iterator[Case]:
    """Those of the test's list that have a figure, each figure once. Raises ValueError where the test has no such list."""
    lists: dict[str, ast.expr] = {}
    for node in ast.walk(ast.parse(test)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            lists[node.targets[0].id.removeprefix(_LIST)] = node.value
    if not {"params", "perms"} <= lists.keys():
        raise ValueError(f"{_TEST}: no list {_LIST}perms")
    names = [name.strip() for name in str(ast.literal_eval(lists["params"])).split(",")]
    seen: set[int] = set()
    for row in ast.literal_eval(_Named().visit(lists["perms"])):
        given = dict(zip(names, row, strict=True))
        figure = given["cyclesQoR"][1]
        if figure and figure not in seen and given["quantization_type"] == "NONE":
            seen.add(figure)
            yield Case(
                given["batch"], given["seqlen"], given["hidden_dim"], given["fused_qkv_dim"], given["d_head"],
                given["norm_type"], given["fused_add"], given["qkv_bias"], figure,
            )  # fmt: skip


class _Named(ast.NodeTransformer):
    """The name of a member in place of the member."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.Constant:
        return ast.Constant(node.attr)


def recorded(checkout: Path, case: Case) -> Program:
    """Return the kernel as its test calls it."""
    hidden = (case.batch, case.tokens, case.width)
    shapes = {"input": hidden, "fused_qkv_weights": (case.width, case.columns)}
    if case.bias:
        shapes["bias"] = (1, case.columns)
    if case.added:
        shapes |= dict.fromkeys(("mlp_prev", "attention_prev"), hidden)
    if case.norm != "NO_NORM":
        shapes["gamma_norm_weights"] = (1, case.width)

    def kernel(**given: Any) -> Any:
        types = importlib.import_module(_TYPES)
        return body(importlib.import_module(_KERNEL).qkv)(
            **given,
            output_layout=types.QKVOutputLayout.BSD,
            quantization_type=types.QuantizationType.NONE,
            fused_residual_add=case.added,
            fused_norm_type=types.NormType[case.norm],
            norm_eps=1e-6,
            d_head=case.head,
            num_q_heads=case.columns // case.head - 2,
            num_kv_heads=1,
        )

    install()
    sys.path[:0] = [str(checkout / "src"), str(checkout / "src" / "nkilib_src")]
    inputs = tuple(InputSpec(name, shape, "bfloat16") for name, shape in shapes.items())
    with silenced():
        return record(Call(kernel, "qkv", inputs), "trn2", 2)
