"""The embedded toolchain: what it leaves in a bundle."""

import shlex
import shutil
import subprocess
import sys


def test_the_recorded_command_makes_the_same_neff_again(tmp_path):
    shapes, store, again = tmp_path / "s.yaml", tmp_path / "store", tmp_path / "again"
    shapes.write_text("cases: [{kernel: matmul, implementation: nki, target: trn2, M: 4, K: 4, N: 4}]\n")
    words = ["-m", "neff_bench", "generate", "--shapes", shapes, "--out", store, "--toolchain", "sim"]
    subprocess.run([sys.executable, *map(str, words)], check=True, capture_output=True)
    (bundle,) = store.glob("matmul_*")
    shutil.copytree(bundle, again)
    (again / "file.neff").unlink()
    tool, *words = shlex.split((again / "command.txt").read_text())
    assert tool == "neuron-sim"
    subprocess.run([sys.executable, "-m", "neff_bench.simulator", *words], cwd=again, check=True, capture_output=True)
    assert (again / "file.neff").read_bytes() == (bundle / "file.neff").read_bytes()
