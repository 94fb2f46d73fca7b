"""Public kernels on the embedded toolchain, each against a reference: right, wrong, refused by name, or crashed.

    python -m validation.wild CHECKOUTS [--only TEXT] [--jobs N] [--timeout SECONDS]

CHECKOUTS holds the repositories as OWNER/NAME. Each kernel runs in a process of its own. A package that a file imports
for its host code only and that is not installed (torch, torch_xla) is replaced by an empty one.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from validation.wild_cases import CASES  # noqa: E402
from validation.wild_cases.case import Case  # noqa: E402

VERDICTS = ("right", "wrong", "refused", "crashed")
_HOST_PACKAGES = (
    "nkipy",
    "torch",
    "torch_xla",
    "torch_neuronx",
    "neuronx_distributed",
    "neuronx_distributed_inference",
    "optimum",
    "jax",
    "tqdm",
    "matplotlib",
    "pandas",
    "qiskit",
    "einops",
    "loguru",
    "vllm",
    "nkilib",
    "triton_viz",
    "transformers",
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--only", default="", help="cases whose repository or name contains this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds for one kernel")
    parser.add_argument("--case", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.case is not None:
        print(json.dumps(_verdict(CASES[given.case], given.checkouts / CASES[given.case].repository)))
        return 0
    chosen = [at for at, case in enumerate(CASES) if given.only in f"{case.repository}/{case.name}"]
    with ThreadPoolExecutor(given.jobs) as pool:
        found = list(pool.map(lambda at: _apart(at, given.checkouts, given.timeout), chosen))
    _report([CASES[at] for at in chosen], found)
    return 0 if all(one["verdict"] in ("right", "refused") for one in found) else 1


def _apart(at: int, checkouts: Path, timeout: float) -> dict[str, str]:
    """One case in a process of its own."""
    case = CASES[at]
    if not (checkouts / case.repository / case.path).is_file():
        found = {"verdict": "missing", "what": f"no {case.repository}/{case.path} in {checkouts}"}
    else:
        command = [sys.executable, "-m", "validation.wild", str(checkouts.resolve()), "--case", str(at)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=ROOT, check=False)
            found = json.loads(run.stdout.strip().splitlines()[-1]) if run.returncode == 0 and run.stdout else {
                "verdict": "crashed", "what": (run.stderr.strip().splitlines() or [f"exit {run.returncode}"])[-1],
            }  # fmt: skip
        except subprocess.TimeoutExpired:
            found = {"verdict": "crashed", "what": f"no answer in {timeout:g} s"}
    print(f"{found['verdict']:8} {case.repository}/{case.name}  {found['what']}", file=sys.stderr, flush=True)
    return found


def _verdict(case: Case, checkout: Path) -> dict[str, str]:
    from neff_bench.simulator.errors import CapacityWarning, SimulatorError

    os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = case.target
    started = time.monotonic()
    stdout, sys.stdout = sys.stdout, sys.stderr
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            results, expected = _run(case, checkout)
    except SimulatorError as error:
        return {"verdict": "refused", "what": str(error)}
    except Exception as error:
        return {"verdict": "crashed", "what": f"{type(error).__name__}: {error}"}
    finally:
        sys.stdout = stdout
    errors = [_relative(result, wanted) for result, wanted in zip(results, expected, strict=True)]
    right = all(error <= case.tolerance for error in errors)
    what = f"relative error {max(errors):.1e}, {time.monotonic() - started:.0f} s"
    too_large = [str(one.message) for one in warned if issubclass(one.category, CapacityWarning)]
    what = "; too large for the chip: ".join([what, *too_large[:1]])
    return {"verdict": "right" if right else "wrong", "what": what}


def _run(case: Case, checkout: Path) -> tuple[list[Any], list[Any]]:
    from neff_bench.simulator.nki.beta.jit import jit
    from neff_bench.simulator.nki.install import install
    from neff_bench.simulator.nki.simulate import simulate

    install()
    replace_host_packages()
    module = load(checkout / case.path, case.prelude)
    kernel = case.make(module) if case.make else getattr(module, case.kernel)
    if case.decorate:
        kernel = jit(kernel)
    random = np.random.default_rng(0)
    if case.module_reference:
        return _by_the_module(case, checkout, kernel)
    arguments = case.arguments(random)
    copies = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
    results = simulate(kernel)[case.lnc](**arguments)
    if results is None:
        results = tuple(arguments[name] for name in case.outputs)
    return _several(results), _several(case.reference(**copies))


def _by_the_module(case: Case, checkout: Path, kernel: Any) -> tuple[list[Any], list[Any]]:
    from neff_bench.simulator.nki.simulate import simulate
    from validation.wild_cases.accelopt import reference_module

    benchmark = reference_module(checkout, case.path)
    np.random.seed(0)
    inputs = benchmark.get_inputs()
    results = simulate(kernel)(*benchmark.transform_to_nki_inputs(inputs))
    expected = benchmark.forward(*inputs)
    return _several(tuple(benchmark.transform_nki_outputs(results, expected))), _several(expected)


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _relative(result: Any, expected: Any) -> float:
    """The L2 norm of the difference over that of the expected values; infinite where a value is no number."""
    got = np.asarray(result, dtype=np.float32).ravel()
    want = np.asarray(expected, dtype=np.float32).ravel()
    if got.shape != want.shape or not np.isfinite(got).all():
        return float("inf")
    return float(np.linalg.norm(got - want) / max(float(np.linalg.norm(want)), 1e-30))


def load(path: Path, prelude: str) -> ModuleType:
    """The file as a module, with the imports that its harness puts before it."""
    from neff_bench.simulator.errors import KernelError

    outside = next(folder for folder in path.parents if not (folder / "__init__.py").is_file())
    sys.path[:0] = [str(path.parent), str(outside)]  # where a script's own folder, and its package, are imported from
    if not prelude:
        spec = importlib.util.spec_from_file_location(_dotted_name(path), path)
        if spec is None or spec.loader is None:
            raise FileNotFoundError(path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        with contextlib.suppress(KernelError):  # a script that launches its kernel after it has defined it
            spec.loader.exec_module(module)
        return module
    module = ModuleType(re.sub(r"\W", "_", path.stem))
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where dataclasses look for their fields' types
    exec(prelude, vars(module))  # noqa: S102 - our own imports
    exec(compile(path.read_text(), str(path), "exec"), vars(module))  # noqa: S102 - the kernel that was asked for
    return module


def _dotted_name(path: Path) -> str:
    """The name of a file among its packages, which are entered without being run: only its relative imports need them."""
    name = re.sub(r"\W", "_", path.stem)
    folders: list[Path] = []
    for folder in path.parents:
        if not (folder / "__init__.py").is_file():
            break
        folders.insert(0, folder)
    prefix = ""
    for folder in folders:
        prefix = f"{prefix}wild_{folder.name}" if not prefix else f"{prefix}.{folder.name}"
        package = ModuleType(prefix)
        package.__path__ = [str(folder)]
        sys.modules[prefix] = package
    return f"{prefix}.{name}" if prefix else name


def replace_host_packages() -> None:
    """Put empty packages in the places of those that are not installed. Idempotent."""
    if not any(isinstance(finder, _HostPackages) for finder in sys.meta_path):
        sys.meta_path.append(_HostPackages())


class _HostPackages(MetaPathFinder, Loader):
    """Empty packages in the places of those that are not installed."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        package = name.partition(".")[0]
        if package not in _HOST_PACKAGES or PathFinder.find_spec(package):
            return None  # an installed package asks for optional parts of itself, which must stay absent
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        def anything(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            if name == "nki_jit":  # torch_neuronx; a case decorates the function that stays
                return lambda function=None, **_: function or (lambda other: other)
            return MagicMock(name=f"{module.__name__}.{name}")

        module.__getattr__ = anything  # type: ignore[method-assign]


def _report(cases: Sequence[Case], found: Sequence[dict[str, str]]) -> None:
    """One line for each repository, and what unlocks most."""
    counts: dict[str, Counter[str]] = {}
    for case, one in zip(cases, found, strict=True):
        counts.setdefault(case.repository, Counter())[one["verdict"]] += 1
    print(f"| repository | kernels | {' | '.join(VERDICTS)} |")
    print("|---|--:|" + "--:|" * len(VERDICTS))
    for repository, count in counts.items():
        print(f"| {repository} | {count.total()} | {' | '.join(str(count[verdict]) for verdict in VERDICTS)} |")
    total = sum(counts.values(), Counter())
    print(f"| all | {total.total()} | {' | '.join(str(total[verdict]) for verdict in VERDICTS)} |")
    reasons = Counter(_reason(one["what"]) for one in found if one["verdict"] == "refused")
    if reasons:
        print("\nWhat would unlock most:")
        for reason, count in reasons.most_common():
            print(f"- {count}: {reason}")


def _reason(what: str) -> str:
    """A refusal without the place and the sizes of one kernel."""
    return re.sub(r"\[[\d, ]+\]", "[...]", re.sub(r"^\S+\.py:\d+: ", "", what))


if __name__ == "__main__":
    sys.exit(main())
