"""bench/soak_threads.py in small."""

import json
import subprocess
import sys
from pathlib import Path

SOAK = Path(__file__).parents[1] / "bench" / "soak_threads.py"


def test_threads_get_the_answers_of_one_thread():
    done = subprocess.run([sys.executable, str(SOAK), "--calls", "60"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["different"] >= 15
