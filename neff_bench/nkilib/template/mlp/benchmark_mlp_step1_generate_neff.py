"""Step 1 for the MLP alone: build the NEFFs of its shapes in ../shapes.yaml. Takes the options of `generate-neffs`."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.argv += ["--only", "mlp"]
    runpy.run_path(str(Path(__file__).resolve().parents[1] / "benchmark_step1_generate_neff.py"), run_name="__main__")
