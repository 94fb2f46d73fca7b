"""bench/soak_signals.py in small."""

import subprocess
import sys
from pathlib import Path

SOAK = Path(__file__).parents[1] / "bench" / "soak_signals.py"


def test_a_signal_at_any_moment_leaves_rows_and_nothing_else():
    words = ["--signals", "4", "--names", "TERM", "HUP", "INT"]
    done = subprocess.run([sys.executable, str(SOAK), *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
