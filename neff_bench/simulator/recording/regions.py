"""Names memory regions and the sizes of the machine that a kernel may ask for."""

from __future__ import annotations

from enum import Enum

from neff_bench.chips import Chip, chip_for
from neff_bench.simulator.program import PARTITIONS, Memory
from neff_bench.simulator.recording.recorder import is_recording, recorder


class MemoryRegion(Enum):
    """`memory`: what a program calls it. `hbm` is a region of one core that equals every region in HBM, as in AWS's simulator
    (AWS docs, nki/guides/nki_simulator.rst)."""

    memory: Memory

    sbuf = "sbuf"
    psum = "psum"
    private_hbm = "private_hbm"
    shared_hbm = "shared_hbm"
    hbm = "hbm"

    def __init__(self, name: str) -> None:
        self.memory = "hbm" if name.endswith("hbm") else name  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, MemoryRegion):
            return self is other
        return self.memory == other.memory and "hbm" in (self.value, other.value)

    def __hash__(self) -> int:
        return hash(self.memory)


sbuf = MemoryRegion.sbuf
psum = MemoryRegion.psum
private_hbm = MemoryRegion.private_hbm
shared_hbm = MemoryRegion.shared_hbm
hbm = MemoryRegion.hbm


def region_of(buffer: object) -> MemoryRegion:
    """Return a region, or its name as dialect 0.2 spells it. Raises ValueError for anything else."""
    if isinstance(buffer, MemoryRegion):
        return buffer
    name = str(getattr(buffer, "name", buffer))
    return MemoryRegion[name.rpartition(".")[2]]


def is_hbm(buffer: object) -> bool:
    """Return whether a region, or its name, is HBM."""
    return region_of(buffer) == hbm


def is_on_chip(buffer: object) -> bool:
    """Return whether a region, or its name, is SBUF or PSUM."""
    return not is_hbm(buffer)


def is_psum(buffer: object) -> bool:
    """Return whether a region, or its name, is PSUM."""
    return region_of(buffer) is psum


def is_sbuf(buffer: object) -> bool:
    """Return whether a region, or its name, is SBUF."""
    return region_of(buffer) is sbuf


_ANY = chip_for("trn2")
PSUM_BANK_BYTES = _ANY.psum_bank_bytes
PSUM_BANKS = _ANY.psum_partition_bytes // PSUM_BANK_BYTES
"""The same on every chip; so is the number of partitions."""


def _chip() -> Chip:
    return chip_for(recorder().target if is_recording() else "trn2")


def partition_bytes(memory: Memory) -> int:
    """Return the bytes of one partition that a tensor on chip may take."""
    return PSUM_BANKS * PSUM_BANK_BYTES if memory == "psum" else _chip().sbuf_usable_bytes


class TileSize:
    """`nl.tile_size`: limits of one tile."""

    pmax = PARTITIONS
    psum_fmax = PSUM_BANK_BYTES // 4
    psum_bank_fmax = PSUM_BANK_BYTES // 4
    psum_bank_fmax_bytes = PSUM_BANK_BYTES
    psum_num_banks = PSUM_BANKS
    gemm_stationary_fmax = 128
    gemm_moving_fmax = 512
    bn_stats_fmax = 512
    psum_min_align = 4
    sbuf_min_align = 1

    @property
    def sbuf_fmax_bytes(self) -> int:
        """Bytes of one SBUF partition that AWS calls usable, on the target that is recorded for."""
        return _chip().sbuf_fmax_bytes

    @property
    def sbuf_fmax(self) -> int:
        """The same in float32 elements."""
        return self.sbuf_fmax_bytes // 4

    @property
    def sbuf_size_bytes(self) -> int:
        """Bytes of SBUF in all partitions, with those that no kernel may use."""
        return _chip().sbuf_partition_bytes * PARTITIONS

    @property
    def total_available_sbuf_size(self) -> int:
        """The older name of `sbuf_fmax_bytes` (AWS docs, nki/migration: the same value; read 2026-11-23)."""
        return self.sbuf_fmax_bytes


tile_size = TileSize()
