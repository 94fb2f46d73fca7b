"""Holds the words that the NKI compiler knows without an import: `sbuf`, `psum` and `hbm`, of which `view` makes a tensor."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.recording.creation import ndarray
from neff_bench.simulator.recording.regions import MemoryRegion
from neff_bench.simulator.recording.tensor import NkiTensor


class Keyword:
    """A memory by its word. It can stand where a buffer is expected."""

    def __init__(self, region: MemoryRegion) -> None:
        self.region = region
        self.name = region.name

    def view(self, dtype: Any, shape: Any) -> NkiTensor:
        """Return a new tensor there."""
        return ndarray(shape, dtype, self.region)


KEYWORDS = {name: Keyword(MemoryRegion[name]) for name in ("sbuf", "psum", "hbm")}
