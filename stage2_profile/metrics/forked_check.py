"""Compares two tensors in a process that has numpy already, and prints the fields of `Comparison` as JSON.

python -m neff_bench.stage2_profile.metrics.forked_check CAPTURED EXPECTED DTYPE RTOL ATOL COLUMNS
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from neff_bench.stage2_profile.capture.environment import tool_environment
from neff_bench.stage2_profile.capture.process import Limits, run
from neff_bench.stage2_profile.metrics.check import Comparison, compare_files
from neff_bench.stage2_profile.options import Options

FEW = 16
"""Cases at most for which a fork each (6 ms) costs less than the import of numpy (110 ms)."""


def compare_forked(
    options: Options, captured: Path, expected: Path, dtype: str, tolerance: tuple[float, float], columns: int
) -> Comparison:
    """Call `compare_files` in a child of the warm parent. Raises `OSError`."""
    argv = [sys.executable, "-m", __name__, str(captured), str(expected), dtype, *map(repr, tolerance), str(columns)]
    here, limits = Path.cwd(), Limits(options.timeout_s, options.stop)
    done = run(argv, here, tool_environment(options.environ, here), limits, warm=options.warm)
    if done.exit_code != 0:
        return compare_files(captured, expected, dtype, tolerance, columns)  # it raises what was wrong
    found = json.loads(done.stdout)
    first = found["first"] and tuple(found["first"])
    return Comparison(**{**found, "tolerance": tolerance, "first": first})


def main() -> int:
    """Compare and print."""
    captured, expected, dtype, rtol, atol, columns = sys.argv[1:]
    found = compare_files(Path(captured), Path(expected), dtype, (float(rtol), float(atol)), int(columns))
    print(json.dumps(asdict(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
