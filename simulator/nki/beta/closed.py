"""Kernels that AWS ships in its compiler only: they can be imported, and are refused by name when they are called."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from neff_bench.simulator.errors import NotModelledError
from neff_bench.simulator.recording.recorder import here

PACKAGES = (
    "neuronxcc.nki.kernels",
    "neuronxcc.nki._private_kernels",
    "neuronxcc.nki._pre_prod_kernels",
    "neuronxcc.nki._private",
    "neuronxcc.private_nkl",
)
_RELEASE = "neuronx-cc up to release 2.29"


class ClosedKernel:
    """A kernel without public source. Calling it, or launching it on a grid, raises NotModelledError."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getitem__(self, grid: Any) -> ClosedKernel:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise NotModelledError: the source of this kernel is closed."""
        raise NotModelledError(f"{self.__name__} is a closed kernel: its source ships in {_RELEASE} only", here())


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
            return ClosedKernel(f"{module.__name__}.{name}")

        module.__getattr__ = kernel  # type: ignore[method-assign]


def install() -> None:
    """Make the packages importable. Idempotent."""
    if not any(isinstance(finder, _Closed) for finder in sys.meta_path):
        sys.meta_path.append(_Closed())
