"""Implements `calibrate`: from traces of a chip to the constants of the timing model that they show."""

from __future__ import annotations

import contextlib
import hashlib
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from neff_bench import chips
from neff_bench.chips.calibration import ENVIRONMENT, Calibration, encoded
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.event_rows import Timeline
from neff_bench.parsers.event_tables import read_timeline
from neff_bench.parsers.formats.ntff import family_of
from neff_bench.parsers.kinds import kind_of
from neff_bench.parsers.neff import read_uuid
from neff_bench.simulator.calibration.fit import FITTED, Finding, fit
from neff_bench.simulator.calibration.samples import packet_spacings, samples_of
from neff_bench.simulator.errors import SimulatorError
from neff_bench.system.files import write_whole
from neff_bench.terminal.answer import Answer, Column, Grid

ARCHIVE = ".tar.gz"
FIELDS = "constant model fitted low high measurements traces verdict".split()
COLUMNS = tuple(Column(field, right=field not in ("constant", "verdict")) for field in FIELDS)


@dataclass(frozen=True)
class Calibrated:
    """`findings`: of every constant that the traces show. `simulated`: traces that no hardware made."""

    calibration: Calibration
    findings: tuple[Finding, ...]
    simulated: tuple[str, ...]


def calibrate(traces: Sequence[Path], neffs: Sequence[Path]) -> Calibrated:
    """Fit the constants of the chip that the traces were taken on. Raises SimulatorError and ParseError.

    `traces`: NTFF files, whole-profile JSON, Parquet directories, archives of `neff-bench probes`. `neffs`: give the instructions of an NTFF their operands.
    """
    with unpacked(traces, neffs) as (traces, neffs):
        return _calibrated(traces, neffs)


@contextlib.contextmanager
def unpacked(traces: Sequence[Path], neffs: Sequence[Path]) -> Iterator[tuple[list[Path], list[Path]]]:
    """Yield the traces and NEFFs, with those of each archive of `neff-bench probes` in its place. Raises SimulatorError for one that is none."""
    of_files = [path for path in traces if not path.name.endswith(ARCHIVE)]
    with tempfile.TemporaryDirectory(prefix="neuron-sim-probes-") as folder:
        for number, path in enumerate(path for path in traces if path.name.endswith(ARCHIVE)):
            try:
                with tarfile.open(path) as archive:
                    archive.extractall(Path(folder, str(number)), filter="data")
            except (OSError, tarfile.TarError) as error:
                raise SimulatorError(f"no archive of probes: {error}", str(path)) from None
        # Whole profiles have operands, which a trace of the simulator lacks.
        found = sorted(Path(folder).rglob("profile-*.json")) or sorted(Path(folder).rglob("*.ntff"))
        yield [*of_files, *found], [*neffs, *sorted(Path(folder).rglob("file.neff"))]


def _calibrated(traces: Sequence[Path], neffs: Sequence[Path]) -> Calibrated:
    by_uuid = {read_uuid(path): path for path in neffs}
    timelines = [read_timeline(path, _neff_of(path, by_uuid)) for path in traces]
    target = _target(timelines)
    # The model's own constants, whatever calibration is in force: a calibration is not made from another one.
    chip = chips.chip_for(target)
    findings = fit(
        [samples_of(timeline, chip) for timeline in timelines],
        [packet_spacings(timeline.dma) for timeline in timelines],
        chip,
    )
    estimates = tuple(finding.estimate for finding in findings if finding.verdict == FITTED)
    made_of = tuple((path.name, _sha256(path)) for path in traces)
    simulated = tuple(timeline.path for timeline in timelines if timeline.simulated)
    return Calibrated(Calibration(target, estimates, made_of), tuple(findings), simulated)


def write(calibration: Calibration, path: Path) -> None:
    """Write the calibration. Raises SimulatorError when there is nothing to write, or the file cannot be written."""
    if not calibration.estimates:
        raise SimulatorError(
            "no constant differs from the model's, so there is nothing to calibrate; give more traces, or a full profile"
            " (JSON, or an NTFF with --neff) for the operands"
        )
    try:
        write_whole(path, encoded(calibration))
    except OSError as error:
        raise SimulatorError(f"cannot write: {error.strerror}", str(path)) from None


def answer(found: Calibrated, output: Path | None) -> Answer:
    """Return a line for each constant that the traces show."""
    records = [
        {
            "constant": finding.estimate.name,
            "model": finding.estimate.model,
            "fitted": finding.estimate.value,
            "low": finding.estimate.low,
            "high": finding.estimate.high,
            "measurements": finding.estimate.samples,
            "traces": finding.estimate.traces,
            "verdict": finding.verdict,
        }
        for finding in found.findings
    ]
    lines = [
        [f"{value:,.2f}" if isinstance(value, float) else str(value) for value in record.values()] for record in records
    ]
    notes = [f"{len(found.calibration.estimates)} constants of {found.calibration.target} fitted to {len(found.calibration.traces)} traces; low and high: 95 % interval"]  # fmt: skip
    if found.simulated:
        notes.append(
            f"SIMULATED: {len(found.simulated)} of {len(found.calibration.traces)} traces, which show the model and no hardware"
        )
    if output is not None and found.calibration.estimates:
        notes.append(f"use them with --calibration {output}, or {ENVIRONMENT}={output}")
    return Answer(records, FIELDS, [Grid(COLUMNS, lines, notes)])


def _neff_of(trace: Path, by_uuid: dict[str, Path]) -> Path | None:
    """Return the NEFF that an NTFF was taken of. Raises ParseError when none of those given is it."""
    if not by_uuid or kind_of(trace) != "ntff":
        return None
    from neff_bench.parsers.container import read_container, same_program

    uuid = read_container(trace).uuid[:16].hex()
    found = next((path for known, path in by_uuid.items() if same_program(uuid, known)), None)
    if found is None:
        raise ParseError(trace, None, f"taken of the program {uuid}, which none of the NEFFs given holds")
    return found


def _target(timelines: Sequence[Timeline]) -> str:
    """Return the chip of all of them. Raises SimulatorError."""
    found = {timeline.path: family_of(str(timeline.summary.get("instance_type") or "")) for timeline in timelines}
    for path, family in found.items():
        if family is None:
            raise SimulatorError(
                f"does not say which chip it was taken on; expected one of {', '.join(chips.CHIPS)}", path
            )
    families = sorted({family for family in found.values() if family})
    if len(families) > 1:
        raise SimulatorError(f"traces of {' and '.join(families)}: calibrate one chip at a time")
    return families[0]


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        digest.update(file.read_bytes())
    return digest.hexdigest()
