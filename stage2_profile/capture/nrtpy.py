"""Uses `nrtpy` (SDK 2.32) as a capture tool: the times of a NEFF without a trace, in a process of its own (see nrtpy_program.py).

Its wheel and that of nki cannot be in one environment, so its Python may be another one than ours. Times are of the device, after a warm-up.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from neff_bench.neffs.bundle import Manifest, TensorFile
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.system_trace import durations_ns
from neff_bench.stage2_profile.capture import nrtpy_program
from neff_bench.stage2_profile.capture.runs import UNTRACED
from neff_bench.system.decoding import decoder

NAME = UNTRACED
PYTHON_VARIABLE = "NEFF_BENCH_NRTPY_PYTHON"
RESULT = nrtpy_program.RESULT
PROGRAM = Path(nrtpy_program.__file__)
LIBRARIES = Path("/opt/aws/neuron/lib")
"""Where libnrt is; nrtpy finds it by LD_LIBRARY_PATH only."""
NOISY_FRACTION = 0.1
"""Standard deviation over mean from which nrtpy's documentation asks for more warm-up or a look at the neighbours."""
_PLAIN = {
    "bfloat16": "uint16",
    "float8_e4m3": "uint8",
    "float8_e4m3fn": "uint8",
    "float8_e5m2": "uint8",
    "tfloat32": "float32",
}
"""Dtypes that numpy lacks, as integers of their width: the device gets the same bytes (inferred: it checks sizes only)."""


class Times(msgspec.Struct, frozen=True):
    """Holds what the program wrote. `iterations`: device events, more than `requested_iterations` for a NEFF of several subgraphs. `events`: of the
    system trace, where this nrtpy has one; the other times are then made from it."""

    nrtpy_version: str
    requested_iterations: int
    warmup_iterations: int
    iterations: int = 0
    mean_ms: float = 0.0
    std_dev_ms: float = 0.0
    durations_ms: list[float] = []
    events: list[dict[str, Any]] = []


_DECODER = decoder(Times)


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which nrtpy finds libnrt."""
    paths = [str(LIBRARIES), *filter(None, [env.get("LD_LIBRARY_PATH")])]
    return {**env, "LD_LIBRARY_PATH": ":".join(paths)}


def arguments(tool: Sequence[str], manifest: Manifest, num_exec: int, warmup: int) -> list[str]:
    """Return the call for a bundle, with paths as seen from the run's directory."""
    argv = [*tool, "--neff", f"../../{manifest.neff}", f"--warmup={warmup}", f"--iterations={num_exec - warmup}"]
    if manifest.case.ranks > 1:
        argv.append(f"--ranks={manifest.case.ranks}")
    for rank, tensors in enumerate(manifest.by_rank):
        for tensor in tensors.inputs:
            argv += ["--input", str(rank), *_input(tensor)]
    for tensor in manifest.outputs:
        argv += ["--output", tensor.name]
    return argv


def result_files(ranks: int) -> list[str]:
    """Return the file of the times of each rank."""
    return [f"{nrtpy_program.folder_of(rank, ranks)}{RESULT}" for rank in range(ranks)]


def shown() -> tuple[str, ...]:
    """Return how the tool is called in records and messages: by a name that works wherever neff-bench and nrtpy are installed."""
    return ("python3", "-m", nrtpy_program.__name__)


def read_times(data: bytes) -> Times:
    """Read the times that the program printed. Raises `ValueError` for what is no result of it."""
    try:
        times = _DECODER.decode(data)
        durations_ms = [each / 1e6 for each in durations_ns(times.events)] if times.events else None
    except (msgspec.DecodeError, UnicodeDecodeError, ParseError) as error:
        raise ValueError(f"{RESULT} is not what nrtpy_program.py writes ({error})") from None
    if not durations_ms:
        return times
    return msgspec.structs.replace(
        times,
        iterations=len(durations_ms),
        mean_ms=statistics.fmean(durations_ms),
        std_dev_ms=statistics.pstdev(durations_ms),
        durations_ms=durations_ms,
    )


def wrong_times(times: Times) -> str | None:
    """Return why the times are not those of executions, None when they are."""
    if not times.durations_ms:
        return "it timed no execution"
    if times.iterations > times.requested_iterations:
        return (
            f"it timed {times.iterations} device events in {times.requested_iterations} executions, so the NEFF has several "
            "subgraphs and the time of one execution is not known; use the profiler"
        )
    return None


def remarks(times: Times) -> list[str]:
    """Return what must be said of times that count."""
    said = []
    if times.iterations < times.requested_iterations:
        said.append(f"nrtpy timed {times.iterations} of {times.requested_iterations} executions")
    if times.std_dev_ms > NOISY_FRACTION * times.mean_ms:
        said.append(
            f"the standard deviation of nrtpy's times is {100 * times.std_dev_ms / times.mean_ms:.0f} % of their mean: "
            "raise --warmup, or look for neighbours in run.json"
        )
    return said


def _input(tensor: TensorFile) -> tuple[str, str, str, str]:
    shape = "x".join(map(str, tensor.shape))
    return tensor.name, _PLAIN.get(tensor.dtype, tensor.dtype), shape, f"../../{tensor.file}"
