"""Provides `nki.language`: tensors, loops, operators and memory regions."""

# ruff: noqa: F401 - the module is the namespace that kernels import

from neff_bench.simulator.nki.language.broadcasting import broadcast_to
from neff_bench.simulator.nki.language.control import (
    affine_range,
    ds,
    dynamic_range,
    fori_loop,
    no_reorder,
    num_programs,
    program_id,
    program_ndim,
    sequential_range,
    static_range,
    while_loop,
)
from neff_bench.simulator.nki.language.fill import (
    device_print,
    empty_like,
    full,
    load,
    load_transpose2d,
    ones,
    rand,
    random_seed,
    shared_identity_matrix,
    store,
    zeros,
    zeros_like,
)
from neff_bench.simulator.nki.language.functions import (
    dropout,
    expand_dims,
    gather_flattened,
    matmul,
    mean,
    rms_norm,
    softmax,
    transpose,
    var,
    where,
)
from neff_bench.simulator.nki.language.objects import NKIObject
from neff_bench.simulator.nki.language.operators import OPERATORS
from neff_bench.simulator.nki.language.tiles import reduce_all as all
from neff_bench.simulator.nki.language.tiles import reduce_max as max
from neff_bench.simulator.nki.language.tiles import reduce_min as min
from neff_bench.simulator.nki.language.tiles import reduce_prod as prod
from neff_bench.simulator.nki.language.tiles import reduce_sum as sum
from neff_bench.simulator.nki.names import missing
from neff_bench.simulator.numpy_dtypes import DTYPES
from neff_bench.simulator.recording.creation import ndarray, shared_constant
from neff_bench.simulator.recording.regions import (
    MemoryRegion,
    hbm,
    is_hbm,
    is_on_chip,
    is_psum,
    is_sbuf,
    private_hbm,
    psum,
    sbuf,
    shared_hbm,
    tile_size,
)
from neff_bench.simulator.recording.tensor import NkiTensor

globals().update(OPERATORS)
globals().update({name: name for name in DTYPES})
DType = str
bool_ = "uint8"
tensor = NkiTensor


def par_dim(size: int) -> int:
    """Mark the partition dimension in shapes of older dialects."""
    return size


def __getattr__(name: str) -> object:
    raise missing("nki.language", name)
