"""CPU seconds of a small case: different matmuls built by `generate-neffs` and profiled by `profile-neffs`.

python bench/many.py --cases 200
python bench/many.py --cases 200 --cold                         # programs started one by one
python bench/many.py --cases 200 --bin /other/.venv/bin         # the same with another installation
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = 20
"""Different values of M; the other dimension counts on."""


def cpu_s(argv: list[str], environ: dict[str, str]) -> float:
    """Return the CPU seconds of a command and of all that it started and waited for."""
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(argv)} ended with exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent, help="where the commands lie")
    options = parser.parse_args()
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    way = ["--cold"] if options.cold else []
    with tempfile.TemporaryDirectory(prefix="many-") as scratch:
        shapes, store = Path(scratch) / "shapes.yaml", Path(scratch) / "store"
        columns = -(-options.cases // ROWS)
        shapes.write_text(
            "defaults: {target: trn2, lnc: 2, dtype: bfloat16}\ncases:\n"
            f"  - {{kernel: matmul, implementation: nki, M: 32:{32 * ROWS}:32, K: 128, N: 64:{64 * columns}:64}}\n"
        )
        words = ["--shapes", str(shapes), "--out", str(store), "--toolchain", "sim", *way]
        built = cpu_s([str(options.bin / "generate-neffs"), *words], environ)
        profiled = cpu_s([str(options.bin / "profile-neffs"), str(store), *way], environ)
    cases = ROWS * columns
    print(f"{cases} cases: built in {built:.1f} s CPU, profiled in {profiled:.1f} s CPU")
    print(f"{(built + profiled) / cases * 1e3:.0f} ms CPU a case")


if __name__ == "__main__":
    main()
