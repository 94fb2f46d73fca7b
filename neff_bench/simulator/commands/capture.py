"""Implements `capture`: it runs a simulated NEFF on the inputs it is given, and writes its traces and outputs."""

from __future__ import annotations

import io
import mmap
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.neffs import findings
from neff_bench.parsers.formats.ntff import trace_path
from neff_bench.simulator.errors import CaptureError, ExecutionError
from neff_bench.simulator.files.neff import NeffContent, read_neff_content
from neff_bench.simulator.program import Buffer, Program
from neff_bench.system.files import write_whole
from neff_bench.terminal import streams

if TYPE_CHECKING:
    import numpy as np

    from neff_bench.simulator.commands.capture_options import CaptureOptions


def executions(num: int, nth: int) -> tuple[int, tuple[int, ...]]:
    """Return how often the NEFF runs, and which executions are traced (from 1)."""
    if nth == 0:
        return num, ()
    count = max(num, nth)
    return count, tuple(range(nth, count + 1, nth))


def capture(options: CaptureOptions) -> None:
    """Run the NEFF and write its trace. Raises CaptureError or ExecutionError."""
    neff = read_neff_content(options.neff)
    program = neff.program
    _check_logical_cores(program)
    cores = first_cores(program, _ranks(program, options))
    files = [_input_files(program, pairs) for pairs in _pairs(options, len(cores))]
    count, traced = executions(options.num_exec, 0 if options.disable_profile else options.nth)
    try:
        outputs = _run(program, options, files, count)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        what = f"the program cannot be run: {type(error).__name__}: {error}; compile it again"
        raise CaptureError(what, options.neff) from error
    except ExecutionError as error:
        if not options.ignore_exec_errors:
            raise
        streams.warning(f"execution failed, ignored: {error}")
        outputs = [[{}] * count for _ in cores]
    if traced:
        _write_traces(neff, options, traced, cores)
    if options.save_output or options.save_output_npy:
        for rank, saved in enumerate(outputs):
            _save_outputs(saved, options, f"output_worker_{rank}/" if len(cores) > 1 else "")


def _ranks(program: Program, options: CaptureOptions) -> int:
    """Return how many ranks run. Raises CaptureError for fewer than the program's collectives name."""
    count = options.ranks or options.collectives_worker_count or program.ranks
    if count < program.ranks:
        raise CaptureError(f"the NEFF communicates between {program.ranks} ranks, -r {count} runs fewer", options.neff)
    if options.traced != "all" and int(options.traced) >= count:
        raise CaptureError(f"-i {options.traced}: ranks are 0 to {count - 1}", options.neff)
    return count


def _pairs(options: CaptureOptions, ranks: int) -> list[Sequence[tuple[str, str]]]:
    """Return the inputs of each rank, as (name, file) pairs. Raises CaptureError for a --multi-input file with other than a line for each."""
    if options.multi_input is None:
        return [tuple(zip(options.inputs[::2], options.inputs[1::2], strict=True))] * ranks
    try:
        with open(options.multi_input, encoding="utf-8") as file:
            lines = [line.split() for line in file if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise CaptureError(f"--multi-input: {error}", options.multi_input) from None
    if len(lines) != ranks or any(len(words) % 2 for words in lines):
        raise CaptureError(
            f"--multi-input: {len(lines)} lines, expected NAME FILE ... for each of {ranks} ranks", options.multi_input
        )
    return [tuple(zip(words[::2], words[1::2], strict=True)) for words in lines]


def _check_logical_cores(program: Program) -> None:
    configured = os.environ.get("NEURON_LOGICAL_NC_CONFIG")
    if configured and configured != str(program.lnc):
        raise CaptureError(
            f"Logical NC not available: NEURON_LOGICAL_NC_CONFIG={configured}, the NEFF was compiled for {program.lnc}"
        )


def first_cores(program: Program, ranks: int) -> list[int]:
    """Return the physical number of the first core of each rank. NEURON_RT_VISIBLE_CORES holds logical numbers, `0-3` or `4,6`; ranks beyond them
    follow the last one. Raises CaptureError for what is no number."""
    text = os.environ.get("NEURON_RT_VISIBLE_CORES", "").strip()
    logical: list[int] = []
    for part in filter(None, text.split(",")):
        match = re.match(r"\s*(\d+)(?:-(\d+))?", part)
        if match is None:
            raise CaptureError(
                f"TDRV:db_vtpb_get_mla_and_tpb                 Could not find VNC id {text}: NEURON_RT_VISIBLE_CORES takes numbers"
            )
        logical += range(int(match[1]), int(match[2] or match[1]) + 1)
    last = logical[-1] if logical else -1
    logical += range(last + 1, last + 1 + ranks)
    return [core * program.lnc for core in logical[:ranks]]


def _input_files(program: Program, pairs: Sequence[tuple[str, str]]) -> dict[str, bytes | mmap.mmap]:
    """Return the raw little-endian bytes of each input that was given, by its name in the program. Raises CaptureError for a name that the NEFF does
    not have or a wrong size."""
    buffers = {program.input_name(i): program.buffers[i] for i in program.inputs}
    files: dict[str, bytes | mmap.mmap] = {}
    for name, path in pairs:
        buffer = buffers.get(name)
        if buffer is None:
            raise CaptureError(f"no input {name!r} in the NEFF: expected one of {', '.join(buffers)}")
        files[buffer.name] = _read_tensor(path, buffer)
    return files


def _read_tensor(path: str, buffer: Buffer) -> bytes | mmap.mmap:
    try:
        if path.endswith(".npy"):
            import numpy as np

            data: bytes | mmap.mmap = np.load(path, allow_pickle=False).tobytes()
        else:
            data = _content(path)
    except (OSError, ValueError) as error:
        raise CaptureError(f"input {buffer.name!r}: {error}") from None
    if len(data) != buffer.size_bytes:
        raise CaptureError(
            f"input {buffer.name!r}: {path} has {len(data)} bytes, expected {buffer.size_bytes}"
            f" ({'x'.join(map(str, buffer.shape))} {buffer.dtype})"
        )
    return data


def _content(path: str) -> bytes | mmap.mmap:
    """Return the bytes of a file, which are not copied where it is a plain one."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode) and status.st_size:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return file.read()


def _run(
    program: Program, options: CaptureOptions, files: Sequence[Mapping[str, bytes | mmap.mmap]], count: int
) -> list[list[dict[str, np.ndarray]]]:
    """Return the outputs of each rank, execution by execution. They are computed when they are asked for: times do not depend on data."""
    if not (options.save_output or options.save_output_npy or options.check_output_determinism):
        return [[{}] * count for _ in files]
    import numpy as np

    from neff_bench.simulator.execution.execute import execute_ranks
    from neff_bench.simulator.numpy_dtypes import numpy_dtype

    buffers = {program.buffers[index].name: program.buffers[index] for index in program.inputs}
    inputs = [
        {
            name: np.frombuffer(data, dtype=numpy_dtype(buffers[name].dtype)).reshape(buffers[name].shape)
            for name, data in given.items()
        }
        for given in files
    ]
    from neff_bench.simulator.execution.calls import refused

    found: list[findings.Finding] = []
    outputs = [[made] for made in execute_ranks(program, inputs, found)]
    # The run finds memory that nothing wrote and values that are not finite; the program alone tells what AWS's compiler refuses.
    found += refused(program, [Path(options.neff).parent / "sources"])
    for finding in found:
        streams.warning(str(finding))
    findings.leave(Path(options.session).parent, found)
    if options.single_io:
        return [
            [{name: _aliased(value, given) for name, value in made[0].items()}] * count
            for made, given in zip(outputs, files, strict=True)
        ]
    # Executions differ only where a kernel writes into its inputs and the next one is given what it left.
    for _ in range(1, count):
        if not options.write_tensors_per_exec and (buffers.keys() & outputs[0][0].keys()):
            inputs = [
                given | {name: value for name, value in made[-1].items() if name in buffers}
                for given, made in zip(inputs, outputs, strict=True)
            ]
            again = execute_ranks(program, inputs)
        else:
            again = [made[0] for made in outputs]
        for made, more in zip(outputs, again, strict=True):
            made.append(more)
    return outputs


def _aliased(value: np.ndarray, files: Mapping[str, bytes | mmap.mmap]) -> np.ndarray:
    """Return an output as --single-io leaves it, where all tensors share one memory: an output holds whatever was written there first."""
    import numpy as np

    memory = bytes(next(iter(files.values()), b"\0"))
    return np.frombuffer((memory * (value.nbytes // len(memory) + 1))[: value.nbytes], value.dtype).reshape(value.shape)


def _write_traces(neff: NeffContent, options: CaptureOptions, traced: Sequence[int], cores: Sequence[int]) -> None:
    from neff_bench.simulator.files.ntff import write_ntff
    from neff_bench.simulator.timing.schedule import schedule
    from neff_bench.simulator.timing.timeline import timeline_of

    times = {}
    try:
        for first in sorted({execution == 1 for execution in traced}):
            timed = schedule(neff.program, codes=neff.codes, first_execution=first)
            times[first] = timed, timeline_of(timed)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        what = f"the program cannot be scheduled: {type(error).__name__}: {error}; compile it again"
        raise CaptureError(what, options.neff) from error
    for rank, core in enumerate(cores):
        if options.traced != "all" and int(options.traced) != rank:
            continue
        for execution in traced:
            path = trace_path(options.session, execution, rank if len(cores) > 1 else None)
            try:
                write_ntff(neff, *times[execution == 1], path, core)
            except OSError as error:
                raise CaptureError(f"cannot write the trace: {error.strerror}", path) from None


def _save_outputs(outputs: Sequence[Mapping[str, np.ndarray]], options: CaptureOptions, folder: str) -> None:
    """Write the outputs of each execution. `folder`: where they go, with its slash."""
    import numpy as np

    if folder:
        os.makedirs(folder, exist_ok=True)
    saved = [options.save_nth_output] if options.save_nth_output else list(range(1, len(outputs) + 1))
    for execution in saved:
        suffix = "" if execution == 1 else f".{execution}"
        for name, value in outputs[min(execution, len(outputs)) - 1].items():
            file = folder + os.path.basename(name) + suffix
            if options.save_output_npy:
                if value.dtype.kind == "V" or not value.dtype.isbuiltin:
                    raise CaptureError(
                        f"failed to save output {name} to file: unsupported type for npy output: {value.dtype.name}"
                    )
                file += ".npy"
                buffer = io.BytesIO()
                np.save(buffer, value)
                _save(file, buffer.getvalue())
            else:
                _save(file, np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
            streams.line(f'saved output "{name}" as "{file}"')


def _save(path: str, data: bytes | memoryview) -> None:
    try:
        write_whole(path, data)
    except OSError as error:
        raise CaptureError(f"cannot save output: {error.strerror}", path) from None
