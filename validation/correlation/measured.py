"""A public measured row, and the published rule that says whether the model's authors may look at it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from neff_bench.simulator.program import Program
from validation.correlation.labels import SUPERSEDED, Label, label

NKIBENCH_DEVELOPMENT = frozenset({"rope_single_freq_apply", "silu"})
SEEN = frozenset(
    {"gemm", "mlp_cte", "mlp_tkg", "attention_cte", "rmsnorm_quant", "baseline_attention", "fused_attention"}
)
"""Kernels whose figures were studied while the model was made: no rule can make them test rows any more."""
STUDIED = frozenset(
    "vector_add matrix_transpose conv2d_maxpool attention_tkg context_attention moe_fused_tkg moe_fused_tkg_fp8 moe_tkg rmsnorm_tkg"
    " tuned_matmul tutorial_gemm tutorial_mamba tutorial_attention tutorial_sd_attention conv1d_depthwise"
    " first_tutorial_matmul first_tutorial_layernorm first_tutorial_mamba tutorial_layernorm attention_block selective_scan"
    " pipelined_matmul gather_mean"
    " qkv_tkg blocked_matmul tiled_matmul capped_matmul row_rmsnorm row_copy kmeans_assign adaptive_pool allocated_attention"
    " delta_rule_kda delta_rule_gdn topk_mask replayed_maxpool replayed_layernorm"
    " nakb_rope nakb_rope_hf nakb_cumsum nakb_cascaded_max nakb_output_projection_tkg nakb_router_topk nakb_mlp_tkg nakb_qkv_tkg"
    " nakb_rmsnorm_quant".split()
)
"""Kernels of the first three untouched test sets. They were run once, at 220de5c, 8dcf5d3 and f66cca5, and have been studied since."""


@dataclass(frozen=True)
class Measured:
    """One kernel with its arguments, and what hardware took for it.

    family: what it computes. variants: whether rows of the same `task` do the same work and may be ordered against each other.
    active_us: by engine and "dma". program: records it. dialect: nki or beta. new: nobody has looked at what the model says of it.
    """

    repository: str
    commit: str
    family: str
    task: str
    name: str
    target: str
    lnc: int
    dialect: str
    total_us: float
    program: Callable[[], Program] = field(repr=False)
    active_us: Mapping[str, float] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    variants: bool = False
    new: bool = False

    @property
    def label(self) -> Label:
        """By which clock it was measured, and with which release."""
        return label(self.repository, self.family, self.name)

    @property
    def superseded(self) -> bool:
        """Whether a newer measurement of the same case is a row."""
        return (self.repository, self.family, self.name) in SUPERSEDED

    @property
    def is_test(self) -> bool:
        """Whether the row was kept from the model's authors: every new row, and others by the rule."""
        return self.new or is_test(self.family)


NKIBENCH = frozenset(
    "adamw add_rmsnorm_matmul bmm bmm_softmax gqa_full lora mamba matmul matmul_add_rmsnorm rmsnorm_matmul"
    " rope_single_freq_apply silu swiglu transpose_matmul".split()
)


def is_test(family: str) -> bool:
    """Return whether a row that is not new tests the model. NKIBench: all but rope and silu, in every repository that measured them. Others: the first digit of the
    sha256 of the family's name is odd, unless its figures have been studied."""
    if family in NKIBENCH:
        return family not in NKIBENCH_DEVELOPMENT
    return family not in SEEN | STUDIED and int(hashlib.sha256(family.encode()).hexdigest()[0], 16) % 2 == 1
