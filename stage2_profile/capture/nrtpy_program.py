"""Runs a NEFF with nrtpy and writes what it took: a program of its own, started by file with the Python that has nrtpy.

    python nrtpy_program.py --neff FILE --warmup W --iterations N [--input NAME DTYPE SHAPE FILE]... [--output NAME]...

nrtpy must not share an environment with nki (AWS Neuron docs, neuron-runtime/nrtpy), so nothing of neff-bench is imported here:
the standard library, numpy and nrtpy are all there is. Outputs of the first execution go into files of their names, the
times into benchmark.json. The cores are those of NEURON_RT_VISIBLE_CORES. Exit code 1: nrtpy raised an error, which is printed.
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import sys

RESULT = "benchmark.json"


def main() -> int:
    """Exit code 0: done, 1: nrtpy is absent or raised an error."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--neff")
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--input", nargs=4, action="append", default=[], metavar=("NAME", "DTYPE", "SHAPE", "FILE"))
    parser.add_argument("--output", action="append", default=[])
    asked = parser.parse_args()
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


def run(nrtpy, asked) -> int:
    """Execute once for the outputs, then time. The inputs are made again between: a kernel may write into them."""
    if "NEURON_RT_VISIBLE_CORES" in os.environ:
        nrtpy.configure(visible_cores=[int(core) for core in cores(os.environ["NEURON_RT_VISIBLE_CORES"])])
    model = nrtpy.NrtpyModel.load_from_neff(asked.neff, core_id=0)
    outputs = model(inputs=tensors(nrtpy, asked.input))
    for name in asked.output:
        if name not in outputs:
            print(f"the NEFF has no output {name!r}: it has {', '.join(map(repr, outputs))}", file=sys.stderr)
            return 1
        with open(name, "wb") as file:
            file.write(outputs[name].numpy().tobytes())
        print(f'saved output "{name}" as "{name}"')
    measured = model.benchmark(
        inputs=tensors(nrtpy, asked.input),
        warmup_iter=asked.warmup,
        benchmark_iter=asked.iterations,
        mode="device",
    )
    result = {
        "nrtpy_version": version(nrtpy),
        "mode": "device",
        "requested_iterations": asked.iterations,
        "iterations": measured.iterations,
        "warmup_iterations": measured.warmup_iterations,
        "mean_ms": measured.mean_ms,
        "min_ms": measured.min_ms,
        "max_ms": measured.max_ms,
        "std_dev_ms": measured.std_dev_ms,
        "durations_ms": list(measured.durations_ms),
    }
    with open(f"{RESULT}.part", "w") as file:
        json.dump(result, file, indent=1)
    os.replace(f"{RESULT}.part", RESULT)
    return 0


def tensors(nrtpy, inputs) -> dict:
    """Device tensors of raw files, in dtypes that numpy has."""
    import numpy as np

    made = {}
    for name, dtype, shape, file in inputs:
        sizes = tuple(int(size) for size in shape.split("x")) if shape else ()
        array = np.fromfile(file, dtype).reshape(sizes)
        made[name] = nrtpy.NrtpyTensor.from_numpy(array, name=name, core_id=0)
    return made


def cores(text: str):
    """`0-1,4` as 0, 1, 4."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def version(nrtpy) -> str:
    """Of the wheel, else what the module says of itself."""
    try:
        return importlib.metadata.version("nrtpy")
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(nrtpy, "__version__", "unknown"))


if __name__ == "__main__":
    sys.exit(main())
