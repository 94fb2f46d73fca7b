"""Compares captured outputs with the reference of the bundle."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from neff_bench.stage2_profile.capture.runs import Checked, CheckedRank, RankFiles
from neff_bench.stage2_profile.errors import RunDamaged
from neff_bench.stage2_profile.metrics.rows import BAD, Check

if TYPE_CHECKING:
    import numpy as np

    from neff_bench.neffs.bundle import Bundle, TensorFile
    from neff_bench.neffs.findings import Finding, Kind
    from neff_bench.stage2_profile.capture.runs import Run

WORST: tuple[Check, ...] = (*BAD, "unchecked", "passed")
BLOCK_ELEMENTS = 1 << 13
"""Elements compared at a time: in float64 a block has 64 KiB. Of 128 KiB and more, malloc gives the memory back to the system and takes
it anew each time, which costs ten times what the comparison does."""


@dataclass(frozen=True)
class Verdict:
    """`max_abs_error`: over the outputs that were compared, None when none was (or an output has NaN). `ranks`: those of each rank,
    where there are several; then the others are of the worst."""

    check: Check
    max_abs_error: float | None = None
    reason: str | None = None
    ranks: tuple[Verdict, ...] = ()


def compared(bundle: Bundle, run: Run) -> str | None:
    """Return the sha256 in hex over all that the verdict depends on; None for a run without checksums."""
    if not run.verified:
        return None
    tensors = [
        (
            tensor.name,
            tensor.dtype,
            tensor.sha256,
            run.files[file].sha256 if (file := _file(run, saved, tensor)) else None,
        )
        for expected, saved in zip(bundle.manifest.by_rank, run.by_rank)
        for tensor in expected.outputs
    ]
    return hashlib.sha256(orjson.dumps([tensors, bundle.manifest.tolerance])).hexdigest()


def kept_verdict(bundle: Bundle, run: Run) -> Verdict | None:
    """Return the verdict in the record, None when there is none on these outputs and references."""
    kept = run.checked
    if kept is None or kept.compared != compared(bundle, run):
        return None
    ranks = tuple(_verdict_of(rank) for rank in kept.ranks)
    return replace(_verdict_of(kept), ranks=ranks)


def with_findings(verdict: Verdict, findings: Sequence[Finding]) -> Verdict:
    """Return a verdict beside what is known of the kernel, which says why outputs are wrong, or that they cannot be trusted though no
    reference shows it. A race or an output that is not whole may agree with a reference by luck."""
    grave = [finding for finding in findings if finding.kind in (_BY_LUCK if verdict.check == "passed" else _GRAVE)]
    if not grave:
        return verdict
    return suspected(verdict, (), str(grave[0]))


def suspected(verdict: Verdict, doubts: Sequence[str], first: str | None = None) -> Verdict:
    """Return a verdict beside figures that cannot be: outputs that are right say nothing of the times. `first`: what is said before why outputs are
    wrong."""
    check: Check = "wrong" if verdict.check == "wrong" else "suspect"
    told = verdict.reason if check == "wrong" else None
    return replace(verdict, check=check, reason="; ".join(filter(None, (first, told, *doubts))))


_BY_LUCK: tuple[Kind, ...] = ("unwritten-output", "race")
_GRAVE: tuple[Kind, ...] = ("unwritten-output", "unwritten-read", "not-finite", "race")


def _verdict_of(kept: Checked | CheckedRank) -> Verdict:
    check: Check = "wrong" if kept.check == "failed" or kept.check == "zero" else kept.check
    return Verdict(check, kept.max_abs_error, kept.reason)


def checked(bundle: Bundle, path: Path, run: Run, compare: Compare | None = None) -> Checked | None:
    """Return the verdict in the form in which a record keeps it; None for a run without checksums. `compare`: see `check_outputs`. Raises
    `RunDamaged`."""
    key = compared(bundle, run)
    if key is None:
        return None
    verdict = check_outputs(bundle, path, run, compare)
    return Checked(
        compared=key,
        check=verdict.check,
        max_abs_error=verdict.max_abs_error,
        reason=verdict.reason,
        ranks=tuple(
            CheckedRank(check=rank.check, max_abs_error=rank.max_abs_error, reason=rank.reason)
            for rank in verdict.ranks
        ),
    )


def check_outputs(bundle: Bundle, path: Path, run: Run, compare: Compare | None = None) -> Verdict:
    """Compare each output of the NEFF with its reference, on each rank; the worst verdict counts. Raises `RunDamaged`.

    `path`: the directory of the run. `compare`: what does the work of `compare_files`, None for itself.
    """
    if not bundle.manifest.outputs or bundle.manifest.tolerance is None:
        return Verdict("unchecked", None, "the bundle has no reference")
    ranks = []
    for number, expected in enumerate(bundle.manifest.by_rank):
        saved = run.by_rank[number] if number < len(run.by_rank) else RankFiles()
        ranks.append(_worst([check_output(bundle, tensor, path, run, saved, compare) for tensor in expected.outputs]))
    if len(ranks) == 1:
        return ranks[0]
    told = [
        replace(verdict, reason=verdict.reason and f"rank {n}: {verdict.reason}") for n, verdict in enumerate(ranks)
    ]
    return replace(_worst(told), ranks=tuple(told))


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    worst = min(verdicts, key=lambda verdict: WORST.index(verdict.check))
    if any(verdict.check == "wrong" and verdict.max_abs_error is None for verdict in verdicts):
        return Verdict(worst.check, None, worst.reason)
    errors = [verdict.max_abs_error for verdict in verdicts if verdict.max_abs_error is not None]
    return Verdict(worst.check, max(errors, default=None), worst.reason)


def check_output(
    bundle: Bundle, tensor: TensorFile, path: Path, run: Run, saved: RankFiles, compare: Compare | None = None
) -> Verdict:
    """Return one output of a rank, whose files `saved` names: |out - ref| <= atol + rtol x |ref| in float64, element by element, a block at a time."""
    file = saved.outputs.get(tensor.name)
    if file is None:
        return Verdict("wrong", None, f"the capture saved no output {tensor.name!r}")
    if tensor.file is None:
        return Verdict("unchecked", None, f"output {tensor.name!r} has no reference")
    captured, expected = path / file, bundle.path / tensor.file
    try:
        sizes = captured.stat().st_size, expected.stat().st_size
        if sizes[0] != sizes[1]:
            return Verdict("wrong", None, f"output {tensor.name} has {sizes[0]} bytes instead of {sizes[1]}")
        compare = compare or compare_files
        found = compare(
            captured, expected, tensor.dtype, bundle.manifest.tolerance or (0.0, 0.0), (tensor.shape or (1,))[-1]
        )
    except OSError as error:
        return Verdict("unchecked", None, f"{error.filename and Path(error.filename).name}: {error.strerror}")
    if run.verified and found.out_sha256 != run.files[file].sha256:
        raise RunDamaged(path, f"{file} was changed after it was written")
    if tensor.sha256 is not None and found.ref_sha256 != tensor.sha256:
        return Verdict("unchecked", None, f"{tensor.file} was changed after it was written; build the case again")
    return found.verdict(tensor.name, tensor.shape)


@dataclass
class Comparison:
    """Holds what is known of two tensors after some blocks. `columns`: values of a row. `wrong`: values outside of the tolerance, which is
    (rtol, atol); they lie in `wrong_rows`, and the first of them is (place, output, reference). `not_finite`: values of the output;
    `differs`: whether values that are not finite differ; `largest`: distance of finite values; `ref_largest`: of the reference, as
    long as all outputs are zero."""

    tolerance: tuple[float, float]
    columns: int

    out_sha256: str = ""
    ref_sha256: str = ""
    size: int = 0
    wrong_rows: int = 0
    last_row: int = -1
    first: tuple[int, float, float] | None = None
    not_finite: int = 0
    wrong: int = 0
    largest: float = 0.0
    ref_largest: float = 0.0
    differs: bool = False
    out_any: bool = False
    ref_any: bool = False

    def add(self, out: np.ndarray, ref: np.ndarray) -> None:
        """Take in a block of each tensor, both in float64."""
        import numpy as np

        self.out_any = self.out_any or bool(out.any())
        self.ref_any = self.ref_any or bool(ref.any())
        if not self.out_any:
            self.ref_largest = float(np.maximum(self.ref_largest, np.abs(ref).max()))
        with np.errstate(invalid="ignore"):  # of two infinities
            distance = out - ref
        np.abs(distance, out=distance)
        largest = float(distance.max())
        wrong = np.zeros(out.shape, bool)
        if not math.isfinite(largest):  # what is not finite in either comes through to here
            odd = ~(np.isfinite(out) & np.isfinite(ref))
            wrong = odd & (out != ref) & ~(np.isnan(out) & np.isnan(ref))
            self.differs = self.differs or bool(wrong.any())
            self.not_finite += int(np.sum(~np.isfinite(out)))
            distance[odd] = 0.0
            largest = float(distance.max())
        self.largest = max(self.largest, largest)
        rtol, atol = self.tolerance
        if largest > atol:  # else all is within the tolerance, whatever the reference is
            wrong |= np.isfinite(ref) & (distance > atol + rtol * np.abs(ref))
        self._count(np.flatnonzero(wrong), out, ref)
        self.size += out.size

    def _count(self, places: np.ndarray, out: np.ndarray, ref: np.ndarray) -> None:
        """Take in which values of a block are wrong."""
        import numpy as np

        if not places.size:
            return
        if self.first is None:
            at = int(places[0])
            self.first = self.size + at, float(out.flat[at]), float(ref.flat[at])
        rows = np.unique((self.size + places) // self.columns)
        self.wrong += places.size
        self.wrong_rows += rows.size - int(rows[0] == self.last_row)
        self.last_row = int(rows[-1])

    def verdict(self, name: str, shape: Sequence[int]) -> Verdict:
        """Return the verdict on all blocks taken in so far; `name`, `shape`: of the output."""
        if self.size and not self.out_any and self.ref_any:
            return Verdict("wrong", self.ref_largest, f"output {name} is all zero")
        if self.first is None:
            return Verdict("wrong", None, f"output {name} was cut") if self.differs else Verdict("passed", self.largest)
        rows, (rtol, atol), (place, out, ref) = self.size // self.columns, self.tolerance, self.first
        told = [
            f"output {name}: {self.wrong} of {self.size} values{f' in {self.wrong_rows} of {rows} rows' if rows > 1 else ''} differ "
            f"by more than the tolerance ({atol:.2g} + {rtol:.2g} * |reference|)",
            f"the first, {_index(place, shape)}, is {out:.6g} instead of {ref:.6g}",
            f"{self.not_finite} values are not finite"
            if self.differs
            else f"the largest difference is {self.largest:.3g}",
        ]
        return Verdict("wrong", None if self.differs else self.largest, "; ".join(told))


def _index(place: int, shape: Sequence[int]) -> str:
    """Return the index of a place in C order: [3, 17]."""
    index: list[int] = []
    for size in reversed(shape):
        place, at = divmod(place, size)
        index.insert(0, at)
    return str(index)


Compare = Callable[[Path, Path, str, tuple[float, float], int], Comparison]
"""`compare_files`, wherever it runs."""


def compare_files(
    captured: Path, expected: Path, dtype: str, tolerance: tuple[float, float], columns: int
) -> Comparison:
    """Compare two raw tensors of one size, whose rows have `columns` values. Raises `OSError`."""
    import numpy as np

    from neff_bench.neffs.dtypes import numpy_dtype, values_of

    kind = numpy_dtype(dtype)
    block_bytes = BLOCK_ELEMENTS * kind.itemsize
    found, digests = Comparison(tolerance, columns), (hashlib.sha256(), hashlib.sha256())
    with captured.open("rb") as out_file, expected.open("rb") as ref_file:
        while data := out_file.read(block_bytes):
            reference = ref_file.read(block_bytes)
            digests[0].update(data)
            digests[1].update(reference)
            out, ref = _values(data, kind), _values(reference, kind)
            if out.size != ref.size:
                found.differs = True  # one of the files was cut since its size was read
            elif out.size:
                found.add(values_of(out).astype(np.float64), values_of(ref).astype(np.float64))
    found.out_sha256, found.ref_sha256 = (digest.hexdigest() for digest in digests)
    return found


def _values(data: bytes, kind: np.dtype[Any]) -> np.ndarray:
    """Return the whole elements of a block."""
    import numpy as np

    return np.frombuffer(data, kind, count=len(data) // kind.itemsize)


def _file(run: Run, saved: RankFiles, tensor: TensorFile) -> str | None:
    """Return the captured file of a tensor of a rank, when the record has its checksum."""
    file = saved.outputs.get(tensor.name)
    return file if file is not None and file in run.files else None
