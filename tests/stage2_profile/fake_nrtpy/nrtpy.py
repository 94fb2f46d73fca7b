"""A stand-in for nrtpy with the classes and functions that AWS documents (neuron-runtime/nrtpy), and no others.

It runs the "NEFF" of fake_profiler.py: JSON with {"outputs": {name: hex bytes}, "total_time": seconds}. FAKE_NRTPY in the environment
is a fault: the name of an NRT status with its number ("NRT_FAILURE(6)"), "subgraphs" or "noise". FAKE_NRTPY_RANK_FAILS: the rank
whose model cannot be loaded, for which the others wait; FAKE_SLOW_RANK takes half as long again. A rank of several writes what it
was given into seen.json.
"""

import json
import os
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

__version__ = "2.34.10.0"
_active = False


class NrtpyError(RuntimeError):
    pass


class NrtError(RuntimeError):
    pass


def configure(visible_cores=None):
    if _active:
        raise RuntimeError("the runtime is active; call reset() first")
    if isinstance(visible_cores, int):
        raise TypeError("visible_cores must be an iterable of core numbers")
    if visible_cores is not None:
        cores = list(visible_cores)
        if any(core < 0 for core in cores):
            raise ValueError("a core number is negative")
        os.environ["NEURON_RT_VISIBLE_CORES"] = ",".join(map(str, cores))


def reset():
    global _active
    _active = False


def _start():
    global _active
    _active = True


@dataclass
class TensorMetadata:
    shape: tuple
    size: int


class NrtpyTensor:
    def __init__(self, tensor_ref, shape, dtype, name=None):
        self.tensor_ref, self.shape, self.dtype, self.name = tensor_ref, shape, dtype, name

    @classmethod
    def from_numpy(cls, array, name=None, core_id=0):
        _start()
        return cls(bytearray(np.ascontiguousarray(array).tobytes()), array.shape, array.dtype, name)

    def write_from_numpy(self, array):
        data = np.ascontiguousarray(array).tobytes()
        if len(data) != len(self.tensor_ref):
            raise ValueError("the array has another size than the tensor")
        self.tensor_ref[:] = data

    def numpy(self):
        return np.frombuffer(bytes(self.tensor_ref), self.dtype)


@dataclass
class BenchmarkResult:
    mean_ms: float
    min_ms: float
    max_ms: float
    std_dev_ms: float
    iterations: int
    warmup_iterations: int
    durations_ms: list = field(default_factory=list)


class NrtpyModel:
    def __init__(self, program, name, rank_id=0, world_size=1):
        self._program, self.name, self._rank, self._ranks = program, name, rank_id, world_size
        self.input_tensors_info = {}
        self.output_tensors_info = {
            key: TensorMetadata((len(data) // 2,), len(data) // 2) for key, data in program["outputs"].items()
        }

    @classmethod
    def load_from_neff(cls, neff_path, name=None, core_id=0, cc_enabled=False, rank_id=0, world_size=1):
        _start()
        fault = os.environ.get("FAKE_NRTPY", "")
        if fault.startswith("NRT_"):
            raise NrtError(f"NRT Error {fault}: Failed to load model")
        if (world_size > 1) != cc_enabled or not 0 <= rank_id < world_size:
            raise ValueError("rank_id, world_size and cc_enabled do not fit")
        failing = os.environ.get("FAKE_NRTPY_RANK_FAILS")
        if failing == str(rank_id):
            raise NrtError("NRT Error NRT_FAILURE(1): Failed to load model")
        if failing is not None:
            time.sleep(600)
        return cls(json.loads(Path(neff_path).read_text()), name or Path(neff_path).stem, rank_id, world_size)

    def __call__(self, inputs, outputs=None, save_trace=False, ntff_name=None):
        if not all(isinstance(tensor, NrtpyTensor) for tensor in inputs.values()):
            raise NrtpyError("an input is no NrtpyTensor")
        if self._ranks > 1:
            seen = {"rank_id": self._rank, "world_size": self._ranks, "cores": os.environ["NEURON_RT_VISIBLE_CORES"]}
            first = {name: float(tensor.numpy()[0]) for name, tensor in inputs.items()}
            Path(f"output_worker_{self._rank}/seen.json").write_text(json.dumps(seen | first))
        # libnrt does not always report the dtype: the tensor comes back as void
        made = {
            key: NrtpyTensor(bytearray.fromhex(data), (len(data) // 8,), np.dtype("V4"), key)
            for key, data in self._program["outputs"].items()
        }
        return made if outputs is None else None

    def benchmark(self, inputs, outputs=None, warmup_iter=5, benchmark_iter=5, mode="device"):
        if mode not in ("device", "host") or benchmark_iter < 1:
            raise ValueError("mode is device or host, benchmark_iter at least 1")
        fault = os.environ.get("FAKE_NRTPY", "")
        spread = 0.5 if fault == "noise" else 0.001
        count = benchmark_iter * (2 if fault == "subgraphs" else 1)
        middle = self._program["total_time"] * 1e3
        if self._ranks > 1 and str(self._rank) == os.environ.get("FAKE_SLOW_RANK"):
            middle *= 1.5
        times = [middle * (1 + spread * (index / max(1, count - 1) - 0.5)) for index in range(count)]
        return BenchmarkResult(
            statistics.mean(times), min(times), max(times), statistics.pstdev(times), count, warmup_iter, times
        )
