"""Step 1: build the NEFFs of mlp/shapes.yaml, on any CPU host. Takes the options of `generate-neffs`."""

import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCHMARKS))

from neff_bench.stage1_generate.cli import generate

if __name__ == "__main__":
    shapes = Path(__file__).resolve().with_name("shapes.yaml")
    generate(["--shapes", str(shapes), "--nkilib", str(BENCHMARKS.parent), *sys.argv[1:]])
