"""A kernel that was launched on one core, as a profile of a logical core of two shows it."""

from __future__ import annotations

from msgspec.structs import replace

from neff_bench.simulator.program import Program


def beside_idle_core(alone: Program) -> Program:
    """Return the program of one core on the first core of two. On the second core there is what the runtime does around every kernel, which
    counts in a profile's active times (traces of github allenkchau/trainium-kernel-fusion @d709ddf1)."""
    return replace(alone, lnc=2, cores=(*alone.cores, ()))
