"""Provides kernels that AWS ships in its compiler only: they can be imported, and are refused by name when they are called. Two of the
functions that they share are public since: nki-library has them in utils/kernel_helpers.py."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from neff_bench.simulator.errors import NotModelledError
from neff_bench.simulator.nki.beta.grid import nc, num_programs, program_id, program_ndim
from neff_bench.simulator.recording.recorder import here

PACKAGES = (
    "neuronxcc.nki.kernels",
    "neuronxcc.nki._private_kernels",
    "neuronxcc.nki._pre_prod_kernels",
    "neuronxcc.nki._private",
    "neuronxcc.nki.nccl",
    "neuronxcc.private_nkl",
    "neuronxcc.nki.compiler.backends",
    "neuronxcc.starfish",
)
_RELEASE = "neuronx-cc up to release 2.29"


class ClosedKernel:
    """A kernel without public source, or an enumeration beside one. Calling it, or launching it on a grid, raises
    NotModelledError."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getitem__(self, grid: Any) -> ClosedKernel:
        return self

    def __getattr__(self, name: str) -> ClosedKernel:
        if name.startswith("__"):
            raise AttributeError(name)
        return ClosedKernel(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise NotModelledError: the source of this kernel is closed."""
        raise NotModelledError(f"{self.__name__} is a closed kernel: its source ships in {_RELEASE} only", here())


def get_program_sharding_info() -> tuple[int, int, int]:
    """Return the dimensions of the grid, programs on its first axis, and the place of this one there; (0, 1, 0) without a grid."""
    dimensions = program_ndim()
    return (dimensions, num_programs(0), program_id(0)) if dimensions else (0, 1, 0)


def get_verified_program_sharding_info(
    kernel_name: str = "", allowed_ndims: Any = None, max_sharding: int | None = None
) -> tuple[int, int, int]:
    """Return the same. What the public function is given to verify, it does not."""
    return get_program_sharding_info()


_PUBLIC = {
    f"neuronxcc.nki._pre_prod_kernels.util.kernel_helpers.{function.__name__}": function
    for function in (get_program_sharding_info, get_verified_program_sharding_info)
} | {  # the names of nl.nc before it was public; github aws-neuron/neuronx-distributed-inference imports both
    "neuronxcc.nki.compiler.backends.neuron.dimensions.VNC": nc,
    "neuronxcc.starfish.penguin.targets.nki.private_api.vnc": nc,
}


class _Closed(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not name.startswith(PACKAGES):
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        def kernel(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            full = f"{module.__name__}.{name}"
            return _PUBLIC[full] if full in _PUBLIC else ClosedKernel(full)

        module.__getattr__ = kernel  # type: ignore[method-assign]


def install() -> None:
    """Make the packages importable. Idempotent."""
    if not any(isinstance(finder, _Closed) for finder in sys.meta_path):
        sys.meta_path.append(_Closed())
