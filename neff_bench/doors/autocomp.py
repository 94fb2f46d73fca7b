"""Runs ucb-bar/autocomp with this project as its evaluator of Trainium kernels, without an edit of its files.

    python -m neff_bench.doors.autocomp                  # autocomp's own `python -m autocomp.search.run_search`
    python -m neff_bench.doors.autocomp my_search.py     # a script of one's own that calls autocomp

In both, the backend "trn" is `NeffBench`. Each candidate runs in its problem's harness by `neff-bench run`: the harness
checks it against its reference and benchmarks it. Needs autocomp and torch.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from autocomp.backend.eval_backend import EvalBackend
from autocomp.common import HARNESSES_DIR

from neff_bench.installation import IMPORT_ROOT
from neff_bench.sdk.installed import judged_by
from neff_bench.stage2_profile.directory import profiled_rows
from neff_bench.stage2_profile.options import Options

TIMEOUT_S = 1800.0
"""The limit in seconds of one candidate. Large problems are executed on the CPU several times."""
_PLACE = "# SUBSTITUTE HERE"
_LATENCY = re.compile(r"^Latency: ([0-9.]+) ms", re.MULTILINE)


class NeffBench(EvalBackend):  # type: ignore[misc]  # autocomp has no types
    """Evaluates candidates as autocomp's `TrnEvalBackend` does. `target`: the chip where a harness names none. `sdk`: the release of the
    AWS SDK that must not refuse a candidate; None for that of the compiler here, else the newest."""

    def __init__(self, target: str = "trn2", jobs: int | None = None, sdk: str | None = None) -> None:
        self.target = target
        self.sdk = judged_by(sdk)
        self.jobs = jobs or os.cpu_count() or 1

    def evaluate_code(self, prob: Any, code_strs: list[str], simulator: str | None) -> list[dict[str, Any]]:
        """Return for each candidate `correct`, `latency` in milliseconds (None where it is not correct), `stdout`, `stderr`. Raises `FileNotFoundError`."""
        harness = _harness(prob).read_text(encoding="utf-8")
        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(lambda code: self._evaluated(harness.replace(_PLACE, code)), code_strs))

    def _evaluated(self, source: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="neff-bench-autocomp-") as scratch:
            script = Path(scratch) / "candidate.py"
            script.write_text(source, encoding="utf-8")
            command = [sys.executable, "-m", "neff_bench", "run", "--target", self.target]
            command += ["--store", str(Path(scratch) / "store"), str(script)]
            paths = os.pathsep.join(filter(None, [str(IMPORT_ROOT), os.environ.get("PYTHONPATH")]))
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, cwd=scratch,
                    env={**os.environ, "PYTHONPATH": paths},
                encoding="utf-8")  # fmt: skip
            except subprocess.TimeoutExpired:
                reason = f"took longer than {TIMEOUT_S:g} s"
                return {"correct": False, "latency": None, "stdout": "", "stderr": reason}
            refused = _refused(Path(scratch) / "store", self.sdk)
        # A harness ends with an exit code when its check fails, and prints the latency after its check only.
        latency = _LATENCY.findall(done.stdout)
        correct = done.returncode == 0 and bool(latency) and not refused
        return {
            "correct": correct,
            "latency": float(latency[-1]) if correct else None,
            "stdout": done.stdout,
            "stderr": done.stderr + "".join(f"{reason}\n" for reason in refused),
        }


def _refused(store: Path, sdk: str) -> list[str]:
    """Return why AWS's compiler would refuse the kernels of a store: it would refuse a candidate on the device, too."""
    if not store.is_dir():
        return []
    _, rows = profiled_rows(Options(directory=store, parse_only=True, sdk=sdk))
    return [str(one) for row in rows for one in row.findings if one.kind == "refused"]


def _harness(prob: Any) -> Path:
    """Return the file that autocomp's own backend takes."""
    if prob.test_file:
        return Path(prob.test_file)
    folder = Path(HARNESSES_DIR) / prob.prob_type
    found = sorted(folder.glob(f"{prob.prob_id}_*.py"))
    if not found:
        raise FileNotFoundError(f"no test file found for {prob.prob_type} {prob.prob_id} in {folder}")
    return Path(found[0])


def main() -> None:
    """Run autocomp's search, or a script, with `NeffBench` in the place of the backend "trn"."""
    from autocomp.search import search

    search.TrnEvalBackend = NeffBench
    script = sys.argv[1:]
    if not script:
        runpy.run_module("autocomp.search.run_search", run_name="__main__")
        return
    sys.argv = script
    sys.path.insert(0, str(Path(script[0]).resolve().parent))
    runpy.run_path(script[0], run_name="__main__")


if __name__ == "__main__":
    main()
