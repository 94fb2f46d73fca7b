"""Step 2: profile the NEFFs of step 1 and print where the time goes. Takes the options of `profile-neffs`."""

import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCHMARKS))

from neff_bench.stage2_profile.cli import profile

if __name__ == "__main__":
    profile(sys.argv[1:])
