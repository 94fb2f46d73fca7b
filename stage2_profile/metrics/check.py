"""Captured outputs against the reference of the bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.stage2_profile.metrics.rows import Check

if TYPE_CHECKING:
    from neff_bench.neffs.bundle import Bundle, TensorFile

WORST: tuple[Check, ...] = ("failed", "zero", "unchecked", "passed")


@dataclass(frozen=True)
class Verdict:
    """`max_abs_error`: over the outputs that were compared, None when none was (or an output has NaN)."""

    check: Check
    max_abs_error: float | None = None
    reason: str | None = None


def check_outputs(bundle: Bundle, run: Path, outputs: Mapping[str, str]) -> Verdict:
    """Compare each output of the NEFF with its reference; the worst verdict counts.

    `outputs`: tensor name → file in `run`.
    """
    tensors = bundle.manifest.outputs
    if not tensors or bundle.manifest.tolerance is None:
        return Verdict("unchecked", None, "the bundle has no reference")
    verdicts = [check_output(bundle, tensor, run, outputs.get(tensor.name)) for tensor in tensors]
    worst = min(verdicts, key=lambda verdict: WORST.index(verdict.check))
    if any(verdict.check == "failed" and verdict.max_abs_error is None for verdict in verdicts):
        return Verdict(worst.check, None, worst.reason)
    errors = [verdict.max_abs_error for verdict in verdicts if verdict.max_abs_error is not None]
    return Verdict(worst.check, max(errors, default=None), worst.reason)


def check_output(bundle: Bundle, tensor: TensorFile, run: Path, file: str | None) -> Verdict:
    """One output: |out - ref| <= atol + rtol x |ref| in float64, element by element."""
    import numpy as np

    from neff_bench.neffs.dtypes import numpy_dtype

    if tensor.file is None:
        return Verdict("unchecked", None, f"output {tensor.name!r} has no reference")
    if file is None:
        return Verdict("unchecked", None, f"the capture saved no output {tensor.name!r}")
    try:
        data, expected = (run / file).read_bytes(), (bundle.path / tensor.file).read_bytes()
    except OSError as error:
        return Verdict("unchecked", None, f"{error.filename and Path(error.filename).name}: {error.strerror}")
    if len(data) != len(expected):
        return Verdict("failed", None, f"output {tensor.name} has {len(data)} bytes instead of {len(expected)}")
    dtype = numpy_dtype(tensor.dtype)
    out = np.frombuffer(data, dtype).astype(np.float64)
    ref = np.frombuffer(expected, dtype).astype(np.float64)
    if out.size == 0:
        return Verdict("passed", 0.0)
    if not out.any() and ref.any():
        return Verdict("zero", float(np.abs(ref).max()), f"output {tensor.name} is all zero")
    # Non-finite values must be the same in both; what remains is compared by distance.
    odd = ~(np.isfinite(out) & np.isfinite(ref))
    if odd.any() and not np.array_equal(out[odd], ref[odd], equal_nan=True):
        return Verdict(
            "failed", None, f"output {tensor.name} has {int(np.sum(~np.isfinite(out)))} values that are not finite"
        )
    out, ref = out[~odd], ref[~odd]
    distance = np.abs(out - ref)
    largest = float(distance.max()) if distance.size else 0.0
    rtol, atol = bundle.manifest.tolerance or (0.0, 0.0)
    wrong = int(np.sum(distance > atol + rtol * np.abs(ref)))
    if wrong:
        return Verdict(
            "failed", largest, f"output {tensor.name}: {wrong} of {out.size} values differ by more than the tolerance"
        )
    return Verdict("passed", largest)
