"""Provides `nki.isa`: the declared operations, and the enumerations and types of their arguments."""

# ruff: noqa: F401 - the module is the namespace that kernels import

from typing import Any

from neff_bench.simulator.errors import NkiValidationError
from neff_bench.simulator.nki.names import missing
from neff_bench.simulator.operations import FUNCTIONS
from neff_bench.simulator.recording.enums import (
    dge_mode,
    dma_engine,
    engine,
    get_nc_sub_version,
    get_nc_version,
    gpsimd_engine,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
    scalar_engine,
    tensor_engine,
    unknown_engine,
    vector_engine,
)
from neff_bench.simulator.recording.recorder import NkiInstruction
from neff_bench.simulator.recording.register import VirtualRegister
from neff_bench.simulator.recording.tensor import NkiTensor

globals().update(FUNCTIONS)


def __getattr__(name: str) -> Any:
    raise missing("nki.isa", name)
