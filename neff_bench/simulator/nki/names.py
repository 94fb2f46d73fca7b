"""Names that the dialects have. One of them that is missing here is "not modelled"; any other is an error of the kernel."""

from __future__ import annotations

import sys

from neff_bench.errors import meant
from neff_bench.simulator.errors import KernelError, MissingAttribute, MissingModel
from neff_bench.simulator.recording.recorder import here

KNOWN = {
    "neuronxcc.nki.language": frozenset(
        "all_reduce any device_print expand_dims load_transpose2d random_seed rand tensor dropout"
        " gather_flattened sign mish gelu_dx erf_dx silu_dx gemm_grid gemm_stationary_grid bfp16".split()
    ),
    "neuronxcc.nki.isa": frozenset(
        "builtin_custom_op nc_n_gather nonzero_with_count"
        " nc_matmul_mx quantize_mx rng rand2 set_rng_seed rand_get_state rand_set_state register_alloc register_load"
        " register_move register_store topk exponential activate2 dma_compute tensor_scalar_cumulative".split()
    ),
    "neuronxcc.nki": frozenset({"tensor", "knob", "nki_standalone", "compile", "py"}),
    "nki.language": frozenset("alloc_tiles all_reduce atomic_rmw NkiScalar".split()),
    "nki.isa": frozenset("tensor_copy_dynamic_src tensor_copy_dynamic_dst builtin_custom_op".split()),
    "nki": frozenset({"trace", "knob", "compile", "nki_standalone", "meta", "experimental"}),
    "nki.compiler": frozenset({"kernel_builder", "_internal", "backends", "driver"}),
    "neuronxcc.nki.compiler": frozenset(
        {"kernel_builder", "backends", "ncc_driver", "driver", "multi_buffer", "allocation_scope"}
    ),
}


INDEX_GRIDS = ("arange", "mgrid")
"""What the old dialect has in its language, and no name of the current one is like."""


def missing(module: str, name: str) -> KernelError:
    """Return the error for a name of `module`, at the kernel's line; an AttributeError too, for `hasattr`."""
    if name in KNOWN.get(module, ()):
        return MissingModel(f"{module}.{name} is not modelled", here())
    if module == "nki.language" and name in INDEX_GRIDS:
        return MissingAttribute(f"{module} has no {name!r}; neff-bench check says what takes its place", here())
    known = [word for word in dir(sys.modules.get(module)) if not word.startswith("_")]
    return MissingAttribute(f"{module} has no {name!r}{meant(name, known)}", here())
