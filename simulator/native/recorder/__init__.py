"""What every instruction of a kernel goes through while it is recorded, compiled: an extension behind Python's stable ABI.

The plain forms are in neff_bench.simulator.recording and neff_bench.simulator.operations, beside the places that choose; the extension
calls them for what is not common.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

from neff_bench.simulator.native.sources import digest


@cache
def compiled() -> ModuleType | None:
    """The extension; None where it is not compiled, or from other sources than those that lie here."""
    try:
        from neff_bench.simulator.native.recorder import core
    except ImportError:
        return None
    return core if digest() == core.BUILT_FROM else None
