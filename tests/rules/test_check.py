"""`neff-bench check`: a kernel that AWS's compiler refuses is named with its line and ends with 1."""

import subprocess
import sys

KERNEL = """\
import numpy as np
import nki, nki.isa as nisa, nki.language as nl

@nki.jit
def kernel(a):
    tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=tile, src=a)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.{operator}, operand0=3.0)
    nisa.dma_copy(dst=out, src=tile)
    return out

if __name__ == "__main__":
    kernel(np.zeros((128, 64), np.float32))
"""


def check(*words):
    command = [sys.executable, "-m", "neff_bench", "check", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_rule_that_a_launch_breaks_has_its_line(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(operator="divide"))
    done = check(path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith(f"{path}:9: NBLE603 ")


def test_a_kernel_that_breaks_none_is_not_said_to_be_accepted(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(operator="multiply"))
    done = check(path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "no known rule broken" in done.stdout and "accept" not in done.stdout
