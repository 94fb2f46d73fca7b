"""Other people's files as modules: with the imports that their harness puts before them, and without their host's packages."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

_HOST_PACKAGES = (
    "nkipy",
    "torch",
    "torch_xla",
    "torch_neuronx",
    "neuronx_distributed",
    "neuronx_distributed_inference",
    "optimum",
    "jax",
    "tqdm",
    "matplotlib",
    "pandas",
    "qiskit",
    "einops",
    "loguru",
    "vllm",
    "nkilib",
    "triton_viz",
    "transformers",
)


def load(path: Path, prelude: str) -> ModuleType:
    """Return the file as a module, with the imports that its harness puts before it."""
    from neff_bench.simulator.errors import KernelError

    outside = next(folder for folder in path.parents if not (folder / "__init__.py").is_file())
    sys.path[:0] = [str(path.parent), str(outside)]  # where a script's own folder, and its package, are imported from
    if not prelude:
        spec = importlib.util.spec_from_file_location(_dotted_name(path), path)
        if spec is None or spec.loader is None:
            raise FileNotFoundError(path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        with contextlib.suppress(KernelError):  # a script that launches its kernel after it has defined it
            spec.loader.exec_module(module)
        return module
    module = ModuleType(re.sub(r"\W", "_", path.stem))
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where dataclasses look for their fields' types
    exec(prelude, vars(module))  # noqa: S102 - our own imports
    exec(compile(path.read_text(), str(path), "exec"), vars(module))  # noqa: S102 - the kernel that was asked for
    return module


def _dotted_name(path: Path) -> str:
    """Return the name of a file among its packages, which are entered without being run: only its relative imports need them."""
    name = re.sub(r"\W", "_", path.stem)
    folders: list[Path] = []
    for folder in path.parents:
        if not (folder / "__init__.py").is_file():
            break
        folders.insert(0, folder)
    prefix = ""
    for folder in folders:
        prefix = f"{prefix}wild_{folder.name}" if not prefix else f"{prefix}.{folder.name}"
        package = ModuleType(prefix)
        package.__path__ = [str(folder)]
        sys.modules[prefix] = package
    return f"{prefix}.{name}" if prefix else name


def replace_host_packages() -> None:
    """Put empty packages in the places of those that are not installed. Idempotent."""
    if not any(isinstance(finder, _HostPackages) for finder in sys.meta_path):
        sys.meta_path.append(_HostPackages())


class _HostPackages(MetaPathFinder, Loader):
    """Empty packages in the places of those that are not installed."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        package = name.partition(".")[0]
        if package not in _HOST_PACKAGES or PathFinder.find_spec(package):
            return None  # an installed package asks for optional parts of itself, which must stay absent
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        def anything(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            if name == "nki_jit":  # torch_neuronx; a case decorates the function that stays
                return lambda function=None, **_: function or (lambda other: other)
            return MagicMock(name=f"{module.__name__}.{name}")

        module.__getattr__ = anything  # type: ignore[method-assign]
