"""Step 1: build the NEFFs of shapes.yaml, on any CPU host. Takes the options of `generate-neffs`."""

import sys
from pathlib import Path

from neff_bench.stage1_generate.cli import generate

BENCHMARKS = Path(__file__).resolve().parent
STORE = BENCHMARKS.parent / "neuron_test_output" / "benchmarks"

if __name__ == "__main__":
    words = ["--shapes", BENCHMARKS / "shapes.yaml", "--nkilib", BENCHMARKS.parent, "--out", STORE]
    generate([*map(str, words), *sys.argv[1:]])
