"""Kernels of the user's own, from the shapes file to the bundle and the row, with the embedded toolchain."""

import json
import subprocess
import sys

import numpy as np
import pytest

from neff_bench.neffs.bundle import verify_bundle
from neff_bench.neffs.store import Store
from neff_bench.stage1_generate.jobs.keys import Keys
from neff_bench.stage1_generate.shapes.read import read_shapes
from neff_bench.stage1_generate.toolchains.find import Toolchain

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl
from tiles import ROWS


@nki.jit
def scale(x, factor=1.0):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(0, x.shape[0], ROWS):
        tile = nl.ndarray((ROWS, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[row : row + ROWS, 0 : x.shape[1]])
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=factor)
        nisa.dma_copy(dst=out[row : row + ROWS, 0 : x.shape[1]], src=tile)
    return out


def right(x, factor):
    assert x.dtype.name == "float32"
    return x * factor
"""
JAX = """
def scale(x, factor=1.0):
    return x * factor, x + 1
"""
SHAPES = """
defaults: {{target: trn2, lnc: 1}}
cases:
  - kernel: {kernel}
    implementation: {implementation}
    M: {m}
    N: 64
    inputs: {{x: {{shape: [M, N], dtype: float32}}}}
    arguments: {{factor: 3.0}}
    flops: M*N
"""
NAME = "mine.scale_{}_M128_N64_float32_trn2_lnc1"


@pytest.fixture
def project(tmp_path):
    """Write files into the project's folder; returns the function that writes a shapes file there."""
    (tmp_path / "mine.py").write_text(KERNEL)
    (tmp_path / "tiles.py").write_text("ROWS = 128\n")

    def shapes(kernel="mine.py:scale", implementation="nki", m=128, more=""):
        path = tmp_path / "own.yaml"
        path.write_text(SHAPES.format(kernel=kernel, implementation=implementation, m=m) + more)
        return path

    return shapes


def profiled(tmp_path):
    command = [sys.executable, "-m", "neff_bench.stage2_profile.cli", "out", "--format", "json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_kernel_of_one_s_own_becomes_a_checked_row(generate, project, tmp_path):
    done = generate("--shapes", project(more="    reference: mine.py:right\n"))
    assert done.returncode == 0, done.stderr
    bundle = Store(tmp_path / "out").find(NAME.format("nki"))
    verify_bundle(bundle)
    assert (bundle.path / "sources/mine.py").read_text() == KERNEL
    manifest = bundle.manifest
    assert manifest.case.own.entry == "mine.py:scale"
    assert manifest.tolerance[0] == 1e-3 and manifest.tolerance[1] == pytest.approx(3e-3, rel=0.1)
    assert manifest.min_hbm_bytes == 2 * 128 * 64 * 4
    assert str(tmp_path).encode() not in (bundle.path / "case.json").read_bytes()
    (row,) = profiled(tmp_path)
    assert (row["check"], row["kernel"], row["dims"]) == ("passed", "mine.scale", {"M": 128, "N": 64})
    assert row["mfu_percent"] > 0


OLD = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def scale(x, factor=1.0):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x) * factor)
    return out


def right(x, factor):
    return x * factor
"""


@pytest.mark.parametrize("cold", [(), ("--cold",)])
def test_a_kernel_of_the_old_dialect_is_built_and_checked(generate, project, tmp_path, cold):
    shapes = project(more="    reference: mine.py:right\n")
    (tmp_path / "mine.py").write_text(OLD)
    done = generate("--shapes", shapes, *cold)
    assert done.returncode == 0, done.stderr
    (row,) = profiled(tmp_path)
    assert row["check"] == "passed"


PACKED = """
import nki.isa as nisa
import nki.language as nl
import numpy as np


def product(a, a_scale, x):
    left, left_scale, right = (nl.ndarray(t.shape, t.dtype) for t in (a, a_scale, x))
    for tile, hbm in ((left, a), (left_scale, a_scale), (right, x)):
        nisa.dma_copy(tile, hbm)
    codes, scale = nl.ndarray((32, 64), nl.float8_e4m3fn_x4), nl.ndarray((4, 64), nl.float8_e8m0fnu)
    nisa.quantize_mx(codes, right, scale)
    psum, tile = nl.ndarray((8, 64), nl.float32, nl.psum), nl.ndarray((8, 64), nl.bfloat16)
    nisa.nc_matmul_mx(psum, left, codes, left_scale, scale)
    nisa.tensor_copy(tile, psum)
    results = [nl.ndarray(t.shape, t.dtype, nl.shared_hbm) for t in (tile, codes)]
    for hbm, t in zip(results, (tile, codes)):
        nisa.dma_copy(hbm, t)
    return tuple(results)


def right(a, a_scale, x):
    a = a.reshape(4, 8, 8, 4) * a_scale[:, None, :, None]
    blocks = x.reshape(4, 8, 64, 4)
    scale = np.exp2(np.floor(np.log2(np.abs(blocks).max((1, 3)))) - 7)
    return np.einsum("gpmv,gpnv->mn", a, blocks), (blocks / scale[:, None, :, None]).reshape(32, 256)
"""
PACKED_SHAPES = """
defaults: {target: trn3, lnc: 1}
cases:
  - kernel: mine.py:product
    implementation: nki
    M: 8
    inputs:
      a: {shape: [32, M], dtype: float4_e2m1fn_x4}
      a_scale: {shape: [4, M], dtype: float8_e8m0fnu, values: constant, scale: 4}
      x: {shape: [32, 256], dtype: bfloat16}
    reference: mine.py:right
    tolerance: {rtol: 0.1, atol: 8}
    flops: 2*128*M*64
"""


def test_packed_types_go_through_files_references_and_checks(generate, tmp_path):
    (tmp_path / "mine.py").write_text(PACKED)
    (tmp_path / "own.yaml").write_text(PACKED_SHAPES)
    done = generate("--shapes", tmp_path / "own.yaml")
    assert done.returncode == 0, done.stderr
    bundle = Store(tmp_path / "out").find("mine.product_nki_M8_float4_e2m1fn_x4_trn3_lnc1")
    sizes = {
        tensor.name: (tensor.dtype, tensor.bytes) for tensor in (*bundle.manifest.inputs, *bundle.manifest.outputs)
    }
    assert sizes["a"] == ("float4_e2m1fn_x4", 32 * 8 * 2) and sizes["a_scale"] == ("float8_e8m0fnu", 4 * 8)
    assert sizes["output1"] == ("float8_e4m3fn_x4", 32 * 64 * 4)
    (row,) = profiled(tmp_path)
    assert row["check"] == "passed"
    (tmp_path / "own.yaml").write_text(PACKED_SHAPES.replace("trn3", "trn2"))
    done = generate("--shapes", tmp_path / "own.yaml")
    assert done.returncode == 1 and "mine.py:12: quantize_mx: only on trn3, not on trn2" in done.stderr


def test_a_function_may_make_the_values_of_an_input(generate, project, tmp_path):
    (tmp_path / "made.py").write_text("import numpy as np\n\ndef mask(shape):\n    return np.tri(*shape)\n")
    shapes = project()
    shapes.write_text(shapes.read_text().replace("dtype: float32}", "dtype: float32, values: made.py:mask}"))
    assert generate("--shapes", shapes).returncode == 0
    bundle = Store(tmp_path / "out").find(NAME.format("nki"))
    values = np.fromfile(bundle.path / "inp-x-000.bin", np.float32).reshape(128, 64)
    assert (values == np.tri(128, 64)).all()
    (tmp_path / "made.py").write_text("def mask(shape):\n    return shape\n")
    assert generate("--shapes", shapes).returncode == 1
    reason = Store(tmp_path / "out").find(NAME.format("nki")).manifest.reason
    assert reason == "values made.py:mask: returned shape (2,), expected (128, 64)"


def test_a_wrong_kernel_is_told(generate, project, tmp_path):
    (tmp_path / "mine.py").write_text(KERNEL.replace("operand0=factor", "operand0=2.0"))
    assert generate("--shapes", project(more="    reference: mine.py:right\n")).returncode == 0
    command = [sys.executable, "-m", "neff_bench.stage2_profile.cli", "out", "--format", "json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, json.loads(done.stdout)[0]["check"]) == (1, "wrong")


def test_without_a_reference_a_row_is_unchecked(generate, project, tmp_path):
    assert generate("--shapes", project()).returncode == 0
    (row,) = profiled(tmp_path)
    assert row["check"] == "unchecked"


def test_a_jax_function_with_two_results(generate, project, tmp_path):
    pytest.importorskip("jax")
    (tmp_path / "mine.py").write_text(JAX + "\n\ndef right(x, factor):\n    return x * factor, x + 1\n")
    done = generate("--shapes", project(implementation="xla", more="    reference: mine.py:right\n"))
    assert done.returncode == 0, done.stderr
    manifest = Store(tmp_path / "out").find(NAME.format("xla")).manifest
    assert [tensor.name for tensor in manifest.outputs] == ["output0", "output1"]
    assert profiled(tmp_path)[0]["check"] == "passed"


def test_a_kernel_in_a_package_may_import_relatively(generate, project, tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tiles.py").write_text("ROWS = 128\n")
    (package / "mine.py").write_text(KERNEL.replace("from tiles", "from .tiles"))
    (tmp_path / "tiles.py").unlink()
    assert generate("--shapes", project("pack/mine.py:scale")).returncode == 0
    assert generate("--shapes", project("pack.mine:scale")).returncode == 0


DECLARATION = """
from neff_bench.stage1_generate.kernel import Implementation, Kernel, Tensor

KERNEL = Kernel(
    name="scaled",
    dims=("M", "N"),
    inputs=lambda d, dtype: (Tensor("x", (d.M, d.N), dtype),),
    outputs=lambda d, dtype: (Tensor("out", (d.M, d.N), dtype),),
    reference=lambda d, t: (t["x"] * 3,),
    model_flops=lambda d: d.M * d.N,
    implementations={
        "nki": Implementation("nki", "mine.py:scale", arguments=lambda d: {"factor": 3.0}),
        "xla": Implementation("xla", "jaxed:scale"),
    },
)
"""


def test_a_file_with_a_declaration_has_all_implementations_side_by_side(generate, project, tmp_path):
    pytest.importorskip("jax")
    (tmp_path / "declared.py").write_text(DECLARATION)
    (tmp_path / "jaxed.py").write_text("def scale(x):\n    return x * 3\n")
    shapes = tmp_path / "own.yaml"
    shapes.write_text("cases:\n  - {kernel: declared.py, implementation: [nki, xla], M: 128, N: 64}\n")
    done = generate("--shapes", shapes)
    assert done.returncode == 0, done.stderr
    rows = profiled(tmp_path)
    assert [(row["kernel"], row["implementation"], row["check"]) for row in rows] == [
        ("scaled", "nki", "passed"),
        ("scaled", "xla", "passed"),
    ]


@pytest.mark.parametrize(
    ("source", "more", "says"),
    [
        (KERNEL.replace("return out", "return undefined"), "", "name 'undefined' is not defined"),
        (KERNEL.replace("from tiles", "from nowhere"), "", "No module named 'nowhere'"),
        (KERNEL.replace("* factor", "* nothing"), "    reference: mine.py:right\n", "reference mine.py:21: NameError"),
        (
            KERNEL.replace("x * factor", "x[0]"),
            "    reference: mine.py:right\n",
            "has shape (64,), the kernel's output (128, 64)",
        ),
        (KERNEL.replace("x * factor", "x, x"), "    reference: mine.py:right\n", "returns 2 arrays, the kernel 1"),
    ],
)
def test_a_mistake_is_one_failed_row_with_its_line(generate, project, tmp_path, source, more, says):
    (tmp_path / "mine.py").write_text(source)
    assert generate("--shapes", project(more=more)).returncode == 1
    reason = Store(tmp_path / "out").find(NAME.format("nki")).manifest.reason
    assert says in reason and str(tmp_path) not in reason


def keys(shapes):
    cases = read_shapes(shapes)
    reader = Keys(Toolchain("sim", None, False, False, False, False, True), str(shapes.parent))
    return {case.kernel: reader.key(case) for case in cases}


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("mine.py", {"mine.scale"}),
        ("tiles.py", {"mine.scale", "other.scale"}),
        ("right.py", {"other.scale"}),
        ("unrelated.py", set()),
    ],
)
def test_an_edit_rebuilds_the_cases_of_its_import_closure_only(project, tmp_path, file, changed):
    (tmp_path / "other.py").write_text(KERNEL)
    (tmp_path / "right.py").write_text("def right(x, factor):\n    return x * factor\n")
    entry = SHAPES.format(kernel="other.py:scale", implementation="nki", m=128).partition("cases:\n")[2]
    shapes = project(more=f"{entry}    reference: right.py:right\n")
    before = keys(shapes)
    with (tmp_path / file).open("a") as text:
        text.write("# edited\n")
    after = keys(shapes)
    assert {name for name in before if before[name] != after[name]} == changed


def test_what_the_shapes_file_says_of_a_kernel_belongs_to_its_key(project):
    before = keys(project())
    after = keys(project(more="    tolerance: {rtol: 1, atol: 1}\n    reference: mine.py:right\n"))
    assert before != after


def test_a_failed_bundle_names_no_file_that_is_not_there(project, generate, tmp_path):
    """Its worker dies when it has said that the case is built."""
    dies = "    import atexit, os\n    atexit.register(os.kill, os.getpid(), 9)\n"
    (tmp_path / "mine.py").write_text(KERNEL.replace("def right(x, factor):\n", "def right(x, factor):\n" + dies))
    done = generate("--shapes", project(more="    reference: mine.py:right\n"), "--cold")
    assert done.returncode == 1, done.stdout
    manifest = Store(tmp_path / "out").find(NAME.format("nki")).manifest
    assert manifest.status == "failed" and "killed by SIGKILL" in manifest.reason
    assert (manifest.neff, manifest.inputs, manifest.outputs, manifest.command) == (None, (), (), ())
    assert list(manifest.files) == ["compile.log"]
