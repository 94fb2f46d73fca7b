"""Says which physical cores share a bank of HBM, and so slow each other down ("noisy neighbor")."""

from __future__ import annotations

CORES_PER_BANK = 2
"""2i and 2i+1 on trn2 (AWS Neuron docs, neuron-runtime/explore/device-memory.rst); both cores of a device of trn1 and inf2 (one memory
of 32 GiB a device); on trn3 inferred from trn2."""


def bank_of(core: int) -> int:
    """Return the bank of a physical core, both numbered over the whole host."""
    return core // CORES_PER_BANK


def cores_of(banks: set[int]) -> set[int]:
    """Return the physical cores of banks."""
    return {bank * CORES_PER_BANK + part for bank in banks for part in range(CORES_PER_BANK)}
