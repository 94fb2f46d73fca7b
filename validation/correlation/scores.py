"""Log-probabilities and entropies of tokens, in one pass over the logits or two, from yahavb/trainium-agent-labs (03-fused-token-scoring): trn2, LNC 2.

The current dialect, NKI 0.6.0, bfloat16 logits. A row is the 50th percentile of the time on the device from the runtime's trace, from the earlier start
of the two cores to the later end: over 300 runs for the sizes of tiles that a search chose (summary.json), over 30 for the others (tuning.json). Left out:
sizes that give the same program as another, tiles of 16,384 logits, three of which fill the SBUF so that the compiler has to write some back, and
the kernel that calls the installed library's cross-entropy, whose version is not said. Helpers for allocation and tiles are those of nki-library, which
the kernel imports. The repository has no snapshot that could be cloned: the checkout needs the kernel's file alone, at its path.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec
from neff_bench.simulator.program import Program
from validation.correlation import norms
from validation.correlation.chipboost import REPOSITORY
from validation.correlation.measured import Measured
from validation.correlation.origin import present, silenced

_KERNEL = "projects/03-fused-token-scoring/kernel.py"


class Scores(NamedTuple):
    """passes: `fused` or `separate`. tile: rows and logits of one tile."""

    passes: str
    tokens: int
    logits: int
    tile: tuple[int, int]
    us: float
    commit: str


def _searched(
    passes: str, tokens: int, logits: int, chosen: int, times: dict[tuple[int, int], float]
) -> Iterator[Scores]:
    """chosen: the place in `times` of what the search chose."""
    for place, (tile, us) in enumerate(times.items()):
        yield Scores(passes, tokens, logits, tile, us, "bf28810" if place == chosen else "16d4c30")


SCORES = (
    *_searched("fused", 128, 8192, 1, {(128, 4096): 73.1075, (128, 16384): 65.931}),
    *_searched("separate", 128, 8192, 0, {(128, 4096): 73.1755, (128, 8192): 82.4305}),
    *_searched("fused", 512, 32768, 2, {(64, 4096): 624.3065, (128, 4096): 337.9545, (128, 8192): 322.317}),
    *_searched("separate", 512, 32768, 1, {(64, 4096): 822.348, (128, 4096): 406.309, (128, 8192): 456.662}),
    *_searched("fused", 129, 8193, 3, {(64, 4096): 99.8415, (128, 4096): 72.3815, (128, 8192): 73.7645, (128, 16384): 67.073}),
    *_searched("separate", 129, 8193, 1, {(64, 4096): 131.167, (128, 4096): 77.624, (128, 8192): 86.082, (128, 16384): 83.34}),
)  # fmt: skip
"""A tile is no wider than the logits: those of 16,384 hold 8,192 or 8,193."""


def kernels(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each. Raises FileNotFoundError where the checkout lacks the kernel's file."""
    kernel = present(checkouts / REPOSITORY / _KERNEL)
    for one in SCORES:
        shape = f"{one.tokens}x{one.logits}"
        yield Measured(
            REPOSITORY, one.commit, "token_scores", f"token_scores {shape}", f"{one.passes} {shape} tiles {one.tile[0]}x{one.tile[1]}",
            "trn2", 2, "nki", one.us, partial(recorded, kernel, norms.library(checkouts), one), variants=True, new=True,
        )  # fmt: skip


def recorded(kernel: Path, library: tuple[str, ...], one: Scores) -> Program:
    """Return the kernel as the benchmark compiles it. library: folders with nki-library."""
    install()
    inputs = (
        InputSpec("logits", (one.tokens, one.logits), "bfloat16"),
        InputSpec("indices", (one.tokens,), "int32"),
    )
    tile = {"row_tile": one.tile[0], "vocab_tile": one.tile[1]}
    with silenced():
        return trace_kernel(KernelSpec(f"{kernel}:{one.passes}_score", inputs, library, tile), "trn2", 2)
