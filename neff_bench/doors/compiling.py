"""Implements `neff-bench check --with-neuronx-cc`: what AWS's compiler itself says of the cases of a shapes file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.neffs.store import Store

if TYPE_CHECKING:
    from neff_bench.doors.judging import Task


def compiled(tasks: Sequence[Task], shapes: Path) -> list[str | None]:
    """Return for each task "" where AWS's compiler takes all of its cases, else why not the first one that it refuses; None for a task
    without a case. The cases are built as generate-neffs builds them, and then removed."""
    found: dict[Task, str | None] = dict.fromkeys(tasks)
    for target in dict.fromkeys(task.target for task in tasks):
        names = {
            task: [replace(case, target=target).name for case in task.cases]
            for task in tasks
            if task.target == target and task.cases
        }
        only = [f"--only={name}" for every in names.values() for name in every]
        with tempfile.TemporaryDirectory(prefix="neff-bench-check-") as folder:
            if only:
                words = [
                    "generate",
                    f"--shapes={shapes}",
                    f"--out={folder}",
                    "--toolchain=neuron",
                    f"--target={target}",
                    *only,
                ]
                subprocess.run([sys.executable, "-m", "neff_bench", *words], capture_output=True, check=False)
            found |= {
                task: next(filter(None, (_reason(Store(Path(folder)), name) for name in every)), "")
                for task, every in names.items()
            }
    return [found[task] for task in tasks]


def _reason(store: Store, name: str) -> str:
    """Return why a case was not built, "" where it was."""
    bundle = store.find(name)
    if bundle is None:
        return f"{name} was not built"
    return "" if bundle.manifest.status == "built" else f"{name}: {bundle.manifest.reason}"
