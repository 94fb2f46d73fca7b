"""Provides `nki.collectives`: communication between ranks. The operations are declared in
`neff_bench.simulator.operations.communication` and `variable_collectives`."""

# ruff: noqa: F401 - the module is the namespace that kernels import

from __future__ import annotations

from typing import Any

from neff_bench.simulator.nki.names import missing
from neff_bench.simulator.operations.communication import (
    all_gather,
    all_reduce,
    all_to_all,
    collective_permute,
    collective_permute_implicit,
    collective_permute_implicit_current_processing_rank_id,
    collective_permute_implicit_reduce,
    rank_id,
    reduce_scatter,
)
from neff_bench.simulator.operations.variable_collectives import all_gather_v, all_to_all_v
from neff_bench.simulator.recording.replica_group import ReplicaGroup


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing("nki.collectives", name)
