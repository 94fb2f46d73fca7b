"""Says what each door makes of a kernel of the user's own: its name, its LNC, its shapes in words, its case."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from neff_bench.chips import chip_for
from neff_bench.neffs.case import Case
from neff_bench.neffs.errors import CaseError

LNC_ENVIRONMENT = "NEURON_LOGICAL_NC_CONFIG"
"""Physical cores in a logical core of this host, for AWS's runtime, and from NKI 0.7 on for its launches too."""
_LAUNCH_LNC = 1
"""AWS docs nki/api/nki.jit: "The LNC degree can be set at the callsite using bracket syntax: kernel[lnc](args). The default is
LNC=1." """
_VARIANT_MAX = 80


def kernel_name(entry: str) -> str:
    """Return `my_kernels.rmsnorm` of `folder/my_kernels.py:rmsnorm` and of `package.my_kernels:rmsnorm`: as it is written, but for
    characters that no directory may have."""
    file, _, function = entry.rpartition(":")
    stem = Path(file).stem if file.endswith(".py") else file.rpartition(".")[2]
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", f"{stem}.{function}" if stem else function).lstrip(".+-")


def check_own(implementation: str) -> str:
    """Return the implementation of a function of the user's own, as Python and the agents' doors take it. Raises `CaseError`."""
    if implementation not in ("nki", "xla"):
        raise CaseError(f"implementation {implementation!r}: expected nki, or xla for a jax function")
    return implementation


def default_lnc(target: str) -> int:
    """Return the physical cores of a kernel for which nobody says them: what a launch without a grid has on AWS. Raises `UnknownChip`."""
    named = os.environ.get(LNC_ENVIRONMENT, "")
    return int(named) if named in map(str, chip_for(target).lncs) else _LAUNCH_LNC


def shapes_in_words(shapes: Iterable[Sequence[int]]) -> str | None:
    """Return `3*128x512 512x64`: equal neighbours counted. None for no shape."""
    groups = [("x".join(map(str, shape)), len(list(same))) for shape, same in groupby(map(tuple, shapes))]
    return " ".join(f"{count}*{shape}" if count > 1 else shape for shape, count in groups) or None


def variant_of(shapes: Iterable[Sequence[int]]) -> str:
    """Return `128x512-512` in the name of a bundle; a hash where that is long."""
    text = "-".join("x".join(map(str, shape)) for shape in shapes)
    return text if len(text) <= _VARIANT_MAX else hashlib.sha256(text.encode()).hexdigest()[:8]


def own_case(
    kernel: str,
    inputs: Sequence[tuple[tuple[int, ...], str]],
    target: str,
    lnc: int | None,
    apart: str = "",
) -> Case:
    """Return the case of a kernel whose dimensions have no names. `inputs`: shapes and dtypes; `apart`: tells it from others of the
    same shapes. Raises `CaseError`."""
    variant = "-".join(filter(None, (variant_of(shape for shape, _ in inputs), apart)))
    dtype = inputs[0][1] if inputs else "float32"
    lnc = default_lnc(target) if lnc is None else lnc
    return Case(kernel, "nki", (), dtype, target, lnc, variant=variant)
