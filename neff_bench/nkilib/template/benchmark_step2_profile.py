"""Step 2: profile the NEFFs of step 1 and print where the time goes. Takes the options of `profile-neffs`."""

import sys
from pathlib import Path

from neff_bench.stage2_profile.cli import profile

STORE = Path(__file__).resolve().parents[1] / "neuron_test_output" / "benchmarks"

if __name__ == "__main__":
    named = [word for word in sys.argv[1:2] if not word.startswith("-")]
    profile(sys.argv[1:] if named else [str(STORE), *sys.argv[1:]])
