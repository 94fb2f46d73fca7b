"""`nki.language`: tensors, loops, operators and memory regions."""

# ruff: noqa: F401 - the module is the namespace that kernels import

from simulator.dtypes import DTYPES
from simulator.nki.dtypes import PACKED
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
from simulator.nki.language.creation import ndarray
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

globals().update(OPERATORS)
globals().update({name: name for name in (*DTYPES, *PACKED)})
bool_ = "uint8"
