"""Compares the NEFF beside the case that it was built for, asked again before each capture."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from neff_bench.chips.engines import ENGINES
from neff_bench.neffs.agreement import disagreement
from neff_bench.neffs.bundle import Bundle
from neff_bench.parsers.container import read_container, same_program
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.formats.neff import HEADER_BYTES, INSTRUCTION_BYTES
from neff_bench.parsers.neff import is_neff, read_neff, read_uuid
from neff_bench.parsers.plausibility import straight
from neff_bench.stage2_profile.errors import CaptureFailed


def compare_neff(bundle: Bundle) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return whether the NEFF is what its case says; a remark where its layout is not known. And its instructions by engine. Raises
    `CaptureFailed`, with both values. A file that is no NEFF at all is left to the tool, which says so."""
    path = bundle.path / str(bundle.manifest.neff)
    try:
        neff = read_neff(path)
    except ParseError as error:
        with path.open("rb") as file:
            if not is_neff(file.read(HEADER_BYTES + 2)):
                return (), {}
        return (f"the NEFF could not be compared with its case: {error.what}",), {}
    if (wrong := disagreement(bundle.manifest, neff)) is not None:
        raise CaptureFailed(f"{wrong}; build the case again (generate-neffs --force)")
    return (), straight(neff)


class Traced(NamedTuple):
    """Holds what a trace states itself: the time of its execution, and the instructions that were loaded for each engine."""

    time_s: float | None = None
    loaded: dict[str, int] = {}


def read_traced(trace: Path, neff: Path) -> Traced:
    """Return what a trace states; nothing where its layout is not known. Raises `CaptureFailed` for the trace of another NEFF."""
    try:
        container = read_container(trace)
        if container.window is not None and same_program(container.uuid.hex(), read_uuid(neff)) is False:
            raise CaptureFailed(f"its trace {trace.name} is of another NEFF")
    except ParseError:
        return Traced()
    loaded: Counter[str] = Counter()
    for stream in container.streams:
        loaded[ENGINES[stream.engine]] += stream.size_bytes // INSTRUCTION_BYTES
    time_s = None if container.total_time_ps is None else container.total_time_ps / 1e12
    return Traced(time_s, dict(loaded))
