"""How far simulated total times are from measured ones, by chip and class of kernel, as `make fidelity` finds it (FIDELITY.md).

A chip that is not here was not measured. The classes: `gemm`, `one_core`, `long` and `short` (both on two cores).
"""

from __future__ import annotations

from neff_bench.chips.chip import Chip

_TRN2 = {
    "gemm": "within 8 % (38 GEMMs, trn3, LNC 2: -3.3 to +4.1 %)",
    "one_core": "within 15 % (24 MLPs of nki-library, trn2, LNC 1)",
    "long": "-22 to +3 %, median -10 % (17 MLPs of nki-library, trn2, LNC 2)",
    "short": "-36 to +17 %, median -3 % (53 short MLPs of nki-library, trn2, LNC 2)",
}
_INF2 = "-20 to +5 % (4 matmuls of one tile, inf2); larger kernels not measured"

MEASURED: dict[str, dict[str, str]] = {
    "inf2": dict.fromkeys(_TRN2, _INF2),
    "trn2": _TRN2,
    "trn3": {kind: f"{text}; overheads of trn3 are those of trn2" for kind, text in _TRN2.items()},
}


def stated_error(chip: Chip, kind: str) -> str:
    """One line: total time against hardware, or that nobody measured it."""
    measured = MEASURED.get(chip.name)
    if measured is not None:
        return measured[kind]
    return f"not measured on {chip.name}" + (f": constants of {chip.constants_of}" if chip.constants_of else "")
