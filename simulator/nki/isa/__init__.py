"""`nki.isa`: each function checks its operands and records one instruction under its own name."""

# ruff: noqa: F401 - the module is the namespace that kernels import

from neff_bench.simulator.errors import NkiValidationError
from neff_bench.simulator.nki.isa.activate import activate2, activation, activation_reduce
from neff_bench.simulator.nki.isa.dma import dma_compute, dma_copy, dma_transpose
from neff_bench.simulator.nki.isa.elementwise import memset, tensor_copy, tensor_scalar, tensor_tensor
from neff_bench.simulator.nki.isa.gather import local_gather, nc_n_gather, nc_stream_shuffle
from neff_bench.simulator.nki.isa.matmul import nc_matmul, nc_transpose
from neff_bench.simulator.nki.isa.mx import nc_matmul_mx, quantize_mx
from neff_bench.simulator.nki.isa.random import dropout, rand2, rand_get_state, rand_set_state, rng, set_rng_seed
from neff_bench.simulator.nki.isa.reduce import (
    bn_aggr,
    bn_stats,
    exponential,
    max8,
    reciprocal,
    scalar_tensor_tensor,
    tensor_partition_reduce,
    tensor_reduce,
    tensor_scalar_cumulative,
    tensor_scalar_reduce,
    tensor_tensor_scan,
)
from neff_bench.simulator.nki.isa.select import (
    affine_select,
    iota,
    nc_find_index8,
    nc_match_replace8,
    nonzero_with_count,
    range_select,
    select_reduce,
    sequence_bounds,
    tensor_copy_predicated,
    topk,
)
from neff_bench.simulator.nki.isa.sync import (
    core_barrier,
    register_alloc,
    register_load,
    register_move,
    register_store,
    sendrecv,
)
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
from neff_bench.simulator.recording.tensor import NkiTensor, VirtualRegister


def __getattr__(name: str) -> object:
    raise AttributeError(f"nki.isa.{name} is not modelled")
