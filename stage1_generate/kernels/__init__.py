"""Holds the kernels: `<name>.py` declares one (`KERNEL`), `<name>_nki.py`, `<name>_xla.py` and
`<name>_torch.py` are our own implementations of it, `<name>_nkilib.py` calls nki-library where its kernel takes objects."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neff_bench.stage1_generate.kernel import Kernel

FOLDER = Path(__file__).parent


@cache
def names() -> tuple[str, ...]:
    """Return the names of all declared kernels, sorted."""
    stems = (path.stem for path in FOLDER.glob("*.py"))
    return tuple(
        sorted(
            stem
            for stem in stems
            if not stem.endswith(("_nki", "_xla", "_torch", "_nkilib")) and not stem.startswith("_")
        )
    )


def load(name: str) -> Kernel:
    """Return the declaration of a kernel in `names()`. Raises `KeyError` for any other name."""
    if name not in names():
        raise KeyError(name)
    kernel: Kernel = import_module(f"{__name__}.{name}").KERNEL
    return kernel
