"""Runs a NEFF with nrtpy and writes what it took: a program of its own, started by file with the Python that has nrtpy.

    python nrtpy_program.py --neff FILE --warmup W --iterations N [--input RANK NAME DTYPE SHAPE FILE]... [--output NAME]...

Nothing of neff-bench is imported here: the standard library, numpy and nrtpy are all there is. Outputs of the first execution go into files of their
names, the times into benchmark.json. The cores are those of NEURON_RT_VISIBLE_CORES. Exit code 1: nrtpy raised an error, which is printed.
With --ranks N it starts itself N times, once for each rank (inferred: AWS documents rank_id and world_size, and no use of them), each with one of the
cores and its folder output_worker_R/.
"""

import os
import sys
from typing import Any

RESULT = "benchmark.json"


def main() -> int:
    """Exit code 0: done, 1: nrtpy is absent or raised an error."""
    import argparse
    import importlib

    parser = argparse.ArgumentParser()
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--neff")
    parser.add_argument("--warmup", type=int)
    parser.add_argument("--iterations", type=int)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--rank", type=int)
    parser.add_argument(
        "--input", nargs=5, action="append", default=[], metavar=("RANK", "NAME", "DTYPE", "SHAPE", "FILE")
    )
    parser.add_argument("--output", action="append", default=[])
    asked = parser.parse_args()
    if asked.ranks > 1 and asked.rank is None:
        return start_ranks(asked.ranks)
    try:
        nrtpy = importlib.import_module("nrtpy")
    except ImportError as error:
        print(f"nrtpy cannot be imported by {sys.executable}: {error}", file=sys.stderr)
        return 1
    if asked.version:
        print(f"nrtpy {version(nrtpy)}")
        return 0
    try:
        return run(nrtpy, asked)
    except (RuntimeError, ValueError, OSError) as error:  # NrtError and NrtpyError are RuntimeErrors
        print(f"{type(error).__module__}.{type(error).__name__}: {error}", file=sys.stderr)
        return 1


def start_ranks(ranks: Any) -> int:
    """Start this call once for each rank; when one fails the others are ended, for they would wait for it."""
    import subprocess

    granted = list(cores(os.environ["NEURON_RT_VISIBLE_CORES"])) if "NEURON_RT_VISIBLE_CORES" in os.environ else []
    running = []
    for rank in range(ranks):
        core = granted[rank] if rank < len(granted) else rank
        environ = dict(os.environ, NEURON_RT_VISIBLE_CORES=str(core))
        running.append(subprocess.Popen([sys.executable, *sys.argv, f"--rank={rank}"], env=environ))
    failed = 0
    while running and not failed:
        ended = [process for process in running if wait(process)]
        failed = next((process.returncode for process in ended if process.returncode), 0)
        running = [process for process in running if process not in ended]
    for process in running:
        process.terminate()
        process.wait()
    return 1 if failed else 0


def wait(process: Any) -> bool:
    """Return whether it has ended within a moment."""
    import subprocess

    try:
        process.wait(timeout=0.05)
    except subprocess.TimeoutExpired:
        return False
    return True


def folder_of(rank: Any, ranks: Any) -> str:
    """Return where the files of a rank go, with the slash; nowhere in particular for a single one."""
    return f"output_worker_{rank}/" if ranks > 1 else ""


def run(nrtpy: Any, asked: Any) -> int:
    """Execute once for the outputs, then time. The inputs are made again between: a kernel may write into them."""
    if "NEURON_RT_VISIBLE_CORES" in os.environ:
        nrtpy.configure(visible_cores=[int(core) for core in cores(os.environ["NEURON_RT_VISIBLE_CORES"])])
    rank, folder = asked.rank or 0, folder_of(asked.rank or 0, asked.ranks)
    together = {"cc_enabled": True, "rank_id": rank, "world_size": asked.ranks} if asked.ranks > 1 else {}
    inputs = [words for number, *words in asked.input if int(number) == rank]
    if folder:
        os.makedirs(folder, exist_ok=True)
    model = nrtpy.NrtpyModel.load_from_neff(asked.neff, core_id=0, **together)
    outputs = model(inputs=tensors(nrtpy, inputs))
    for name in asked.output:
        if name not in outputs:
            print(f"the NEFF has no output {name!r}: it has {', '.join(map(repr, outputs))}", file=sys.stderr)
            return 1
        with open(folder + name, "wb") as file:
            file.write(outputs[name].numpy().tobytes())
        print(f'saved output "{name}" as "{folder}{name}"')
    events = traced(model, tensors(nrtpy, inputs), asked)
    if events is not None:
        return write(folder, {**common(nrtpy, asked), "events": events})
    measured = model.benchmark(
        inputs=tensors(nrtpy, inputs),
        warmup_iter=asked.warmup,
        benchmark_iter=asked.iterations,
        mode="device",
    )
    result = {
        **common(nrtpy, asked),
        "iterations": measured.iterations,
        "warmup_iterations": measured.warmup_iterations,
        "mean_ms": measured.mean_ms,
        "min_ms": measured.min_ms,
        "max_ms": measured.max_ms,
        "std_dev_ms": measured.std_dev_ms,
        "durations_ms": list(measured.durations_ms),
    }
    return write(folder, result)


def traced(model: Any, inputs: Any, asked: Any) -> Any:
    """Return the executions that the runtime's system trace has, with the ids of their cores; None where this nrtpy has no such trace."""
    import importlib
    import json

    try:
        session = importlib.import_module("nrtpy._nrtpy").SystemTraceSession
    except (ImportError, AttributeError):
        return None
    for _ in range(asked.warmup):
        model(inputs=inputs)
    with session() as trace:
        for _ in range(asked.iterations):
            model(inputs=inputs)
        events = json.loads(trace.fetch_events_json())["events"]
    return [event for event in events if event.get("event_type") == "nc_exec_running"]


def common(nrtpy: Any, asked: Any) -> dict[str, Any]:
    """Return what is written of either way to time."""
    return {
        "nrtpy_version": version(nrtpy),
        "mode": "device",
        "requested_iterations": asked.iterations,
        "warmup_iterations": asked.warmup,
    }


def write(folder: str, result: Any) -> int:
    """Return the times, whole or not at all."""
    import json

    with open(f"{folder}{RESULT}.part", "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.replace(f"{folder}{RESULT}.part", f"{folder}{RESULT}")
    return 0


def tensors(nrtpy: Any, inputs: Any) -> dict[str, Any]:
    """Return device tensors of raw files, in dtypes that numpy has."""
    import numpy as np

    made = {}
    for name, dtype, shape, file in inputs:
        sizes = tuple(int(size) for size in shape.split("x")) if shape else ()
        array = np.fromfile(file, dtype).reshape(sizes)
        made[name] = nrtpy.NrtpyTensor.from_numpy(array, name=name, core_id=0)
    return made


def cores(text: str) -> Any:
    """Yield the core numbers of a text: `0-1,4` is 0, 1, 4."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def version(nrtpy: Any) -> str:
    """Return the version of the wheel, else what the module says of itself."""
    import importlib.metadata

    try:
        return importlib.metadata.version("nrtpy")
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(nrtpy, "__version__", "unknown"))


if __name__ == "__main__":
    sys.exit(main())
