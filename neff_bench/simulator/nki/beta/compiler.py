"""Provides `neuronxcc.nki.compiler`: what a kernel says to AWS's compiler."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from neff_bench.simulator.nki import names
from neff_bench.simulator.nki.beta.allocation import Psum, Sbuf

sbuf = Sbuf
psum = Psum


def skip_middle_end_transformations(kernel: Any) -> Any:
    """Accept the option: no load of the kernel is removed, and nothing that it repeats is done once (simulator/compiler/back_end.py)."""
    kernel.middle_end = False
    return kernel


def enable_stack_allocator(kernel: Any = None, **_: Any) -> Any:
    """Return which allocator the compiler uses changes no instruction."""
    return (lambda function: function) if kernel is None else kernel


def force_auto_alloc(kernel: Any) -> Any:
    """Make a kernel whose own places of tensors are not used."""
    kernel.places = False
    return kernel


def no_reorder() -> Any:
    """Accept the request: program order is kept anyway."""
    return nullcontext()


def __getattr__(name: str) -> Any:
    raise names.missing("neuronxcc.nki.compiler", name)
