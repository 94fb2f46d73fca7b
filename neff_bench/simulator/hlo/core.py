"""Keeps one physical core while a graph is recorded: its tensors in HBM, its tiles, and how AWS's compiler moves them (docs/model.md, Evidence)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neff_bench.simulator.hlo.graph import Value
from neff_bench.simulator.hlo.pool import Pool
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.numpy_dtypes import numpy_dtype
from neff_bench.simulator.program import PARTITIONS

IDENTITY_BYTES = PARTITIONS * 4
"""Bytes of each partition that the widest identity matrix takes."""


@dataclass
class Core:
    """`texts`: the HLO instruction of each name. `generation`: of the NeuronCore."""

    hbm: dict[Value, Any]
    pool: Pool
    texts: Mapping[str, str]
    generation: int
    identities: dict[str, Any] = field(default_factory=dict)

    @property
    def has_hardware_descriptors(self) -> bool:
        """NeuronCore-v2 has software descriptors only: all DMAs of the inf2 profiles are triggered by GpSimd."""
        return self.generation > 2

    def load(self, dst: Any, src: Any) -> None:
        """Load from HBM to SBUF."""
        engine = nisa.engine.unknown if self.has_hardware_descriptors else nisa.engine.gpsimd
        nisa.dma_copy(dst=dst, src=src, engine=engine)

    def store(self, dst: Any, src: Any) -> None:
        """Store from SBUF to HBM, on a queue of its own, so that it holds up no loads. Only software descriptors change the dtype on the way."""
        hardware = self.has_hardware_descriptors and dst.dtype == src.dtype
        nisa.dma_copy(dst=dst, src=src, engine=nisa.engine.scalar if hardware else nisa.engine.gpsimd)

    def evict(self, dst: Any, src: Any) -> None:
        """Copy from PSUM to SBUF, on Scalar: ACTIVATE on inf2, COPY or CAST in the NEFFs of trn2."""
        if self.generation > 2:
            nisa.tensor_copy(dst=dst, src=src, engine=nisa.engine.scalar)
        else:
            nisa.activation(dst=dst, op="copy", data=src)

    def transposed_dtype(self, dtype: str) -> str:
        """Return what a transpose writes to PSUM: float32 on inf2 (its psum_read_bytes), the dtype itself from NeuronCore-v3."""
        return dtype if self.generation > 2 else "float32"

    def identity(self, dtype: str) -> Any:
        """Return the identity matrix in SBUF that a PE transpose multiplies with; a weight of the NEFF, loaded once.

        On inf2 its descriptors are made at compile time (a WRITE on Sync starts them).
        """
        if dtype not in self.identities:
            tile = self.pool.sbuf((PARTITIONS,), dtype)
            weight = nl.shared_constant(np.eye(PARTITIONS, dtype=numpy_dtype(dtype)))
            mode = nisa.dge_mode.unknown if self.has_hardware_descriptors else nisa.dge_mode.none
            nisa.dma_copy(dst=tile, src=weight, dge_mode=mode)
            self.identities[dtype] = tile
        return self.identities[dtype]
