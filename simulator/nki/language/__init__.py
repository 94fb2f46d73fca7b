"""`nki.language`: tensors, loops, operators and memory regions."""

# ruff: noqa: F401 - the module is the namespace that kernels import

from simulator.nki.dtypes import NAMES
from simulator.nki.language.control import (
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
from simulator.nki.language.creation import ndarray, shared_constant
from simulator.nki.language.objects import NKIObject
from simulator.nki.language.operators import OPERATORS
from simulator.nki.language.regions import (
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
from simulator.nki.tensor import NkiTensor

from simulator.nki.language.fill import (  # isort: skip
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
from simulator.nki.language.functions import (  # isort: skip
    broadcast_to,
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
from simulator.nki.language.tiles import (  # isort: skip
    reduce_all as all,
    reduce_max as max,
    reduce_min as min,
    reduce_prod as prod,
    reduce_sum as sum,
)

globals().update(OPERATORS)
globals().update({name: name for name in NAMES})
DType = str
bool_ = "uint8"
tensor = NkiTensor


def par_dim(size: int) -> int:
    """Marks the partition dimension in shapes of older dialects."""
    return size


def __getattr__(name: str) -> object:
    raise AttributeError(f"nki.language.{name} is not modelled")
