"""The work that the gate measures. Prints the CPU seconds of one piece of it, the least of several times, and the peak memory in bytes.

    python bench/workloads.py decode_attention FILES

FILES is a folder with what `make_files` writes. A workload imports the package that PYTHONPATH names, so that one file measures
two trees. The oldest trees have their rooms at the top level.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import recorder
import scheduler

HERE = Path(__file__).resolve().parent
ENOUGH_S, REPEATS = 2.0, 5
"""A workload is repeated until it took so long, and at most so often."""
INSTRUCTIONS = 500_000
"""Of the trace, which has 2.75 million records."""
PROFILE_BYTES = 20_000_000
EVENTS = 100_000
SHAPES = """
defaults: {target: trn2, lnc: 2, dtype: bfloat16}
cases:
  - {kernel: matmul, implementation: nki, M: [128, 256, 384], K: 256, N: 512}
"""


def make_files(folder: Path) -> None:
    """Write the files that workloads read, once for all runs."""
    sys.path.append(str(HERE.parent))
    import page
    import readers

    readers.trace(folder / "trace.ntff", INSTRUCTIONS)
    readers.profile_json(folder / "profile.json", PROFILE_BYTES)
    page.write_profile(folder / "events.json", EVENTS)
    variant = {
        "kernel": f"{HERE / 'matmul_variants.py'}:matmul",
        "inputs": {name: {"shape": (1024, 1024), "dtype": "bfloat16"} for name in ("lhs_t", "rhs")},
    }
    sizes = [
        (m, n, k, order, tile)
        for m in (128, 256, 512, 1024)
        for n in (512, 1024)
        for k in (128, 256, 512, 1024)
        for order in ("mnk", "mkn", "nmk", "nkm", "kmn", "knm")
        for tile in (512, 256)
    ]
    lines = [
        json.dumps(
            {"id": number, **variant, "arguments": dict(zip(("block_m", "block_n", "block_k", "order", "tile_n"), one))}
        )
        for number, one in enumerate(sizes[:200])
    ]
    (folder / "variants.jsonl").write_text("\n".join(lines))


def room(name: str) -> Any:
    """Return a module of the measured tree: `neff_bench.simulator.program`, or `simulator.program` where `neff_bench` is one file."""
    whole = getattr(importlib.import_module("neff_bench"), "__path__", None)
    return importlib.import_module(f"neff_bench.{name}" if whole else name)


def command(*modules: str) -> list[str]:
    """Return the first of these modules that the measured tree has, to be run."""
    for name in modules:
        for module in (f"neff_bench.{name}", name):
            try:
                if importlib.util.find_spec(module):
                    return [sys.executable, "-m", module]
            except ModuleNotFoundError:
                continue
    raise SystemExit(f"none of {', '.join(modules)} is there")


def _of_commands(*commands: list[str], given: Path | None = None) -> float:
    """CPU seconds of programs and of all that they start."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for words in commands:
        with open(given or os.devnull) as stdin:
            subprocess.run(words, check=True, capture_output=True, stdin=stdin)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def end_to_end(_: Path) -> float:
    """Three small cases from a shapes file to a table, both commands with all that they start."""
    with tempfile.TemporaryDirectory() as folder:
        shapes, store = Path(folder, "shapes.yaml"), Path(folder, "store")
        shapes.write_text(SHAPES)
        words = ["--shapes", str(shapes), "--out", str(store), "--toolchain", "sim"]
        return _of_commands([*command("stage1_generate.cli"), *words], [*command("stage2_profile.cli"), str(store)])


def help_of(*modules: str) -> Callable[[Path], float]:
    """Ask a command for `--help`, ten times."""
    return lambda _: _of_commands(*[[*command(*modules), "--help"]] * 10)


def import_neff_bench(_: Path) -> float:
    """Run `import neff_bench`, ten times."""
    return _of_commands(*[[sys.executable, "-c", "import neff_bench"]] * 10)


def recording(instructions: int) -> Callable[[Path], float]:
    """Return the workload that records a blocked matmul of so many instructions: the kernel, what the compiler does to it, and the checks of memory."""

    def work(_: Path) -> float:
        nki = "simulator.nki"
        function = recorder.kernel(room(f"{nki}.isa"), room(f"{nki}.language"), instructions // 20)
        trace, inputs = room(f"{nki}.trace"), recorder.inputs(room(f"{nki}.spec").InputSpec)
        if hasattr(trace, "Call"):
            return _cpu_s(lambda: trace.record(trace.Call(function, "matmuls", inputs), "trn2", 1))
        return _cpu_s(lambda: trace.record(function, "matmuls", inputs, {}, (), "trn2", 1))

    return work


def estimate(_: Path) -> float:
    """Estimate a product of 1024^3, ten times in one process. Return the CPU seconds."""
    import neff_bench

    kernel, inputs = (
        f"{HERE / 'matmul_variants.py'}:matmul",
        dict.fromkeys(("lhs_t", "rhs"), ((1024, 1024), "bfloat16")),
    )
    neff_bench.estimate(kernel, inputs)
    return _cpu_s(lambda: [neff_bench.estimate(kernel, inputs, arguments={"block_k": k}) for k in (128, 256) * 5])


def tune(times: int) -> Callable[[Path], float]:
    """200 variants of that product, by the command, so many times; the last one counts."""

    def work(files: Path) -> float:
        with tempfile.TemporaryDirectory() as cache:
            os.environ["XDG_CACHE_HOME"] = cache  # what an earlier call answered is known
            words = [*command("cli"), "tune", "--jobs", "1"]
            return [_of_commands(words, given=files / "variants.jsonl") for _ in range(times)][-1]

    return work


def summary(_: Path) -> float:
    """Make the timeline and the summary of a program of 100,000 machine instructions. Return the CPU seconds."""
    timing = "simulator.timing"
    tiled = scheduler.tiled(room("simulator.program"), 2270)
    timed = room(f"{timing}.schedule").schedule(tiled)
    timeline_of, summarise = room(f"{timing}.timeline").timeline_of, room(f"{timing}.counters").summarise
    return _cpu_s(lambda: summarise(tiled, timed, timeline_of(timed)))


def read_ntff(files: Path) -> float:
    """Read a trace of 2.75 million records. Return the CPU seconds."""
    room("parsers.timeline")
    reader = room("parsers.ntff").read_ntff
    return _cpu_s(lambda: reader(files / "trace.ntff"))


def read_profile(files: Path) -> float:
    """Read a whole-profile JSON of 20 MB. Return the CPU seconds."""
    reader = room("parsers.profile_json").read_profile
    return _cpu_s(lambda: reader(files / "profile.json"))


def page_of_profile(files: Path) -> float:
    """Make the page of a profile of 100,000 events. Return the CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        return _of_commands([*command("cli"), "view", str(files / "events.json"), "--output", f"{folder}/page.html"])


def _decode_attention():
    """Record one tile of 128 x 16384 that is written in pieces, read in pieces and read whole, as the cache of a decode step is."""
    Access, Buffer, Instruction, Program = (
        getattr(room("simulator.program"), name) for name in ("Access", "Buffer", "Instruction", "Program")
    )

    pieces, width = 256, 64
    buffers = (
        Buffer("kv", "hbm", (128, pieces * width), "bfloat16", "input"),
        Buffer("out", "hbm", (128, width), "float32", "output"),
        Buffer("cache", "sbuf", (128, pieces * width), "bfloat16", "internal", 0, b"", 0),
        Buffer("sum", "psum", (128, width), "float32", "internal", 0, b"", 0),
        Buffer("row", "sbuf", (128, width), "float32", "internal", 0, b"", 2 * pieces * width),
    )
    whole, piece = ((pieces * width, 128), (1, pieces * width)), ((pieces * width, 128), (1, width))
    small = ((width, 128), (1, width))
    instructions = [Instruction("memset", "gpsimd", {"dst": Access(2, 0, whole, "bfloat16")}, {}, {"value": 0.0})]
    for number in range(pieces):
        part = Access(2, number * width, piece, "bfloat16")
        source = Access(0, number * width, piece, "bfloat16")
        instructions.append(Instruction("dma_copy", "sync", {"dst": part}, {"src": source}, {}))
        stationary = Access(2, (number // 2) * width, ((pieces * width, 128), (1, 64)), "bfloat16")
        operands = {"stationary": stationary, "moving": part}
        instructions.append(Instruction("nc_matmul", "tensor", {"dst": Access(3, 0, ((width, 64), (1, width)), "float32")}, operands, {}))  # fmt: skip
        if number % 32 == 31:
            row = Access(4, 0, small, "float32")
            everything = Access(2, 0, whole, "bfloat16")
            instructions.append(Instruction("tensor_reduce", "vector", {"dst": Access(4, 0, ((width, 128), (1, 1)), "float32")}, {"data": everything}, {"op": "add", "axis": 1}))  # fmt: skip
            instructions.append(Instruction("dma_copy", "sync", {"dst": Access(1, 0, small, "float32")}, {"src": row}, {}))  # fmt: skip
    return Program("decode", "trn2", 1, buffers, (0,), (1,), (tuple(instructions),))


def decode_attention(_: Path) -> float:
    """Machine code and schedule of a program with one large access among many small ones."""
    from neff_bench.simulator.timing.schedule import schedule

    program = _decode_attention()
    return _cpu_s(lambda: schedule(program))


def output_check(_: Path) -> float:
    """Outputs of 2 x 8 million elements compared with their reference."""
    import numpy as np

    from neff_bench.stage2_profile.metrics.check import compare_files

    with tempfile.TemporaryDirectory() as folder:
        one, other = Path(folder, "one"), Path(folder, "other")
        for path in (one, other):
            path.write_bytes(np.linspace(-1, 1, 1 << 23, dtype=np.float32).tobytes())
        return _cpu_s(lambda: compare_files(one, other, "float32", (1e-2, 1e-2), 1))


def profile_json(_: Path) -> float:
    """Write the whole-profile JSON of a program with 10,000 machine instructions. Return the CPU seconds."""
    import orjson

    from neff_bench.simulator.files.profile import full_profile
    from neff_bench.simulator.timing.schedule import schedule
    from neff_bench.simulator.timing.timeline import timeline_of

    program = _decode_attention()
    timed = schedule(program)
    neff = SimpleNamespace(program=program, uuid=bytes(16), hash=bytes(16), name="file.neff", data_size=0)
    timeline = timeline_of(timed)
    return _cpu_s(lambda: orjson.dumps(full_profile(neff, timed, timeline, (0,), "file.neff", "profile.ntff")))


def _planted() -> float:
    """CPU seconds that are burnt on purpose, to see that the gate notices."""
    wanted = float(os.environ.get("GATE_PLANTED_S", "0"))
    return _cpu_s(
        lambda: [None for _ in iter(lambda end=time.process_time() + wanted: time.process_time() > end, True)]
    )


def _cpu_s(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


WORKLOADS: dict[str, Callable[[Path], float]] = {
    "end_to_end": end_to_end,
    "recording_10k": recording(10_000),
    "recording_300k": recording(300_000),
    "estimate": estimate,
    "tune": tune(1),
    "tune_again": tune(2),
    "decode_attention": decode_attention,
    "summary": summary,
    "profile_json": profile_json,
    "output_check": output_check,
    "read_ntff": read_ntff,
    "read_profile": read_profile,
    "page": page_of_profile,
    "generate-neffs --help": help_of("stage1_generate.cli"),
    "profile-neffs --help": help_of("stage2_profile.cli"),
    "neuron-sim --help": help_of("simulator"),
    "neff-bench --help": help_of("cli", "neff_bench"),
    "import neff_bench": import_neff_bench,
}


def main() -> None:
    work, files = WORKLOADS[sys.argv[1]], Path(sys.argv[2])
    sys.path.remove(str(HERE))  # a tree with its rooms at the top has `parsers` too
    costs: list[float] = []
    while len(costs) < REPEATS and sum(costs) < ENOUGH_S:
        costs.append(work(files) + _planted())
    peak_kb = max(
        int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))),
        resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss,
    )
    print(min(costs), peak_kb * 1024)


if __name__ == "__main__":
    main()
