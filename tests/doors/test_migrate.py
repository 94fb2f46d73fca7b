"""`neff-bench migrate`: each removed name of the old dialect with its line."""

import subprocess
import sys
from collections import defaultdict

import neff_bench

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
    assert done.returncode == 1, done.stderr
    lines = {int(line.split(":")[1]): line for line in done.stdout.splitlines()}
    assert set(lines) == {1, 2, 3, 4, 6, 9, 10, 12}
    assert lines[2].endswith(": import neuronxcc.nki.isa as nisa -> the same from nki [--diff does it]")
    assert any("nki-library" in line for line in done.stdout.splitlines() if ":4:" in line)
    assert "nl.arange -> use slices or nl.ds(start, size)" in lines[9]
    assert "nl.load(mask=) -> take the slice" in lines[10]
    assert any("nisa.nc_matmul" in line for line in done.stdout.splitlines() if ":12:" in line)


OPERATORS = """\
from neuronxcc import nki
import neuronxcc.nki.language as nl
import neuronxcc.nki.isa as nisa

@nki.baremetal(save_neff_name="kernel.neff")
def kernel(x):
    tile = nl.load(x)
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    tile = nisa.activation(op=nl.exp, data=tile)
    other = -tile
    tile[0:4, 0:4] = other * 2.0
    nl.store(out, tile)
    return out

nki.simulate_kernel(kernel, 3)
"""


def test_operators_and_assignments_and_results_of_instructions_are_named(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(OPERATORS)
    lines = defaultdict(str)
    for line in migrate(path).stdout.splitlines():
        lines[int(line.split(":")[1])] += line
    assert "`neff-bench run`" in lines[5] and "nki.simulate" in lines[15]
    assert "dst=" in lines[9] and "nl.negative" in lines[10] and "nisa.tensor_copy" in lines[11]


def test_a_patch_does_what_has_a_fix_and_the_rest_is_told(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(OPERATORS)
    done = migrate("--diff", path)
    assert done.returncode == 1
    added = [line for line in done.stdout.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert added == [
        "+import nki", "+import nki.language as nl", "+import nki.isa as nisa", "+@nki.jit", "+    other = nl.negative(tile)",
        "+    tile[0:4, 0:4] = nl.multiply(other, 2.0)", "+nki.simulate(kernel)(3)",
    ]  # fmt: skip
    assert "kernel.py:9: " in done.stderr
    assert path.read_text() == OPERATORS


def test_a_kernel_after_its_patch_has_nothing_left_and_is_recorded(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text("""\
import numpy as np
from neuronxcc import nki
import neuronxcc.nki.language as nl

@nki.baremetal
def kernel(x):
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    nl.store(out, nl.exp(nl.load(x)))
    return out

if __name__ == "__main__":
    kernel(np.zeros((128, 64), np.float32))
""")
    done = migrate("--diff", path)
    assert done.returncode == 0 and done.stderr == ""
    subprocess.run(["patch", "-p0", str(path)], input=done.stdout, text=True, check=True, capture_output=True)
    again = migrate(path)
    assert (again.returncode, again.stdout) == (0, "")
    command = [sys.executable, "-m", "neff_bench", "check", str(path)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0 and "no known rule broken" in checked.stdout, checked.stdout


SOFTMAX = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def softmax(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    top = nl.max(tile, axis=[1], keepdims=True)
    e = nl.exp(tile - top)
    e *= (1 - top * 0) ** 2
    below = nl.sum(e, axis=[1], keepdims=True)
    nl.store(out, (e + 0.0) / below)
    return out
"""


def test_a_kernel_whose_hints_are_taken_records_and_gives_the_same(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(SOFTMAX)
    subprocess.run(
        ["patch", "-p0", str(path)], input=migrate("--diff", path).stdout, text=True, check=True, capture_output=True
    )
    left = migrate(path)
    assert left.returncode == 1, (
        "what the patch leaves is told although nothing of the old dialect is imported any more"
    )
    text = path.read_text()
    for line in left.stdout.splitlines():
        was, _, now = line.partition(": ")[2].partition(" -> ")
        assert was in text
        text = text.replace(was, now)
    path.write_text(text)
    assert (migrate(path).returncode, migrate(path).stdout) == (0, "")
    (tmp_path / "references.py").write_text(
        "import numpy as np\ndef softmax(x):\n    e = np.exp(x - x.max(1, keepdims=True))\n    return e / e.sum(1, keepdims=True)\n"
    )
    row = neff_bench.profile(
        f"{path}:softmax", {"x": ((128, 64), "float32")}, reference=f"{tmp_path}/references.py:softmax"
    )
    assert row.check == "passed", row.reason


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
