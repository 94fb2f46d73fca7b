"""A small soak: failures of every kind, two processes, kill -9. `python bench/soak_generate.py` is the large one."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_nothing_is_lost_damaged_or_left_running(environment):
    words = ["--builds", "7", "--kills", "1", "--timeout", "60"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "soak_generate.py"), *words],
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
