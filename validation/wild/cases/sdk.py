"""aws-neuron/aws-neuron-sdk: the tutorials of the SDK documentation, in both dialects."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from validation.wild.cases import microscaling
from validation.wild.cases.case import Case, floats, mamba
from validation.wild.cases.samples import states

_case = partial(Case, "aws-neuron/aws-neuron-sdk", "81ce03a")
_EXAMPLES = "nki/examples/"


def _factors(random: np.random.Generator) -> dict[str, Any]:
    return {"lhsT": floats(random, 1024, 2048), "rhs": floats(random, 1024, 1024)}


def _addends(random: np.random.Generator) -> dict[str, Any]:
    return {name: floats(random, 4, 3) for name in ("a_input", "b_input")}


CASES: tuple[Case, ...] = (
    *(
        _case(
            _EXAMPLES + "matrix_multiplication/matrix_multiplication_nki_kernels.py",
            f"nki_matmul_{name}_",
            _factors,
            lambda lhsT, rhs: lhsT.T @ rhs,
        )
        for name in ("tiled", "hoist_load", "block_free_dimension", "fully_optimized")
    ),
    *(
        _case(
            _EXAMPLES + "fused_mamba/mamba_nki_kernels.py",
            f"mamba_v{version}",
            states,
            lambda delta, u, A, B, C: mamba(delta, u, A, B, C),
        )
        for version in (1, 2, 3)
    ),
    _case(
        _EXAMPLES + "average_pool2d/average_pool2d_nki_kernels.py",
        "tensor_avgpool_kernel",
        lambda random: {"in_tensor": floats(random, 128, 8, 8), "pool_size": 2},
        lambda in_tensor, pool_size: in_tensor.reshape(-1, 4, 2, 4, 2).mean((2, 4)),
    ),
    _case(
        _EXAMPLES + "transpose2d/transpose2d_nki_kernels.py",
        "tensor_transpose2D_kernel_",
        lambda random: {"in_tensor": floats(random, 128, 60), "shape2D": (6, 10)},
        lambda in_tensor, shape2D: in_tensor.reshape(-1, *shape2D).transpose(0, 2, 1).reshape(in_tensor.shape),
    ),
    *(
        _case(
            _EXAMPLES + f"getting_started_{host}.py",
            "nki_tensor_add_kernel",
            _addends,
            lambda a_input, b_input: a_input + b_input,
        )
        for host in ("torch", "jax", "baremetal")
    ),
    *microscaling.cases(partial(_case, "nki/deep-dives/src/mxfp-matmul/mx_kernels.py"), packed_scale=True),
)
