"""The real builder and worker against fakes of the SDK, one for each generation of NKI's compile interface."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from neff_bench.neffs.bundle import verify_bundle
from neff_bench.neffs.store import Store
from neff_bench.stage1_generate.toolchains.neuron.interfaces import Work, _launched
from neff_bench.stage1_generate.toolchains.neuron.sdk import explained
from tests.sdk import contracts, fake_nki

FAKES = Path(__file__).parents[1] / "fake_sdk"
KERNEL = """
import nki
import nki.isa
import nki.language as nl


@nki.jit
def mlp(hidden_tensor, gate_proj_weights_tensor, up_proj_weights_tensor, down_proj_weights_tensor):
    assert str(hidden_tensor.dtype) == "bfloat16"
    if hidden_tensor.shape[1] == 5:
        raise TypeError("mlp() takes another shape")
    return nl.ndarray(hidden_tensor.shape, hidden_tensor.dtype, buffer=nl.shared_hbm)
"""
SHAPES = "cases: [{{kernel: mlp, implementation: {}, b: 1, s: {}, h: 128, i: 256, target: trn2, lnc: 2{}}}]"


@pytest.fixture
def tmp_path(tmp_path):
    """With a blank, at which NKI's back end splits the path of the NEFF."""
    (tmp_path / "my work").mkdir()
    return tmp_path / "my work"


def places(tmp_path, fakes):
    """Folders for `sys.path`: of fakes by name, and for a number the NKI of that release, or those of its interfaces that follow."""
    yield FAKES / "common"
    for fake in fakes:
        if fake[0].isdigit():
            (tmp_path / fake).mkdir(exist_ok=True)
            contract = json.loads(contracts.text(fake.split()[0]))
            found = contract["nki"]["interfaces"]
            contract["nki"]["interfaces"] = {name: found[name] for name in fake.split()[1:] or found}
            yield fake_nki.install(contract, tmp_path / fake)
        else:
            yield FAKES / fake


@pytest.fixture
def sdk(tmp_path, generate, shapes_file, checkout):
    """Build one case with the given fakes on the path; returns the process, the manifest and what the fake was called with."""
    library = checkout()
    (library / "src/nkilib_src/nkilib/core/mlp/mlp.py").write_text(KERNEL)

    def build(*fakes, implementation="nkilib", s=128, more="", arguments=(), path=""):
        env = {
            "PYTHONPATH": os.pathsep.join(str(place) for place in places(tmp_path, fakes)),
            "FAKE_SDK_RECORD": str(tmp_path / "record.json"),
            "NKI_ARTIFACTS_DIR": "/nowhere",
            "NKI_SIMULATOR": "1",
            "FAKE_SDK_PYTHON": sys.executable,
            "FAKE_CONTRACT": str(contracts.write("2.32", tmp_path)),
            "PATH": os.pathsep.join([path, os.environ["PATH"]] if path else [os.environ["PATH"]]),
        }
        shapes = shapes_file(SHAPES.format(implementation, s, more))
        root = str(Path(__file__).parents[3])
        env["PYTHONPATH"] = os.pathsep.join([root, env["PYTHONPATH"]])
        done = generate("--shapes", shapes, "--nkilib", library, *arguments, env=env)
        (bundle,) = Store(tmp_path / "out").bundles()
        record = tmp_path / "record.json"
        return done, bundle, json.loads(record.read_text()) if record.exists() else None

    return build


@pytest.mark.parametrize(
    ("release", "interface"),
    [
        ("2.28", "nki_standalone"),
        ("2.29", "nki ParserFrontend"),
        ("2.30", "nki compile_to_bir"),
        ("2.31", "nki compile_kernel_to_nir"),
        ("2.32", "nki compile_kernel_to_nir"),
        ("2.33", "nki compile_kernel_to_nir"),
        ("2.34", "nki compile_kernel_to_nir"),
    ],
)
def test_nki_of_each_release_is_compiled_through_its_own_interface(sdk, release, interface):
    done, bundle, record = sdk(release, arguments=["--disable-dge", "--verbose"])
    assert done.returncode == 0, done.stderr
    manifest = bundle.manifest
    assert (manifest.toolchain, manifest.interface, manifest.status) == ("neuron", interface, "built")
    assert record == {
        "interface": interface.removeprefix("nki "),
        "production": None if release == "2.28" else True,
        "target_at_import": "trn2",
        "debug_info": None,
    }
    assert [tensor.name for tensor in manifest.inputs] == [
        "hidden_tensor",
        "gate_proj_weights_tensor",
        "up_proj_weights_tensor",
        "down_proj_weights_tensor",
    ]
    assert [tensor.shape for tensor in manifest.outputs] == [(1, 128, 128)]
    assert manifest.compile_time_s is not None
    assert manifest.case.flags == ("--disable-dge",)
    assert "Compiler status PASS --disable-dge --verbose=info" in (bundle.path / "compile.log").read_text()
    verify_bundle(bundle)
    assert str(bundle.path.parent).encode() not in (bundle.path / "case.json").read_bytes()


def test_a_kernel_is_traced_into_penguin_where_nki_has_nothing_newer(sdk):
    done, bundle, record = sdk("trace_kernel", path=str(FAKES / "cc" / "bin"), arguments=["--disable-dge"])
    assert done.returncode == 0, done.stderr
    assert bundle.manifest.interface == "nki TraceKernel"
    assert " ".join(record["argv"]) == (
        "compile --framework XLA penguin.py --target trn2 --lnc 2 --output file.neff --disable-dge"
    )
    assert [tensor.shape for tensor in bundle.manifest.outputs] == [(1, 128, 128)]


def test_source_lines_are_compiled_in_when_asked_for_and_belong_to_the_key(sdk):
    _, plain, record = sdk("2.32")
    assert record["debug_info"] is None
    _, lines, record = sdk("2.32", arguments=["--debug-info"])
    assert record["debug_info"] == "1"
    assert plain.manifest.key != lines.manifest.key


def test_another_build_of_nki_has_another_back_end(sdk):
    done, bundle, _ = sdk("2.32 compile_bir_with_inputs")
    assert (done.returncode, bundle.manifest.interface) == (0, "nki _compile_bir_to_neff"), done.stderr


def test_the_newest_interface_wins_where_several_are_installed(sdk):
    _, bundle, _ = sdk("2.32")
    assert bundle.manifest.interface == "nki compile_kernel_to_nir"


def test_outputs_are_named_as_in_the_neff(sdk):
    _, bundle, _ = sdk("2.32")
    assert [tensor.name for tensor in bundle.manifest.outputs] == ["output_0"]
    assert (bundle.path / "ref-output_0-000.bin").is_file()


def test_intermediate_files_stay_only_when_asked_for(sdk):
    _, bundle, _ = sdk("2.29")
    assert not (bundle.path / "artifacts").exists()
    _, bundle, _ = sdk("2.29", arguments=["--verbose", "--force"])
    assert (bundle.path / "artifacts").exists()


def test_an_sdk_without_a_known_interface_says_which_were_tried(sdk):
    done, bundle, _ = sdk()
    assert done.returncode == 1
    reason = bundle.manifest.reason
    assert reason.startswith("no known compile interface of NKI: ")
    assert "nki compile_kernel_to_nir: No module named 'nki.framework'" in reason and "nki_standalone: " in reason


def test_an_error_of_the_kernel_is_not_taken_for_a_wrong_interface(sdk):
    done, bundle, _ = sdk("2.32", s=5)
    assert done.returncode == 1
    assert bundle.manifest.reason == "TypeError: mlp() takes another shape (see compile.log)"


def test_a_library_that_does_not_import_is_one_failed_row(sdk, checkout):
    (checkout() / "src/nkilib_src/nkilib/core/mlp/mlp.py").write_text("def broken(:\n")
    done, bundle, _ = sdk("2.32")
    assert done.returncode == 1
    assert "cannot import nkilib_src.nkilib.core.mlp.mlp:mlp: SyntaxError" in bundle.manifest.reason


def test_xla_goes_through_neuronx_cc(sdk):
    done, bundle, record = sdk(implementation="xla", path=str(FAKES / "cc" / "bin"))
    assert done.returncode == 0, done.stderr
    words = "compile --framework XLA model/graph.hlo --target trn2 --output graph.neff --lnc 2"
    assert record == {"argv": words.split()}
    assert (bundle.path / "command.txt").read_text() == "neuronx-cc " + words.replace("model/", "") + "\n"
    assert json.loads((bundle.path / "model" / "metadata.json").read_text())["model_files"] == "graph.hlo"
    assert [tensor.name for tensor in bundle.manifest.inputs] == ["input0", "input1", "input2", "input3"]
    verify_bundle(bundle)


@pytest.mark.parametrize(
    ("flag", "arguments", "reason"),
    [
        ("-O9", [], "[NCC_FAKE] cannot optimise that much"),
        ("--no-such-flag=1", [], "neuronx-cc: error: unrecognized arguments: --no-such-flag"),
        (
            "-O9",
            ["--target", "trn3"],
            "[NCC_FAKE] cannot optimise that much (the pages of neuronx-cc name no target trn3)",
        ),
    ],
)
def test_what_the_compiler_says_is_the_reason(sdk, flag, arguments, reason):
    cc = str(FAKES / "cc" / "bin")
    done, bundle, _ = sdk("jax", implementation="xla", more=f", flags: {flag}", path=cc, arguments=arguments)
    assert done.returncode == 1
    assert bundle.manifest.reason == reason


def test_without_jax_torch_neuronx_traces(sdk, tmp_path):
    (tmp_path / "no_jax").mkdir()
    (tmp_path / "no_jax" / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'jax' else find(name, package)\n"
    )
    done, bundle, record = sdk(str(tmp_path / "no_jax"), "torch", implementation="xla", path=str(FAKES / "cc" / "bin"))
    assert done.returncode == 0, done.stderr
    assert bundle.manifest.interface == "torch_neuronx.trace"
    assert record == {"compiler_args": ["--target", "trn2", "--lnc", "2"]}
    assert {path.name for path in bundle.path.iterdir()} >= {"graph.neff", "command.txt", "model"}
    verify_bundle(bundle)


def test_the_closed_kernel_gets_a_norm_weight_of_ones(sdk):
    done, bundle, _ = sdk("torch", implementation="neuronxcc", path=str(FAKES / "cc" / "bin"))
    assert done.returncode == 0, done.stderr
    manifest = bundle.manifest
    assert [tensor.shape for tensor in manifest.inputs][1] == (1, 128)
    assert set((bundle.path / manifest.inputs[1].file).read_bytes()) == {0x80, 0x3F}  # 1.0 in bfloat16
    verify_bundle(bundle)


OWN = """
cases:
  - kernel: mine.py:scale
    implementation: {}
    M: 128
    inputs: {{x: {{shape: [M, 64], dtype: bfloat16}}}}
    arguments: {{factor: 2.0}}
    reference: right.py:right
"""
OWN_KERNEL = """
import nki
import nki.isa
import nki.language as nl


@nki.jit
def scale(x, factor=1.0):
    assert factor == 2.0
    return nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
"""


@pytest.fixture
def own(tmp_path, generate):
    """Build a kernel of the user's own with the given fakes on the path; returns the process and the manifest."""
    (tmp_path / "mine.py").write_text(OWN_KERNEL)
    (tmp_path / "right.py").write_text("def right(x, factor):\n    return x * factor\n")

    def build(*fakes, implementation="nki", more="", text=OWN):
        (tmp_path / "own.yaml").write_text(text.format(implementation) + more)
        root = str(Path(__file__).parents[3])
        env = {
            "PYTHONPATH": os.pathsep.join([root, *map(str, places(tmp_path, fakes))]),
            "FAKE_SDK_PYTHON": sys.executable,
            "FAKE_NEFF": os.environ.get("FAKE_NEFF", ""),
            "FAKE_CONTRACT": str(contracts.write("2.32", tmp_path)),
            "PATH": os.pathsep.join([str(FAKES / "cc" / "bin"), os.environ["PATH"]]),
        }
        done = generate("--shapes", "own.yaml", env=env)
        (bundle,) = Store(tmp_path / "out").bundles()
        return done, bundle.manifest

    return build


@pytest.mark.parametrize("release", ["2.28", "2.29", "2.30", "2.32", "2.33"])
def test_a_kernel_of_one_s_own_is_compiled_by_each_generation(own, release):
    done, manifest = own(release, more="    outputs: {out: {shape: [M, 64], dtype: bfloat16}}\n")
    assert done.returncode == 0, done.stderr
    assert (manifest.toolchain, manifest.status) == ("neuron", "built")
    assert [tensor.name for tensor in manifest.inputs] == ["x"]
    assert [(tensor.shape, tensor.dtype) for tensor in manifest.outputs] == [((128, 64), "bfloat16")]
    assert manifest.outputs[0].sha256 is not None


def test_the_newest_generation_finds_the_outputs_itself(own):
    done, manifest = own("2.32")
    assert done.returncode == 0, done.stderr
    assert [(tensor.name, tensor.shape) for tensor in manifest.outputs] == [("output_0", (128, 64))]


IN_PLACE = """
import nki
import nki.isa
import nki.language as nl


@nki.jit
def scale(acc, x, factor=1.0):
    return nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm), acc
"""
IN_PLACE_CASE = OWN.replace(
    "{{x: {{shape: [M, 64], dtype: bfloat16}}}}",
    "{{acc: {{shape: [M, 64], values: constant, scale: 3}}, x: {{shape: [M, 64], values: constant, scale: 5}}}}\n    dtype: float32",
)


@pytest.fixture
def in_place(own, tmp_path, monkeypatch):
    """Build a kernel that writes into its first input, by NKI 0.6. `neff`: what its compiler writes otherwise. Returns the first
    value of each tensor too, by its name in the NEFF."""

    def build(neff=""):
        (tmp_path / "mine.py").write_text(IN_PLACE)
        (tmp_path / "right.py").write_text("def right(acc, x, factor):\n    return 2 * x, acc + x\n")
        monkeypatch.setenv("FAKE_NEFF", neff)
        done, manifest = own("2.32", text=IN_PLACE_CASE)
        (bundle,) = Store(tmp_path / "out").bundles()
        tensors = (*manifest.inputs, *manifest.outputs)
        values = {tensor.name: float(np.fromfile(bundle.path / tensor.file, np.float32)[0]) for tensor in tensors}
        return done, manifest, values

    return build


@pytest.mark.parametrize("order", ["", "reversed"])
def test_tensors_of_an_in_place_kernel_are_those_of_its_names_in_any_order_of_the_neff(in_place, order):
    done, manifest, values = in_place(order)
    assert done.returncode == 0, done.stderr
    assert values == {"acc.must_alias_input": 3.0, "x": 5.0, "output_0": 10.0, "acc": 8.0}
    assert manifest.writes_inputs
    assert manifest.inputs[0].name == ("x" if order else "acc.must_alias_input")


def test_a_compiler_that_builds_for_another_lnc_is_not_believed(in_place):
    done, manifest, _ = in_place("other lnc")
    assert (done.returncode, manifest.status) == (1, "failed")
    lnc = manifest.case.lnc
    assert manifest.reason == f"the NEFF has LNC {3 - lnc}, its case LNC {lnc}"


@pytest.mark.parametrize("release", ["2.28", "2.29", "2.30"])
def test_an_older_generation_is_told_the_outputs_by_the_simulator(own, release):
    done, manifest = own(release)
    assert done.returncode == 0, done.stderr
    assert [(tensor.shape, tensor.dtype) for tensor in manifest.outputs] == [((128, 64), "bfloat16")]


def test_outputs_that_nobody_tells_must_be_declared(own, tmp_path):
    kernel = OWN_KERNEL + "\n\nif hasattr(nki, '__recorder__'):\n    raise TypeError('not in neuron-sim')\n"
    (tmp_path / "mine.py").write_text(kernel)
    done, manifest = own("2.28")
    assert done.returncode == 1
    assert "neuron-sim cannot run it to see" in manifest.reason
    assert "not in neuron-sim" in manifest.reason
    assert manifest.reason.endswith("declare them under `outputs:`")


def test_a_jax_function_of_one_s_own_goes_through_neuronx_cc(own, tmp_path):
    pytest.importorskip("jax")
    (tmp_path / "mine.py").write_text("def scale(x, factor):\n    return x * factor\n")
    done, manifest = own(implementation="xla")
    assert done.returncode == 0, done.stderr
    assert (manifest.toolchain, manifest.interface) == ("neuron", "neuronx-cc compile")


@pytest.mark.parametrize(
    ("reason", "says"),
    [
        ("NCCError: [ERROR] [NCC_EVRF009] too much", "inputs, outputs and what lies between them do not fit into HBM"),
        ("neuronx-cc: EARG001", "LNC 2 is for trn2 and trn3"),
        ("[NCC_EVRF010] dilation", "see compiler/error-codes/EVRF010 in AWS's documentation"),
        ("[NCC_ILLC059] Could not find MemoryLocation", "an error inside neuronx-cc"),
        ("cannot import my_kernels:f", None),
    ],
)
def test_an_error_of_the_compiler_says_what_to_do(reason, says):
    told = explained(reason)
    assert told.startswith(reason)
    assert (says in told) if says else told == reason


@pytest.mark.parametrize(
    ("kernel", "grid", "launched"), [(["one", "two"], True, "two"), (["one", "two"], False, None), (len, True, None)]
)
def test_a_kernel_is_launched_on_a_grid_where_the_release_wants_one_and_the_kernel_takes_one(kernel, grid, launched):
    work = Work(kernel, {}, list, "trn2", 1, "x.neff", (), grid)
    assert _launched(work) == (launched or kernel)
