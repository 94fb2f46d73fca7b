"""Step 2 for the MLP alone: profile its NEFFs and print where the time goes. Takes the options of `profile-neffs`."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.argv += ["--only", "mlp"]
    runpy.run_path(str(Path(__file__).resolve().parents[1] / "benchmark_step2_profile.py"), run_name="__main__")
