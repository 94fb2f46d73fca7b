"""Provides a stand-in for torch_xla and torch_neuronx: the device is the CPU, and there is nothing to wait for.

It serves scripts that move tensors to `xla_device()` and call kernels on them. Many import torch_neuronx for its effect alone:
it brings the device. What the stand-in lacks is refused by name.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any


def install() -> None:
    """Make `import torch_xla` and `import torch_neuronx` work where torch is installed and torch_xla is not."""
    if find_spec("torch") is None or "torch_xla" in sys.modules or find_spec("torch_xla") is not None:
        return
    package = _module("torch_xla", device=_device, sync=_nothing, __path__=[], __version__="0 (neff-bench stand-in)")
    core = _module("torch_xla.core", __path__=[])
    model = _module(
        "torch_xla.core.xla_model",
        xla_device=_device,
        mark_step=_nothing,
        wait_device_ops=_nothing,
        xrt_world_size=_one,
    )
    package.core, core.xla_model = core, model  # type: ignore[attr-defined]
    _module("torch_neuronx", __path__=[], __version__="0 (neff-bench stand-in)")


def _module(name: str, **members: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(members)

    def missing(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise AttributeError(
            f"{name}.{attribute} is not in the stand-in for torch_xla and torch_neuronx that `neff-bench run` gives a script; "
            "it has xla_device, mark_step and sync"
        )

    vars(module)["__getattr__"] = missing
    sys.modules[name] = module
    return module


def _device(*_: Any, **__: Any) -> Any:
    import torch

    return torch.device("cpu")


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _one() -> int:
    return 1
