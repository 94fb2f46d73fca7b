"""Attention of one tile, attention of several heads and a product, of one team in yahavb/trainium-agent-labs: trn2, NKI 0.6.0, float32.

A row is the `total_time` of neuron-explorer. That of the first five attention kernels is the median of five profiled runs (compare_20261010_210528.json);
of all others there is one profile, with the shares of the time in which engines and DMA were active (results.json of the runs 20261010-204410, -213016
and -202005). Kernels are built for a logical core of one; the fast one of several heads splits them where it runs on two, and what is active there is
of a core that is not said. The runtime's own mean over 2,000 runs is 3 to 8 us below a profile. Left out: the same attention kernels in the second set
of profiles, one of which is a reconstruction; the balanced kernel, of which there is a mean alone; the product it is compared with, whose file is not
the repository's; nki-library's attention, of a version that is not said. The repository has no snapshot that could be cloned: the checkout needs the
kernels' files alone, at their paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from neff_bench.simulator.program import Program
from validation.correlation.chipboost import REPOSITORY
from validation.correlation.measured import Measured
from validation.correlation.origin import built, present

_FOLDER = "projects/Team14 _(65-69)_Hashbrowns"
_ACTIVE = ("tensor", "vector", "scalar", "dma")


class Kernel(NamedTuple):
    """file: without `.py`. shares: of the time in which each of tensor, vector, scalar and dma was active, where that is known."""

    family: str
    commit: str
    file: str
    function: str
    inputs: Mapping[str, tuple[int, ...]]
    us: float
    shares: tuple[float, ...] = ()
    lnc: int = 1


def _attention(shape: tuple[int, ...], file: str, us: float, *shares: float, lnc: int = 1) -> Kernel:
    """shape: tokens, heads if there are several, channels of a head."""
    family, function = ("heads_attention", "nki_mha_") if len(shape) == 3 else ("tile_attention", "nki_attention_")
    commit = "1ef59ac" if file in _MEDIANS else "f6a60db"
    return Kernel(family, commit, file, function, dict.fromkeys("qkv", shape), us, shares, lnc)


def _product(k: int, m: int, n: int, us: float, *shares: float) -> Kernel:
    inputs = {"lhsT": (k, m), "rhs": (k, n)}
    return Kernel("resident_matmul", "f6a60db", "matmul_parallel", "nki_matmul_hoist_load_", inputs, us, shares)


_TILES = ((128, 64), (64, 128), (96, 32))
_HEADS = ((128, 16, 64), (128, 16, 128), (96, 8, 32), (128, 32, 128))
_MEDIANS = {
    "my_attention_v0": (23.71, 23.11, 22.86),
    "my_attention": (23.72, 23.25, 22.92),
    "my_attention_v2_bf16": (23.02, 22.92, 22.26),
    "my_attention_v3_dmaT": (22.10, 21.38, 21.25),
    "my_attention_v4_kchunk": (25.01, 23.62, 23.27),
}
_PROFILES = {
    "my_attention_v5_hwdge": (
        (22.954964, .19353, .17336, .23873, .24995), (22.174132, .17182, .17623, .25303, .24491),
        (22.201632, .17934, .15588, .24199, .26087),
    ),
    "my_attention_v6_hwdge_bf16": (
        (22.772465, .16745, .17864, .24112, .25387), (21.789132, .16170, .18651, .25678, .24151),
        (22.222466, .16342, .16905, .24266, .23230),
    ),
    "mha_v0_loop": (
        (79.107376, .44418, .30510, .23938, .32065), (80.725707, .46440, .30300, .23638, .44595),
        (43.047433, .35490, .28325, .25385, .31150), (130.12813, .55259, .35520, .27885, .47097),
    ),
    "mha_v6_loop": (
        (68.16156, .41125, .27688, .43452, .40178), (75.555715, .39667, .26415, .44918, .45395),
        (40.778269, .32834, .24437, .44016, .31424), (135.717288, .41515, .26452, .50033, .46018),
    ),
    "mha_fast": (
        (57.973243, .51949, .25422, .38091, .22099), (55.883246, .40268, .25595, .44055, .38776),
        (34.384113, .39514, .22641, .35772, .18863), (82.74487, .52240, .31281, .51547, .40813),
    ),
}  # fmt: skip
_TWO_CORES = (41.329102, 41.794935, 29.073288, 53.589083)

KERNELS = (
    *(_attention(shape, file, us) for file, times in _MEDIANS.items() for shape, us in zip(_TILES, times, strict=True)),
    *(
        _attention(shape, file, *profile)
        for file, profiles in _PROFILES.items()
        for shape, profile in zip(_TILES if file.startswith("my") else _HEADS, profiles, strict=True)
    ),
    *(_attention(shape, "mha_fast", us, lnc=2) for shape, us in zip(_HEADS, _TWO_CORES, strict=True)),
    _product(128, 128, 512, 21.529133, .18192, .15918, .09665, .28055), _product(256, 256, 1024, 29.708286, .37647, .17388, .06957, .42796),
    _product(512, 128, 512, 25.861626, .33180, .13824, .08429, .39795), _product(256, 512, 1024, 38.405773, .48812, .19761, .10413, .40597),
)  # fmt: skip


def kernels(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each. Raises FileNotFoundError where the checkout lacks a kernel's file."""
    for one in KERNELS:
        kernel = present(checkouts / REPOSITORY / _FOLDER / f"{one.file}.py")
        shapes = ", ".join(dict.fromkeys("x".join(map(str, shape)) for shape in one.inputs.values()))
        active = {name: share * one.us for name, share in zip(_ACTIVE, one.shares, strict=False)}
        yield Measured(
            REPOSITORY, one.commit, one.family, f"{one.family} {shapes} LNC {one.lnc}", f"{one.file} {shapes} LNC {one.lnc}", "trn2",
            one.lnc, "nki", one.us, partial(recorded, kernel, one), active, variants=True, new=True,
        )  # fmt: skip


def recorded(kernel: Path, one: Kernel) -> Program:
    """Return the kernel as the team's benchmark builds it."""
    return built(f"{kernel}:{one.function}", one.inputs, "float32", lnc=one.lnc)
