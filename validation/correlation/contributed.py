"""Chunked delta rules and exact top-k masks contributed to aws-neuron/nki-samples: trn1, LNC 1, current dialect, float32.

The file of each kernel tells its device times on one NeuronCore of trn1, 50th percentiles of `neuron-bench` (Neuron SDK 2.32, NKI 0.6.0), in
hundredths or thousandths of a millisecond, with the shapes; scripts in the same files make the inputs. The pull requests' commits are in no clone
that can be had: the checkout needs the two files alone, at their paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from neff_bench.doors.estimation import record_kernel
from neff_bench.simulator.compiler.code.descriptors import made_at_compile_time
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.correlation.origin import present, silenced

REPOSITORY = "aws-neuron/nki-samples"


class Kernel(NamedTuple):
    """file: in `contributed`, without `.py`."""

    family: str
    commit: str
    file: str
    function: str
    inputs: Mapping[str, tuple[int, ...]]
    numbers: Mapping[str, int]
    name: str
    ms: float


def _delta_rule(per_channel: bool, heads: int, tokens: int, ms: float) -> Kernel:
    """per_channel: whether each channel has a decay (KDA), or each head one (GDN)."""
    rows = (tokens, heads, 128)
    inputs = {
        **dict.fromkeys("qkv", rows),
        "g": rows if per_channel else (tokens, heads),
        "beta": (tokens, heads),
        "s0": (heads, 128, 128),
        "consts": (128, 11, 128),
    }
    family, function = f"delta_rule_{'kda' if per_channel else 'gdn'}", "chunked_delta_rule_fwd"
    name = f"{heads} heads {tokens} tokens"
    return Kernel(family, "68eda49", "chunked_delta_rule", function, inputs, {"kind": int(per_channel)}, name, ms)


def _topk(rows: int, scores: int, keep: int, ms: float) -> Kernel:
    """Return a row is cut into pieces, as many as fill up to 128 partitions."""
    pieces = 1
    while rows * pieces * 2 <= 128 and scores % (pieces * 2) == 0:
        pieces *= 2
    numbers = {"keep": keep, "g": pieces, "lg": pieces.bit_length() - 1, "nbits": scores.bit_length(), "vis_only": 0}
    inputs = {"sc": (rows * pieces, scores // pieces)}
    name = f"{keep} of {scores} in {rows} rows"
    return Kernel("topk_mask", "737f88e", "exact_topk_mask", "topk_mask_fwd", inputs, numbers, name, ms)


KERNELS = (
    *(_delta_rule(True, *row) for row in ((2, 512, 0.14), (2, 8192, 2.00), (8, 2048, 2.06), (8, 8192, 8.19))),
    *(_delta_rule(False, *row) for row in ((2, 512, 0.12), (2, 8192, 1.62), (8, 2048, 1.63), (8, 8192, 6.45))),
    _topk(8, 2112, 512, 0.079), _topk(256, 2112, 512, 0.279), _topk(8, 8448, 2048, 0.103), _topk(64, 8192, 2048, 0.297),
)  # fmt: skip


def kernels(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each. Raises FileNotFoundError where the checkout lacks a kernel's file."""
    for one in KERNELS:
        kernel = present(checkouts / REPOSITORY / "contributed" / f"{one.file}.py")
        yield Measured(
            REPOSITORY, one.commit, one.family, f"{one.family} {one.name}", one.name, "trn1", 1, "nki", one.ms * 1e3,
            partial(recorded, kernel, one),
        )  # fmt: skip


def recorded(kernel: Path, one: Kernel) -> Program:
    """Return the kernel as its file's script calls it; descriptors are static, as in all traces of trn1."""
    install()
    inputs: dict[str, Any] = {name: (shape, "float32") for name, shape in one.inputs.items()}
    with silenced():
        return made_at_compile_time(record_kernel(f"{kernel}:{one.function}", inputs, "trn1", 1, dict(one.numbers)))
