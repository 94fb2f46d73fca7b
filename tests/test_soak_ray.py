"""Both stages on a Ray cluster of pretended hosts; bench/soak_ray.py says what must hold at the end."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray: pip install '.[ray]'")
@pytest.mark.parametrize("way", [[], ["--shared"]], ids=["bytes", "shared"])
def test_a_cluster_that_is_interrupted_and_loses_a_host_gives_every_row_once(way):
    command = [sys.executable, str(ROOT / "bench" / "soak_ray.py"), "--cases", "40", "--hosts", "3", *way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
