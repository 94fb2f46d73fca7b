"""Finds cases of kernels that a shapes file does not have, from nki-library's own tests: they know which inputs a kernel takes."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfile
from typing import Any

from neff_bench.chips import PAIRED
from neff_bench.errors import NeffBenchError
from neff_bench.installation import pip_install
from neff_bench.nkilib.library import Kernel, Library
from neff_bench.simulator.commands.nkilib_tests import environment, pytest_command
from neff_bench.system.files import write_whole

LAUNCHES = "launches.jsonl"
"""What the plugin writes (collect.py)."""
REFERENCE = "reference "
"""The expected outputs of a launch in its npz file, with a number."""
ARRAYS = "arrays.py"
TESTS_AT_LEAST = 10
"""Tests of a file that come to their turn, however long each takes."""
SHAPES = "shapes.yaml"
_USAGE_ERROR = 4
"""pytest's exit code where a conftest.py cannot be imported."""
_NO_TESTS = 5
"""pytest's exit code where no test is left: those of MX kernels are for the newer chip alone. All of nki-library is for chips with LNC 2."""
_HEAD = '''"""Tensors of nki-library's tests and the outputs that they expect, for shapes.yaml."""

from pathlib import Path

import numpy as np


def load(file, name, digest):
    """`digest`: sha256 of the file, which makes the text of this module change with it."""
    return lambda shape, rank: np.load(Path(__file__).with_name(file))[f"{name}.{rank}"]


def expected(file, outputs, ranks, digest):
    def reference(**inputs):
        with np.load(Path(__file__).with_name(file)) as arrays:
            by_output = [[arrays[f"reference {at}.{rank}"] for rank in range(ranks)] for at in range(outputs)]
        return [np.stack(each) if ranks > 1 else each[0] for each in by_output]

    return reference


'''


@dataclass(frozen=True)
class Discovered:
    """`cases`: name of the kernel -> the launch that becomes its case; `reasons`: name -> why there is none."""

    cases: Mapping[str, Mapping[str, Any]]
    reasons: Mapping[str, str]


def discover(library: Library, kernels: Sequence[Kernel], shapes: Path, out: Path, timeout_s: float) -> Discovered:
    """Run the tests that import these kernels up to their launches, and write `out/shapes.yaml`: the cases of `shapes` and one
    for each kernel of which a launch could be written down. `timeout_s`: for each test file. Raises `NeffBenchError`."""
    if find_spec("pytest") is None:
        raise NeffBenchError(f"discover runs nki-library's tests, which need: {pip_install('discover')}")
    out.mkdir(parents=True, exist_ok=True)
    cases: dict[str, Mapping[str, Any]] = {}
    reasons = {kernel.entry: "no test imports it" for kernel in kernels}
    with tempfile.TemporaryDirectory(prefix="discover-") as scratch:
        for file, kernels_of in _by_test(library, kernels).items():
            wanted = [kernel for kernel in kernels_of if kernel.name not in cases]
            folder = Path(scratch) / file.stem
            folder.mkdir()
            ended = _run(library.path, file, [kernel.entry for kernel in wanted], folder, timeout_s) if wanted else ""
            for kernel in wanted:
                launch, reason = _smallest(folder, kernel.entry)
                if launch is not None:
                    copyfile(folder / launch["file"], out / f"{kernel.name}.npz")
                    cases[kernel.name] = launch
                reasons[kernel.entry] = reason or f"{file.name} {ended}"
    found = {kernel.name: reasons[kernel.entry] for kernel in kernels if kernel.name not in cases}
    _write(out, shapes.read_text(encoding="utf-8"), cases)
    return Discovered(cases, found)


def _by_test(library: Library, kernels: Iterable[Kernel]) -> dict[Path, list[Kernel]]:
    """Test file -> the kernels that are looked for in it; the likeliest file of each kernel before its others."""
    found: dict[Path, list[Kernel]] = {}
    files = {kernel: library.tests_of(kernel) for kernel in kernels}
    for turn in range(max(map(len, files.values()), default=0)):
        for kernel, of in files.items():
            for file in of[turn : turn + 1]:
                found.setdefault(file, []).append(kernel)
    return found


def _run(checkout: Path, file: Path, entries: Sequence[str], folder: Path, timeout_s: float) -> str:
    """Return what the tests did instead of launching a kernel."""
    words = ("-p", "neff_bench.nkilib.collect", "-q", str(file.relative_to(checkout)))
    told = environment(checkout, run_all=True, seed=0) | {"RECORD_TO": str(folder), "RECORD_KERNELS": " ".join(entries)}
    told["RECORD_TEST_S"] = str(timeout_s / TESTS_AT_LEAST)
    for target in PAIRED:
        try:
            done = subprocess.run(
                pytest_command((*words, "--platform-target", target), str(folder / "output")),
                cwd=checkout, env=told | {"RECORD_TARGET": target}, capture_output=True, text=True, timeout=timeout_s, check=False,
            encoding="utf-8")  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"does not launch it by itself within {timeout_s:g} s"
        if done.returncode != _NO_TESTS:
            break
    said = done.stdout.splitlines() + done.stderr.splitlines()  # pytest tells of a broken conftest.py on the second
    error = next((line for line in said if line.startswith("E  ")), "")
    text = " ".join(error[1:].split())
    if done.returncode == _USAGE_ERROR:
        return f"cannot be loaded: {text}" + (f"; {pip_install('discover')}" if "ModuleNotFoundError" in text else "")
    return "does not launch it by itself" + (f": {text}" if text else "")


def _smallest(folder: Path, entry: str) -> tuple[dict[str, Any] | None, str | None]:
    """Return the launch with the least bytes; without any, the reason of one that could not be written down."""
    try:
        said = [json.loads(line) for line in (folder / LAUNCHES).read_text(encoding="utf-8").splitlines()]
    except OSError:
        return None, None
    mine = [launch for launch in said if launch["entry"] == entry]
    whole = [launch for launch in mine if "file" in launch]
    if whole:
        return min(whole, key=lambda launch: launch["bytes"]), None
    return None, next((launch["reason"] for launch in mine), None)


def _write(out: Path, shapes: str, cases: Mapping[str, Mapping[str, Any]]) -> None:
    arrays, entries = [], []
    for name, launch in cases.items():
        file = f"{name}.npz"
        digest = sha256((out / file).read_bytes()).hexdigest()
        inputs = {}
        for tensor, (shape, dtype) in launch["inputs"].items():
            arrays.append(f"{name}_{tensor} = load({file!r}, {tensor!r}, {digest!r})\n")
            inputs[tensor] = {"shape": shape, "dtype": dtype, "values": f"{ARRAYS}:{name}_{tensor}"}
        entry = {key: launch[key] for key in ("lnc", "target", "ranks")}
        entry |= {"kernel": launch["entry"], "name": name, "implementation": "nkilib", "inputs": inputs}
        if "wrapper" in launch:
            write_whole(out / f"{name}_wrapper.py", launch["wrapper"].encode())
            entry["kernel"] = f"{name}_wrapper.py:{launch['launched']}"
        if launch["arguments"]:
            entry["arguments"] = launch["arguments"]
        if launch["outputs"]:
            arrays.append(f"{name}_expected = expected({file!r}, {launch['outputs']}, {launch['ranks']}, {digest!r})\n")
            rtol, atol = launch["tolerance"]
            entry |= {"reference": f"{ARRAYS}:{name}_expected", "tolerance": {"rtol": rtol, "atol": atol}}
        entries.append(f"  - {json.dumps(entry)}\n")
    write_whole(out / ARRAYS, (_HEAD + "".join(arrays)).encode())
    text = shapes if shapes.endswith("\n") else shapes + os.linesep
    write_whole(out / SHAPES, (text + "".join(entries)).encode())
