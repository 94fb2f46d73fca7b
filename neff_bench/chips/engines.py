"""Names the engines of a NeuronCore, in one order everywhere: that of the engine index in NTFF files."""

from __future__ import annotations

from typing import Literal

Engine = Literal["tensor", "scalar", "gpsimd", "vector", "sync"]

ENGINES: tuple[Engine, ...] = ("tensor", "scalar", "gpsimd", "vector", "sync")
"""The engines by index: 0 PE, 1 Activation, 2 Pool, 3 DVE, 4 SP in the compiler's names."""

TITLES = ("Tensor", "Scalar", "GpSimd", "Vector", "Sync")
"""The names by engine index, as profiles and people write them."""

SHOWN: tuple[Engine, ...] = ("tensor", "vector", "scalar", "gpsimd", "sync")
"""In the order of the columns of tables, which differs."""
