"""Puts the embedded NKI in the place of AWS's packages, for a process that launches kernels."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neff_bench.simulator.nki.launch import Launch


def embed(hear: Callable[[Launch], None], lnc: int | None) -> None:
    """Make `import nki`, `import neuronxcc.nki` and `import torch_xla` work in this process. `hear` gets each launch of a
    kernel; `lnc`: physical cores of a launch without a grid, None for what AWS takes."""
    from neff_bench.simulator.nki import host
    from neff_bench.simulator.nki.install import install, install_host

    install()
    install_host()
    _install_torch_xla()
    host.listen(hear, lnc)


def run_script(file: str, target: str | None, hear: Callable[[Launch], None], lnc: int | None) -> None:
    """Run a Python script in this process as Python runs it. `target`: the chip, None for what the environment says; the rest is as for `embed`."""
    if target is not None:
        os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = target
    embed(hear, lnc)
    sys.argv = [file]
    sys.path.insert(0, str(Path(file).resolve().parent))
    runpy.run_path(file, run_name="__main__")


@contextmanager
def embedded(hear: Callable[[Launch], None], lnc: int | None) -> Iterator[None]:
    """Hear every launch of a kernel until the end of the context."""
    from neff_bench.simulator.nki import host
    from neff_bench.simulator.nki.install import MADE_UP, undone

    with undone(*MADE_UP, "torch_xla", "torch_neuronx"):
        embed(hear, lnc)
        try:
            yield
        finally:
            host.listen_no_more()


def _install_torch_xla() -> None:
    """Stand in for torch_xla and torch_neuronx where torch is installed and torch_xla is not: the device is the CPU, and there is
    nothing to wait for. Many scripts import torch_neuronx for its effect alone: it brings the device."""
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
