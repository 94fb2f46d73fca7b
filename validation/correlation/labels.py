"""Says by which clock a row was measured, with which release of the SDK, and which row a newer measurement of the same case has replaced.

- `profile`: from the first to the last event of a trace, the profiler's `total_time`.
- `execution`: the device latency of one launch, as the runtime, `nki.benchmark` and `neuron-bench` tell it.
- `cycles`: `tpbSgCyclesSum` of nki-library's tests, which is a profile's in picoseconds.

What lies between a profile and an execution stands in the chip's constants (`execution_clock_ns`).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Clock = Literal["profile", "execution", "cycles"]


class Label(NamedTuple):
    """release: of the SDK as the source tells it; empty where it does not."""

    clock: Clock
    release: str = ""


_REPOSITORIES = {
    "Jerry2423/kda-for-trainium": Label("execution"),
    "zhang677/AccelOpt": Label("profile"),
    "aws-neuron/nki-library": Label("cycles", "2.28 and later"),
    "awslabs/nki-autotune": Label("execution"),
    "SemiAnalysisAI/InferenceX": Label("profile", "2.29"),
    "allenkchau/trainium-kernel-fusion": Label("profile", "2.28"),
    "KevGomes1403/nki-moe-megakernel": Label("profile"),
    "ucb-bar/autocomp": Label("execution"),
    "aws-neuron/aws-neuron-sdk": Label("execution"),
    "FlashML-org/flashlib": Label("execution"),
    "joshdelg/cs217-final-proj": Label("profile"),
    "yahavb/trainium-agent-labs": Label("profile", "2.32"),
    "aws-neuron/nki-samples": Label("execution"),
    "Joejoedesu/voyager-compiler": Label("execution"),
    "Lonny154/Matmul-Inspector": Label("execution"),
}
_FAMILIES = {
    ("aws-neuron/aws-neuron-sdk", "first_tutorial_mamba"): Label("profile"),
    ("aws-neuron/nki-library", "selective_scan"): Label("execution"),
    ("allenkchau/trainium-kernel-fusion", "gelu_matmul"): Label("execution", "2.28"),
    ("yahavb/trainium-agent-labs", "row_copy"): Label("execution", "2.32"),
    ("yahavb/trainium-agent-labs", "row_rmsnorm"): Label("execution", "2.32"),
    ("yahavb/trainium-agent-labs", "token_scores"): Label("execution", "2.32"),
    ("aws-neuron/nki-samples", "delta_rule_kda"): Label("execution", "2.32"),
    ("aws-neuron/nki-samples", "delta_rule_gdn"): Label("execution", "2.32"),
}
_WRITTEN = (".md:",)
"""Students of CS149 wrote down what `nki.benchmark` said; the other rows of theirs are traces."""

SUPERSEDED = frozenset(
    (repository, family, name)
    for repository, family, names in (
        (
            "aws-neuron/nki-library",
            "rmsnorm_quant",
            (
                "s2 h16384 quant 0.0 LNC 2",
                "s2 h16384 quant 0.5 LNC 2",
                "s2 h16384 norm 0.0 LNC 2",
                "s2 h16384 norm 0.5 LNC 2",
                "s2048 h16384 norm 0.0 LNC 2",
                "s160 h16384 quant 0.0 LNC 2",
            ),
        ),
    )
    for name in names
)
"""Rows whose case nki-autotune's NAKB lists measured again (benchmark/nakb_*.py)."""


def label(repository: str, family: str, name: str) -> Label:
    """Return the label of a row. What is in no table here is a trace, as those of the students of CS149 are."""
    if any(mark in name for mark in _WRITTEN):
        return Label("execution")
    return _FAMILIES.get((repository, family)) or _REPOSITORIES.get(repository) or Label("profile")
