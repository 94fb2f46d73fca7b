"""Standard input: paths that a pull request changes. Standard output: `only=` and the options that choose their cases.

A line `not covered: NAME` follows for each kernel that the change touches and that no case of shapes.yaml builds.
"""

import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCHMARKS))  # where `install-benchmarks --vendor` puts the package

from neff_bench.nkilib.coverage_cli import changed_kernels

if __name__ == "__main__":
    changed_kernels([str(BENCHMARKS.parent), "--shapes", str(BENCHMARKS / "shapes.yaml"), *sys.argv[1:]])
