"""Adds identity matrices that the PE transposes with: loaded once for each dtype, whether or not a kernel skips the compiler's middle end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from neff_bench.simulator.numpy_dtypes import numpy_dtype
from neff_bench.simulator.program import PARTITIONS, Access, Buffer, Instruction, Program


def with_identities(program: Program, cores: Sequence[Sequence[Instruction]], changes: Sequence[str]) -> Program:
    """Return the program that runs: these instructions behind the loads of their identity matrices, on a PE that keeps its weights.

    `changes`: the parts of which AWS's compiler makes something else than we do, in words; none where it is known to make the same program.
    """
    buffers, loads = _identities(program, cores)
    whole = tuple((*load, *core) for load, core in zip(loads, cores, strict=True))
    return msgspec.structs.replace(
        program,
        buffers=buffers,
        cores=whole,
        before_middle_end=bool(changes),
        what_changes=" and ".join(changes),
        keeps_weights=True,
    )


def _identities(
    program: Program, cores: Sequence[Sequence[Instruction]]
) -> tuple[tuple[Buffer, ...], list[list[Instruction]]]:
    """Return the program's buffers with those of identity matrices, and for each core the loads of what its transposes need."""
    import numpy as np

    buffers, loads = list(program.buffers), []
    for number, core in enumerate(cores):
        kinds = {step.reads["data"].dtype for step in core if step.op == "nc_transpose" and step.engine == "tensor"}
        loads.append([_identity_load(buffers, np.eye(PARTITIONS), kind, number) for kind in sorted(kinds)])
    return tuple(buffers), loads


def _identity_load(buffers: list[Buffer], values: Any, dtype: str, core: int) -> Instruction:
    """Add an identity matrix and its tile to `buffers`; the load of the one into the other."""
    data = values.astype(numpy_dtype(dtype)).tobytes()
    buffers.append(Buffer("identity", "hbm", values.shape, dtype, "constant", core, data))
    buffers.append(Buffer("identity tile", "sbuf", values.shape, dtype, "internal", core))
    to, source = (
        Access(len(buffers) - back, 0, ((values.shape[1], values.shape[0]), (1, values.shape[1])), dtype)
        for back in (1, 2)
    )
    return Instruction("dma_copy", "sync", {"dst": to}, {"src": source}, {})
