"""Runs matmuls through both stages, as commands, and reads what the profiles say about their instructions."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import orjson

from neff_bench.errors import DONE, FAILED, WRONG, WrongCall
from neff_bench.experiments.errors import ExperimentError
from neff_bench.experiments.workload import MatmulConfig
from neff_bench.installation import IMPORT_ROOT
from neff_bench.terminal import streams

VIEW_TIMEOUT_S = 600.0
"""As a step of `profile-neffs` has it."""

HBM_SOURCE = re.compile(r"\bsrc=(\w+)@hbm:(\w+)\+\d+\[[-\d,]*\]\[([\d,]+)\]")
"""dtype, tensor and sizes of what a DMA reads, as neuron-sim writes operands."""


@dataclass(frozen=True)
class Build:
    """Holds what to build a matmul for. `dtype` may also be a float8 type here. `tile`: the sizes (M, K, N) to cut it into, None
    for a kernel that chooses and keeps operands in SBUF. `test_case`, `batch`: what asks for it, and how many times its rows; they change
    nothing of what is built."""

    M: int
    K: int
    N: int
    dtype: str
    implementation: str
    target: str
    lnc: int
    tile: tuple[int, int, int] | None = None
    test_case: str = field(default="", compare=False)
    batch: int = field(default=1, compare=False)

    @property
    def kernel(self) -> str:
        """The declared kernel that is built."""
        return "matmul" if self.tile is None else "tiled_matmul"

    @property
    def dims(self) -> dict[str, int]:
        """In the order of the kernel's declaration."""
        dims = {"M": self.M, "K": self.K, "N": self.N}
        return dims if self.tile is None else {**dims, **dict(zip(("tile_m", "tile_k", "tile_n"), self.tile))}

    @property
    def name(self) -> str:
        """The bundle's directory."""
        from neff_bench.neffs.case import Case

        return Case(self.kernel, self.implementation, tuple(self.dims.items()), self.dtype, self.target, self.lnc).name

    @property
    def total_tiles(self) -> int:
        """The matmul instructions for the sizes of `tile`, else for what one instruction takes."""
        if self.tile is None:
            return math.prod(self.config.tiles)
        return math.prod(-(-size // tile) for size, tile in zip((self.M, self.K, self.N), self.tile))

    @property
    def input_bytes(self) -> tuple[int, int]:
        """The bytes of lhs and rhs."""
        from neff_bench.neffs.dtypes import size_bytes

        item = size_bytes(self.dtype)
        return self.M * self.K * item, self.K * self.N * item

    @property
    def config(self) -> MatmulConfig:
        """The shape as the latency experiment has it."""
        return MatmulConfig(self.M, self.K, self.N)


class _Instruction(msgspec.Struct):
    opcode: str = ""
    duration: int = 0
    instruction_type: str = ""
    compiler_opcode: str = ""
    operands: str = ""


class _Profile(msgspec.Struct):
    instruction: list[_Instruction] = []


@dataclass(frozen=True)
class Instructions:
    """The figures of both cores together; times are sums of durations, in microseconds.

    `accumulate_*`: matmuls that add to what is in PSUM (None where the profile does not say which); accumulation costs
    the PE array nothing extra. `transpose_*`: transposes on the PE array, not part of `matmul_*`. `read_bytes`: from HBM, by
    tensor; None where the profile does not name tensors.
    """

    matmul_count: int
    matmul_us: float
    accumulate_count: int | None
    accumulate_us: float | None
    transpose_count: int
    transpose_us: float
    read_bytes: dict[str, int] | None = None


def build_and_profile(builds: Sequence[Build], store: Path, toolchain: str) -> dict[str, dict[str, Any]]:
    """Return the rows of stage 2 by bundle name. A build that fails is a row with its reason."""
    store.mkdir(parents=True, exist_ok=True)
    shapes, table = store / ".shapes.json", store / ".rows.json"
    cases = [
        {"kernel": b.kernel, "implementation": b.implementation, **b.dims}
        | {"dtype": b.dtype, "target": b.target, "lnc": b.lnc}
        for b in builds
    ]
    shapes.write_bytes(orjson.dumps({"cases": cases}))
    only = [word for b in builds for word in ("--only", b.name)]
    _stage("generate", ["--shapes", str(shapes), "--out", str(store), "--toolchain", toolchain])
    arguments = [str(store), "--toolchain", toolchain, "--format", "json", "--output", str(table), *only]
    _stage("profile", arguments)
    rows = orjson.loads(table.read_bytes())
    return {row["case"]: row for row in rows}


def read_instructions(store: Path, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Instructions | None]:
    """Return matmuls, accumulation and transposes of each profiled bundle, by its name; None, with a notice, when its trace cannot be
    viewed."""
    from neff_bench.stage2_profile.capture import process
    from neff_bench.stage2_profile.capture.warm import warm_parent

    with warm_parent(os.environ) as warm:
        run = partial(process.run, limits=process.Limits(VIEW_TIMEOUT_S), warm=warm)
        return {
            name: _instructions(store / name, row, run) for name, row in rows.items() if row["status"] == "profiled"
        }


def _instructions(bundle: Path, row: Mapping[str, Any], run: Callable[..., Any]) -> Instructions | None:
    try:
        profile = _view(bundle, row, run)
    except ExperimentError as error:
        streams.notice(f"{bundle.name}: instructions not counted: {error}")
        return None
    counted = count_instructions([i for i in profile.instruction if i.opcode == "MATMUL"])
    return replace(counted, read_bytes=count_reads(profile.instruction))


def _view(bundle: Path, row: Mapping[str, Any], start: Callable[..., Any]) -> _Profile:
    """Return the full profile of a bundle's newest run. Raises `ExperimentError`."""
    from neff_bench.stage2_profile.capture.arguments import view
    from neff_bench.stage2_profile.capture.environment import tool_environment
    from neff_bench.stage2_profile.capture.tools import find_neuron_tool, find_simulator
    from neff_bench.stage2_profile.errors import ProfileError

    run = bundle / "profiles" / str(row.get("run"))
    traces, neffs = sorted(run.glob("*.ntff")), sorted(bundle.glob("*.neff"))
    if not traces or not neffs:
        raise ExperimentError("its trace is not there")
    try:
        tool = find_simulator(os.environ) if row["source"] == "simulated" else find_neuron_tool(os.environ)
    except ProfileError as error:
        raise ExperimentError(str(error)) from None
    known = tool.command("view")
    if "json" not in known.formats:
        raise ExperimentError(f"{tool.name} of SDK {tool.release.name} writes no JSON")
    out = (run / "instructions.json").absolute()
    argv = view(tool.argv, str(neffs[0].absolute()), str(traces[0].absolute()), "json", known, str(out))
    done = start(argv, cwd=run, env=tool_environment(os.environ, run))
    try:
        if done.exit_code:
            raise ExperimentError(f"{tool.name} view: {(done.log.strip() or 'no message').splitlines()[-1]}")
        return msgspec.json.decode(out.read_bytes(), type=_Profile)
    except (OSError, msgspec.MsgspecError) as error:
        raise ExperimentError(f"{tool.name} view: {error}") from None
    finally:
        out.unlink(missing_ok=True)


def count_instructions(matmuls: Sequence[_Instruction]) -> Instructions:
    """Count instructions. `matmuls`: the MATMUL instructions of a profile."""
    transposes = [i for i in matmuls if "TRANSPOSE" in (i.instruction_type, i.compiler_opcode.upper())]
    products = [i for i in matmuls if i not in transposes]
    told = bool(products) and all("acc_flags=" in i.operands for i in products)
    # Bit 0 of acc_flags: the matmul overwrites PSUM, the first of a group; the others accumulate.
    adding = [i for i in products if told and not int(i.operands.split("acc_flags=")[1].split()[0]) & 1]
    return Instructions(
        matmul_count=len(products),
        matmul_us=_us(products),
        accumulate_count=len(adding) if told else None,
        accumulate_us=_us(adding) if told else None,
        transpose_count=len(transposes),
        transpose_us=_us(transposes),
    )


def count_reads(instructions: Iterable[_Instruction]) -> dict[str, int] | None:
    """Return the bytes that the instructions read from HBM, by tensor; None when no instruction names one."""
    from neff_bench.neffs.dtypes import size_bytes

    found: dict[str, int] = {}
    for instruction in instructions:
        for dtype, name, sizes in HBM_SOURCE.findall(instruction.operands):
            found[name] = found.get(name, 0) + size_bytes(dtype) * math.prod(map(int, sizes.split(",")))
    return found or None


def relative_error(bundle: Path, max_abs_error: float | None) -> float | None:
    """Return the largest error over the largest magnitude of the reference; None when either is not known."""
    import numpy as np

    from neff_bench.neffs.bundle import read_bundle
    from neff_bench.neffs.dtypes import numpy_dtype
    from neff_bench.neffs.errors import NeffsError

    try:
        outputs = read_bundle(bundle).manifest.outputs
    except NeffsError:
        return None
    largest = 0.0
    for tensor in outputs:
        if tensor.file is None:
            return None
        values = np.fromfile(bundle / tensor.file, numpy_dtype(tensor.dtype)).astype(np.float32)
        largest = max(largest, float(np.abs(values).max()))
    return max_abs_error / largest if max_abs_error is not None and largest else None


def _stage(command: str, arguments: list[str]) -> None:
    """Exit code 1 is a failed case, which its row shows. Raises `WrongCall` with the message of a call that the stage refuses, and
    `ExperimentError`."""
    paths = [str(IMPORT_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    words = [sys.executable, "-m", "neff_bench", command, *arguments]
    done = subprocess.run(
        words,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        encoding="utf-8",
    )
    *lines, last = done.stderr.splitlines() or [""]
    refused = done.returncode == WRONG and last.startswith("error: ")
    for line in lines if refused else done.stderr.splitlines():
        streams.status(line)
    if refused:
        raise WrongCall(last.removeprefix("error: "))
    if done.returncode not in (DONE, FAILED):
        raise ExperimentError(f"{command} failed with exit code {done.returncode}; its message is above")


def _us(instructions: Sequence[_Instruction]) -> float:
    return sum(i.duration for i in instructions) / 1e3
