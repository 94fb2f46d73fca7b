"""What every instruction of a kernel goes through while it is recorded, compiled: an extension behind Python's stable ABI.

The plain forms are in neff_bench.simulator.recording and neff_bench.simulator.operations, beside the places that choose; the extension
calls them for what is not common.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

import msgspec

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.program import Access, Instruction
from neff_bench.system.compiled import usable

Form = TypeVar("Form", bound=Callable[..., Any])

PLAIN: dict[str, Callable[..., Any]] = {}
"""The plain forms of `compiled_form`, by name."""


@cache
def compiled() -> Any:
    """Return the extension; None where it is not compiled, or from other sources than those that lie here, or for another machine."""
    if usable("recorder") is None:
        return None
    try:
        core: Any = import_module(f"{__name__}.core")
    except ImportError:
        return None
    core.bind_steps(Instruction, Access, tuple(SIZE_BYTES), msgspec.msgpack.Encoder().encode)
    return core


def compiled_form(plain: Form) -> Form:
    """Replace a function by the one of this name in the extension, where there is one. That one calls `plain` for uncommon arguments."""
    PLAIN[plain.__name__] = plain
    core = compiled()
    if core is None:
        return plain
    core.bind(plain.__name__, plain)
    made: Form = getattr(core, plain.__name__)
    return made
