"""Stanford CS149, assignment 4: traces of the students' kernels, and times that they wrote down. Studied rows.

A trace's total and active times are read from its NTFF, the kernel from the same commit. The names of traces say what was run,
since the assignment's own scripts make them: `stream_256k_fd1k` adds 256,000 elements with `FREE_DIM` 1000, `transpose_1024` takes
1024 x 1024; a convolution has 256 channels, a 3 x 3 filter and a 224 x 224 image, 32 x 16 where the name says `smaller`, and is
pooled by 2 where it says `pool`. Those scripts profile with `--disable-dge`. The traces of trn2 hold two cores, of which the second is idle. A time that was written down is `nki.benchmark`'s
99th percentile on the NeuronCore.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from neff_bench.doors.estimation import record_kernel
from neff_bench.simulator.compiler.code.descriptors import made_at_compile_time
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.correlation.origin import ENGINES, data, placed, traced
from validation.idle import beside_idle_core
from validation.wild.loading import replace_host_packages

_PART1 = ("part1/stream_256k_fd1k", "part1/stream_256k_fd2k", "part1/transpose_1024")
_CONVOLUTIONS = ("float16", "float16_smaller", "float32_smaller")
_POOLED = tuple(f"pool_{one}" for one in _CONVOLUTIONS)

TRACES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("chengli2003/asst4-trainium2", "b006a75"): _PART1,
    ("chengli2003/asst4-trainium2", "3870f27"): tuple(f"part2/conv2d_1_{one}" for one in _CONVOLUTIONS[1:]),
    ("chengli2003/asst4-trainium2", "cd405b2"): tuple(f"part2/conv2d_2_{one}" for one in _CONVOLUTIONS),
    ("chengli2003/asst4-trainium2", "00f68f3"): tuple(
        f"part2/conv2d_{number}_{one}" for number in (3, 4) for one in _CONVOLUTIONS[1:]
    ),
    ("chengli2003/asst4-trainium2", "a57e57b"): tuple(f"part2/conv2d_5_{one}" for one in _CONVOLUTIONS[1:]),
    ("chenhzhu/asst4-trainium2", "e30a10f"): _PART1,
    ("chenhzhu/asst4-trainium2", "fecd8c8"): tuple(f"part2/profile/final_{one}" for one in (*_CONVOLUTIONS, *_POOLED)),
    ("riya-ranjan/cs149-pa4", "294e65a"): (*_PART1[:2], "part1/transpose_1024_0"),
    ("riya-ranjan/cs149-pa4", "9d1e8c9"): tuple(
        f"part2/my_{one}_smaller"
        for one in (
            "conv_kernel_float16", "conv_kernel_float32", "convpool_kernel_float16", "convpool_kernel_float32",
            "convpool_kernel_pool_float16", "convpool_kernel_pool_float32",
        )
    ),
    ("deepashreeKedia/cs149stanfordasst4", "adfc56c"): _PART1,
    ("deepashreeKedia/cs149stanfordasst4", "8893957"): tuple(
        f"part2/part2_conv_{one}" for one in (*_CONVOLUTIONS, *_POOLED)
    ),
    ("Ni2002ka/asst4-trainium2", "5f31e1c"): (*_PART1[:2], "part1/transpose1024"),
    ("Yousef02/149-asst4-trainium", "4cb6364"): _PART1[:2],
    ("Ericcsr/asst4-trainium", "9189842"): _PART1[:2],
    ("im-a-jin/CS149-asst4", "c1cec4c"): _PART1[:2],
    ("waahm7/asst4-trainium", "a4d4676"): _PART1[:2],
    ("ichuniq/asst4-trainium", "754c4f3"): _PART1[:1],
}  # fmt: skip
"""Paths of the traces without `.ntff`, by repository and commit: all that the clones hold. Nineteen more of convolutions, the largest, and four of
ewang675/asst4-trainium are in the commits' lists, but their contents were not to be had."""

EARLIER = {
    **dict.fromkeys((f"part2/conv2d_2_{one}" for one in _CONVOLUTIONS), "3870f27"),
    **dict.fromkeys((f"part2/conv2d_3_{one}" for one in _CONVOLUTIONS), "cd405b2"),
}
"""Commits of kernels that had changed when these traces of chengli2003/asst4-trainium2 were committed. Those of
conv2d_2 have the matmuls of 3870f27 (36 and 72, the later kernel 72 and 108), those of conv2d_3 more than twice the bytes that 00f68f3
moves, as cd405b2 does. The matmuls of all other traces are those of the kernel beside them."""

SUMMARIES = ("rishic3/asst4-trainium2", "ef7e4ef", "part1/profile_view_")
"""The profiler's own summaries as text, on trn2; their traces are not there."""


class Run(NamedTuple):
    """Holds what was run. file, function: the kernel. changes: other values of its constants. shapes and dtypes of its arguments in `inputs`,
    numbers in `numbers`. static: no descriptors are made on the device, for `--disable-dge` or as all traces of trn1 show."""

    family: str
    name: str
    file: str
    function: str
    inputs: Mapping[str, tuple[tuple[int, ...], str]]
    changes: Mapping[str, int] = {}
    numbers: Mapping[str, int] = {}
    static: bool = True


def added(function: str, length: int, static: bool = True, **changes: int) -> Run:
    """Return the sum of two vectors."""
    inputs = dict.fromkeys(("a_vec", "b_vec"), ((length,), "float32"))
    name = " ".join([function, str(length), *(f"{key} {value}" for key, value in changes.items())])
    return Run("vector_add", name, "part1/kernels.py", function, inputs, changes, static=static)


def transposed(length: int, static: bool = True) -> Run:
    """Return the transpose of a square matrix."""
    inputs = {"a_tensor": ((length, length), "float32")}
    name = f"matrix_transpose {length}x{length}"
    return Run("matrix_transpose", name, "part1/kernels.py", "matrix_transpose", inputs, static=static)


def convolved(dtype: str, pool: int, height: int = 224, width: int = 224) -> Run:
    """Return a convolution with bias; 256 channels."""
    inputs = {"X": ((1, 256, height, width), dtype), "W": ((256, 256, 3, 3), dtype), "bias": ((256,), dtype)}
    name = f"conv2d {height}x{width} {dtype} pool {pool}"
    function = "fused_conv2d_maxpool"
    return Run("conv2d_maxpool", name, "part2/conv2d.py", function, inputs, numbers={"pool_size": pool})


def run_of(path: str) -> Run:
    """Return what a trace of this name was taken of."""
    stem = path.rpartition("/")[2]
    if stem.startswith("stream"):
        return added("vector_add_stream", 256_000, FREE_DIM=1000 * int(stem[-2]))
    if stem.startswith("transpose"):
        return transposed(1024)
    size = (32, 16) if stem.endswith("smaller") else (224, 224)
    return convolved("float16" if "float16" in stem else "float32", 2 if "_pool_" in stem else 1, *size)


def traces(checkouts: Path) -> Iterator[Measured]:
    """Return one row for each trace, trn2 but for the five repositories of the year before, whose traces are of trn1."""
    for (repository, commit), paths in TRACES.items():
        for path in paths:
            trace = traced(data(checkouts / repository, commit, f"{path}.ntff"), f"{path}.ntff")
            if trace.family is None:
                raise ValueError(f"{repository} {path}.ntff: no chip in the trace")
            kernel = EARLIER.get(path, commit)
            yield _row(
                checkouts,
                repository,
                kernel,
                run_of(path),
                f"{path}.ntff",
                trace.family,
                trace.total_us,
                trace.active_us,
            )


def summaries(checkouts: Path) -> Iterator[Measured]:
    """Yield the profiler's own summaries."""
    repository, commit, prefix = SUMMARIES
    for stem in ("stream_256k_fd1k", "stream_256k_fd2k", "transpose_1024"):
        text = data(checkouts / repository, commit, f"{prefix}{stem}.txt").decode()
        keys = dict(line.split(None, 1) for line in text.splitlines() if len(line.split(None, 1)) == 2)
        active = {engine: float(keys[f"{engine}_engine_active_time"]) * 1e6 for engine in ENGINES}
        active["dma"] = float(keys["dma_active_time"]) * 1e6
        total = float(keys["total_time"]) * 1e6
        yield _row(checkouts, repository, commit, run_of(stem), f"{prefix}{stem}.txt", "trn2", total, active)


WRITTEN: tuple[tuple[str, str, str, str, Run, float], ...] = (
    *(
        ("xaviergonzalez/asst4-trainium2", "d155261", f"writeup.md:{line}", "trn2", run, us)
        for line, us, run in (
            (11, 37318.0, added("vector_add_tiled", 25_600, False, ROW_CHUNK=1)),
            (29, 378.0, added("vector_add_tiled", 25_600, False, ROW_CHUNK=128)),
            (79, 186.0, added("vector_add_stream", 25_600, False, FREE_DIM=2)),
            (97, 15.0, added("vector_add_stream", 25_600, False, FREE_DIM=200)),
            (111, 86.0, transposed(1024, False)),
            (175, 3832.0, convolved("float32", 1)),
            (188, 824.0, convolved("float16", 1)),
            (201, 3830.0, convolved("float32", 2)),
            (214, 825.0, convolved("float16", 2)),
        )
    ),
    *(
        ("robertpare17/asst4-trainium", "8a1d41c", f"solution.md:{line}", "trn1", convolved(dtype, pool), us)
        for line, dtype, pool, us in (
            (113, "float32", 1, 3681.0), (114, "float16", 1, 1060.0), (115, "float32", 2, 3741.0), (116, "float16", 2, 1275.0),
        )
    ),
    *(
        ("ichuniq/asst4-trainium", "ba2c5b1", f"README.md:{line}", "trn1", added(f"vector_add_{kernel}", 256_000), 28.0)
        for line, kernel in ((444, "direct_allocation"), (445, "stream"))
    ),
)  # fmt: skip
"""Repository, commit, where the time stands, chip, what was run, us."""


def written(checkouts: Path) -> Iterator[Measured]:
    """Times that were written down."""
    for repository, commit, where, target, run, us in WRITTEN:
        data(checkouts / repository, commit, where.partition(":")[0])
        yield _row(checkouts, repository, commit, run, where, target, us, {})


def _row(
    checkouts: Path,
    repository: str,
    commit: str,
    run: Run,
    where: str,
    target: str,
    us: float,
    active: Mapping[str, float],
) -> Measured:
    program = partial(recorded, checkouts / repository, commit, run, target)
    name = f"{run.name}, {where}"
    return Measured(
        repository, commit, run.family, f"{run.name} {target}", name, target, 1, "beta", us, program, active,
        variants=run.family == "conv2d_maxpool",
    )  # fmt: skip


def recorded(checkout: Path, commit: str, run: Run, target: str) -> Program:
    """Return the kernel of that commit. Raises FileNotFoundError where the clone has none, ValueError where it lacks a constant to change."""
    source = data(checkout, commit, run.file).decode()
    for name, value in run.changes.items():
        source, found = re.subn(rf"^(\s+{name} *= *)\d+", rf"\g<1>{value}", source, flags=re.MULTILINE)
        if not found:
            raise ValueError(f"{checkout} {run.file}: no {name} to set to {value}")
    install()
    replace_host_packages()
    inputs: dict[str, Any] = dict(run.inputs)
    program = record_kernel(f"{placed(source, 'kernels.py')}:{run.function}", inputs, target, 1, dict(run.numbers))
    whole = beside_idle_core(program) if target == "trn2" else program
    return made_at_compile_time(whole) if run.static else whole
