"""bench/soak_store.py in small."""

import subprocess
import sys
from pathlib import Path

SOAK = Path(__file__).parents[1] / "bench" / "soak_store.py"


def test_a_store_whose_commands_were_killed_ends_like_one_never_disturbed():
    done = subprocess.run([sys.executable, str(SOAK), "--kills", "2"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
