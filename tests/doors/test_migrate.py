"""`neff-bench migrate`: each removed name of the old dialect with its line."""

import subprocess
import sys

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.kernels.attention import attention_isa_kernel

@nki.compiler.skip_middle_end_transformations
@nki.jit
def kernel(x):
    rows = nl.arange(128)[:, None]
    tile = nl.load(x[rows, 0], mask=rows < 100)
    total = nl.zeros((128, 128), nl.float32, buffer=nl.psum)
    total += nisa.nc_matmul(tile, tile, mask=None)
    nisa.dma_copy(dst=x, src=tile)
    return total
"""


def migrate(*files):
    command = [sys.executable, "-m", "neff_bench", "migrate", *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_each_use_has_its_line_and_what_replaces_it(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    done = migrate(path)
    assert done.returncode == 0, done.stderr
    lines = {int(line.split(":")[1]): line for line in done.stdout.splitlines()}
    assert set(lines) == {1, 2, 3, 4, 6, 9, 10, 12}
    assert lines[2].endswith("import neuronxcc.nki.isa -> import nki.isa")
    assert "nki-library" in lines[4]
    assert "nl.arange -> slices and nl.ds(start, size)" in lines[9]
    assert "nl.load(mask=) -> slices" in lines[10]


def test_a_kernel_of_the_current_dialect_has_nothing_to_change(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text("import nki.language as nl\n\ndef kernel(x):\n    return nl.load(x)\n")
    done = migrate(path)
    assert (done.returncode, done.stdout) == (0, "")


def test_what_is_no_python_is_one_line(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text("def kernel(:\n")
    done = migrate(path)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("kernel.py:1: SyntaxError: invalid syntax")
