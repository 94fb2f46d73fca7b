"""`neuron-sim nkilib-tests` up to the pytest process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from neff_bench.simulator.commands import nkilib_tests

_INSTALLED = """
from neff_bench.simulator.nki import nkilib_plugin
nkilib_plugin.pytest_load_initial_conftests()
"""


def test_a_directory_that_is_no_checkout_is_one_line(tmp_path):
    result = CliRunner().invoke(nkilib_tests.nkilib_tests, [str(tmp_path)])
    assert result.exit_code == 1
    assert result.stderr.strip() == f"error: {tmp_path}: no nki-library checkout: src/nkilib_src is missing"


def test_missing_packages_are_named(tmp_path, monkeypatch):
    (tmp_path / "src" / "nkilib_src").mkdir(parents=True)
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "conftest.py").touch()
    monkeypatch.setattr(nkilib_tests, "_PACKAGES", {"no_such_module": "no-such-package", "click": "click"})
    result = CliRunner().invoke(nkilib_tests.nkilib_tests, [str(tmp_path)])
    assert result.exit_code == 1
    assert result.stderr.strip().endswith("pip install no-such-package")


def test_the_library_is_importable_by_both_of_its_names(tmp_path):
    package = tmp_path / "src" / "nkilib_src" / "nkilib"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    names = "import nkilib, nkilib_src.nkilib"
    subprocess.run([sys.executable, "-c", names], env=nkilib_tests.environment(tmp_path, False, 0), check=True)


def test_the_users_arguments_reach_pytest_in_their_order():
    made = nkilib_tests.pytest_command(("test/integration/nkilib/core/mlp", "-k", "cte"), "/scratch")
    assert made[made.index("simulation") + 1 :] == [
        "test/integration/nkilib/core/mlp",
        "-k",
        "cte",
        "--output-directory",
        "/scratch",
        "--force-local-cleanup",
    ]


def test_an_expression_that_begins_like_a_folder_of_tests_is_none():
    made = nkilib_tests.pytest_command(("-k", "test_moe and sweep"), "/scratch")
    assert made[made.index("simulation") + 1 :][:3] == ["-k", "test_moe and sweep", "test/integration/nkilib/core"]


def test_run_all_lifts_the_rule_about_large_shapes():
    variable = "NKILIB_SIMULATION_RUN_ALL"
    assert nkilib_tests.environment(Path("/library"), run_all=True, seed=0)[variable] == "1"
    assert variable not in nkilib_tests.environment(Path("/library"), run_all=False, seed=0)


def test_both_trees_are_importable():
    paths = nkilib_tests.environment(Path("/library"), run_all=False, seed=0)["PYTHONPATH"].split(os.pathsep)
    assert paths[1:4] == ["/library/src", "/library/src/nkilib_src", "/library"]
    assert (Path(paths[0]) / "neff_bench" / "simulator" / "nki").is_dir()


def test_the_sweeps_are_drawn_from_the_given_seed():
    script = _INSTALLED + "import random; print(random.random())"

    def drawn(seed):
        environment = nkilib_tests.environment(Path("/library"), run_all=False, seed=seed)
        return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True).stdout

    assert drawn(1) == drawn(1) != drawn(2)


def test_the_stand_in_for_their_cast_rounds_as_ml_dtypes():
    script = f"""{_INSTALLED}
import ml_dtypes, numpy as np
from neff_bench.simulator.nki.nkilib_plugin import static_cast
values = np.random.default_rng(0).standard_normal((3, 4, 40), np.float32)[:, :, ::2] * 100
for dtype in (ml_dtypes.float8_e4m3, ml_dtypes.float8_e5m2, ml_dtypes.bfloat16, np.float32):
    with np.errstate(all="ignore"):
        narrow = values.astype(dtype)
    assert static_cast(values, dtype).tobytes() == narrow.tobytes()
    assert static_cast(narrow, np.float32).tobytes() == narrow.astype(np.float32).tobytes()
assert static_cast(2.5, np.float32) == 2.5
import neuron_dtypes
packed = static_cast(np.array([[1, 2, 3, 448]], np.float32), neuron_dtypes.float8_e4m3fn_x4)
assert packed.shape == (1, 1) and static_cast(packed, np.float32).tolist() == [[1, 2, 3, 448]]
assert np.zeros(3, "float4_e2m1fn_x4").nbytes == 6
"""
    environment = nkilib_tests.environment(Path("/library"), run_all=False, seed=0)
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)


@pytest.mark.parametrize(("largest", "room"), [(8, 0), (7, 1)])
def test_quantize_mx_has_the_scale_that_their_reference_has(tmp_path, largest, room):
    package = tmp_path / "test" / "utils"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").write_text("")
    (package / "mx_utils.py").write_text(f"def get_mx_max_exp(dtype):\n    return {largest}\n")
    script = """
import test.utils
from neff_bench.simulator.nki.nkilib_plugin import pytest_sessionstart
from neff_bench.simulator.operations import microscaling
pytest_sessionstart()
print(microscaling.ROOM)
"""
    environment = nkilib_tests.environment(tmp_path, run_all=False, seed=0)
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{room}\n"


def test_a_broken_rule_carries_the_code_of_the_compiler():
    script = f"""{_INSTALLED}
import nki, nki.language as nl, numpy as np

def kernel(x, rows):
    assert rows is not None, "shape"
    return nl.ndarray((rows, 8), nl.float32, buffer=nl.shared_hbm)

for rows, code in ((0, True), (None, False)):
    try:
        nki.cpu_simulate(kernel)[2](np.zeros((1, 8), np.float32), rows)
    except Exception as error:
        assert ("[NCC_INKI016] Kernel validation exception: shape" in str(error)) == code, error
    else:
        raise SystemExit("no error")
"""
    environment = nkilib_tests.environment(Path("/library"), run_all=False, seed=0)
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)


def test_the_frontend_of_older_releases_records_a_kernel_and_writes_a_neff(tmp_path):
    script = f"""{_INSTALLED}
import nki, nki.language as nl, numpy as np
from neuronxcc.nki_standalone import NKI_IR_VERSION, _compile_nki_ir_to_tensorizer_ir, compile_nki_ir_kernel_to_neff

@nki.jit
def double(x, shapes):
    out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
    nl.store(out, nl.add(nl.load(x), nl.load(x)))
    return out

inputs = {{"x.must_alias_input": np.ones((4, 4), np.float32), "shapes": ((1, 2), ("slice", (0, 1)))}}
module, _ = _compile_nki_ir_to_tensorizer_ir(double, "trn2", 1, inputs, [], NKI_IR_VERSION.beta2)
assert len(module.program.inputs) == 1
compile_nki_ir_kernel_to_neff(double, inputs, [], "trn2", 1, {str(tmp_path)!r}, NKI_IR_VERSION.beta2, "")
"""
    environment = nkilib_tests.environment(Path("/library"), run_all=False, seed=0)
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    assert (tmp_path / "file.neff").stat().st_size > 0


@pytest.mark.parametrize("use", ["compile()", "State.DRAINED"])
def test_what_is_not_public_says_so_when_it_is_used(use):
    script = f"{_INSTALLED}\nfrom neuronxcc import starfish\nstarfish.{use}"
    environment = nkilib_tests.environment(Path("/library"), run_all=False, seed=0)
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert "NotImplementedError: neuronxcc.starfish" in done.stderr
    assert "is not part of the public nki-library" in done.stderr
