"""Public kernels by `generate-neffs` and `profile-neffs`: their verdicts, and what their rows find without a reference.

Each case becomes a file with a kernel of its arrays alone, which calls the public one. The outputs that the capture saved are compared as
those of `nki.simulate` are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from neff_bench.rules.source import Source
from validation.wild import running
from validation.wild.cases import CASES
from validation.wild.cases.accelopt import reference_module
from validation.wild.cases.case import Case, relative_error
from validation.wild.loading import replace_host_packages

ROOT = Path(__file__).resolve().parents[2]
_FILE = """\
import sys

sys.path.insert(0, {root!r})
from validation.wild.generated import array_of, kernel_of

import {package} as nki
import {package}.language as nl


def values(name):
    return lambda shape: array_of({at}, {checkouts!r}, name)


{values}


@nki.jit
def kernel({inputs}):
{makes}    returned = kernel_of({at}, {checkouts!r})({arguments})
    return {result}
"""


def arguments_of(case: Case, checkouts: Path) -> dict[str, Any]:
    """Return the arguments of a case by name, the same at every call."""
    if case.module_reference:
        benchmark = reference_module(checkouts / case.repository, case.path)
        np.random.seed(0)
        given = benchmark.transform_to_nki_inputs(benchmark.get_inputs())
        return {f"given{at}": value for at, value in enumerate(given)}
    return case.arguments(np.random.default_rng(0))


def array_of(at: int, checkouts: str, name: str) -> np.ndarray:
    """Return an argument as values that a shapes file may name: integers, or float32."""
    array = np.asarray(arguments_of(CASES[at], Path(checkouts))[name])
    return array if array.dtype.kind in "iub" else array.astype(np.float32)


def kernel_of(at: int, checkouts: str) -> Any:
    """Return the public kernel of a case, with the arguments that are no arrays."""
    case = CASES[at]
    kernel = running.kernel_of(case, Path(checkouts, case.repository))
    plain = {name: value for name, value in arguments_of(case, Path(checkouts)).items() if not _is_array(value)}
    if case.module_reference:
        return lambda **tensors: kernel(
            *({**plain, **tensors}[f"given{at}"] for at in range(len(plain) + len(tensors)))
        )
    return lambda **tensors: kernel(**plain, **tensors)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


def write(chosen: Sequence[int], checkouts: Path, folder: Path) -> None:
    """Write a file for each case, and the shapes file of all."""
    listed = []
    for at in chosen:
        case = CASES[at]
        arrays = {name: array for name, array in arguments_of(case, checkouts).items() if _is_array(array)}
        inputs = [name for name in arrays if name not in case.outputs]
        file = checkouts / case.repository / case.path
        old = Source(f"{case.prelude}\n{file.read_text(errors='replace')}", str(file)).old
        makes = "".join(
            f"    {name} = nl.ndarray({arrays[name].shape}, dtype=nl.{arrays[name].dtype.name}, buffer=nl.shared_hbm)\n"
            for name in case.outputs
        )
        text = _FILE.format(
            root=str(ROOT), at=at, checkouts=str(checkouts), package="neuronxcc.nki" if old else "nki",
            values="\n".join(f"values_{name} = values({name!r})" for name in inputs), inputs=", ".join(inputs),
            makes=makes, arguments=", ".join(f"{name}={name}" for name in arrays),
            result=f"({', '.join(case.outputs)},)" if case.outputs else "returned",
        )  # fmt: skip
        (folder / f"case{at}.py").write_text(text)
        said = {
            name: {
                "shape": list(arrays[name].shape),
                "dtype": arrays[name].dtype.name,
                "values": f"case{at}.py:values_{name}",
            }
            for name in inputs
        }
        listed.append(
            {
                "kernel": f"case{at}.py:kernel",
                "implementation": "nki",
                "target": case.target,
                "lnc": case.lnc,
                "inputs": said,
            }
        )
    (folder / "shapes.yaml").write_text(json.dumps({"cases": listed}, indent=1))


def verdicts(chosen: Sequence[int], checkouts: Path, folder: Path, jobs: int) -> list[dict[str, Any]]:
    """Build and profile the cases in a folder, and say of each what `validation.wild` says; `findings`: of its row."""
    replace_host_packages()
    write(chosen, checkouts, folder)
    store = folder / "store"
    for words in (
        ["generate", "--shapes", folder / "shapes.yaml", "--out", store, "--jobs", jobs],
        ["profile", store, "--format", "json", "--output", folder / "rows.json"],
    ):
        command = [sys.executable, "-m", "neff_bench", *map(str, words)]
        subprocess.run(
            command, cwd=folder, check=False, stdout=sys.stderr, env={**os.environ, "PYTHONWARNINGS": "ignore"}
        )
    rows = {row["kernel"]: row for row in json.loads((folder / "rows.json").read_text())}
    return [_verdict(at, checkouts, store, rows.get(f"case{at}.kernel")) for at in chosen]


def _verdict(at: int, checkouts: Path, store: Path, row: dict[str, Any] | None) -> dict[str, Any]:
    if row is None:
        return {"verdict": "crashed", "what": "no row", "findings": []}
    findings = [one for one in row.get("findings") or [] if one["kind"] != "refused"]
    if row["status"] != "profiled":
        return {"verdict": "refused", "what": row["reason"], "findings": findings}
    outputs = _outputs(next(store.glob(f"case{at}.kernel_*")))
    expected = _expected(at, checkouts)
    if len(outputs) != len(expected):
        return {"verdict": "wrong", "what": f"{len(outputs)} outputs, expected {len(expected)}", "findings": findings}
    errors = [relative_error(got, want) for got, want in zip(outputs, expected, strict=True)]
    right = all(error <= CASES[at].tolerance for error in errors)
    return {
        "verdict": "right" if right else "wrong",
        "what": f"relative error {max(errors):.1e}",
        "findings": findings,
    }


def _expected(at: int, checkouts: Path) -> list[Any]:
    case = CASES[at]
    if case.module_reference:
        benchmark = reference_module(checkouts / case.repository, case.path)
        np.random.seed(0)
        values = benchmark.forward(*benchmark.get_inputs())
        return running.as_list(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = case.reference(**arguments_of(case, checkouts))
    return running.as_list(values)


def _outputs(bundle: Path) -> list[np.ndarray]:
    """Return what the newest run of a bundle saved, in the order of the kernel's results."""
    from neff_bench.parsers.neff import read_neff

    run = max((bundle / "profiles").glob("*/run.json"), key=lambda path: int(path.parent.name))
    saved = json.loads(run.read_text())["outputs"]
    return [
        np.fromfile(run.parent / saved[one.name], dtype=getattr(ml_dtypes, one.dtype, one.dtype)).astype(np.float32)
        for one in read_neff(bundle / "file.neff").outputs
    ]
