"""Puts the dialect into `sys.modules` under the names that kernels import."""

from __future__ import annotations

import builtins
import math
import sys
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

_MARK = "neff-bench"


def sdk_present() -> bool:
    """Whether the real package is installed. `nki` alone proves nothing: an empty placeholder has that name."""
    module = sys.modules.get("nki")
    if module is not None:
        return getattr(module, "__recorder__", None) != _MARK and "nki.isa" in sys.modules
    try:
        return find_spec("nki.isa") is not None
    except (ImportError, ValueError):
        return False


def install() -> None:
    """Make `import nki` give this recorder, unless the real package is there. Idempotent.

    Kernels may use `math` without importing it, as the NKI compiler lets them; it becomes a builtin.
    """
    if sdk_present() or getattr(sys.modules.get("nki"), "__recorder__", None) == _MARK:
        return
    from simulator.dtypes import DTYPES
    from simulator.nki import isa, jit, language
    from simulator.nki.dtypes import PACKED
    from simulator.nki.isa import enums

    dtypes = {name: name for name in (*DTYPES, *PACKED)}
    nki = _module("nki", jit=jit.jit, isa=isa, language=language, dtype=SimpleNamespace(**dtypes))
    nki.__recorder__ = _MARK  # type: ignore[attr-defined]
    nki.__path__ = []
    sys.modules["nki.isa"] = isa
    sys.modules["nki.isa.constants"] = enums
    isa.constants = enums  # type: ignore[attr-defined]
    sys.modules["nki.language"] = language
    builtins.math = math  # type: ignore[attr-defined]


def _module(name: str, **members: object) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module
    return module
