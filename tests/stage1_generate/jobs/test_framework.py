"""A user's own script as a source of NEFFs; the script here writes what a framework would."""

import os
from pathlib import Path

from neff_bench.neffs.bundle import verify_bundle
from neff_bench.neffs.store import Store
from neff_bench.stage1_generate.jobs.framework import environment

ROOT = Path(__file__).parents[3]
FAKES = Path(__file__).parents[1] / "fake_sdk" / "common"
SCRIPT = """
import os, shutil, sys
from pathlib import Path
import fake_sdk

assert [os.environ[name] for name in ("NEURON_FRAMEWORK_DEBUG", "XLA_IR_DEBUG", "XLA_HLO_DEBUG")] == ["1"] * 3
assert os.listdir() == []
tensors = [("input0", (4, 8), "bfloat16"), ("ids", (3,), "int32")]
Path("MODULE_1+a").mkdir()
cache = Path(os.environ["NEURON_COMPILE_CACHE_URL"])
cache.mkdir()
fake_sdk.neff("MODULE_1+a/graph.neff", "trn2", 2, tensors, [("output0", (4, 8), "float32")])
fake_sdk.neff(cache / "model.neff", "trn2", 2, tensors, [("output0", (4, 8), "float32")])
shutil.copy("MODULE_1+a/graph.neff", "again.neff")
fake_sdk.neff(Path("other.neff").absolute(), "trn2", 2, tensors[:1], [("output0", (4,), "float32")])
if "--fail" in sys.argv:
    sys.exit("error: it went wrong")
"""


def capture(generate, tmp_path, *arguments, text=SCRIPT):
    (tmp_path / "train.py").write_text(text)
    env = {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, FAKES)))}
    return generate("--capture-framework-neff", tmp_path / "train.py", "--", *arguments, env=env)


def test_each_different_neff_of_a_script_becomes_a_bundle(generate, tmp_path):
    done = capture(generate, tmp_path)
    assert done.returncode == 0, done.stderr
    names = done.stdout.split()
    assert len(names) == 2 and all(name.startswith("train-") for name in names)
    bundles = {bundle.name: bundle for bundle in Store(tmp_path / "out").bundles()}
    assert set(bundles) == set(names)
    for bundle in bundles.values():
        verify_bundle(bundle)
        assert bundle.manifest.case.implementation == "framework"
        assert (bundle.manifest.case.target, bundle.manifest.case.lnc) == ("trn2", 2)
        assert [output.file for output in bundle.manifest.outputs] == [None]
    (both,) = (bundle for bundle in bundles.values() if len(bundle.manifest.inputs) == 2)
    assert (both.path / both.manifest.inputs[1].file).read_bytes() == bytes(12)
    assert any((both.path / both.manifest.inputs[0].file).read_bytes())


CALLED = """
import os
import fake_sdk

if folder := os.environ.get("NKI_ARTIFACTS_DIR"):  # NKI reads it when it is imported, and wants the folder clean
    os.makedirs(folder)
    fake_sdk.neff(folder + "/kernel.neff", "trn2", 1, [("a", (4, 8), "float32")], [("output_0", (4, 8), "float32")])
raise SystemExit("error: NRT_EXEC_OOB(1006)")
"""


def test_the_neff_of_a_kernel_that_is_called_is_kept_though_its_execution_fails(generate, tmp_path):
    done = capture(generate, tmp_path, text=CALLED)
    assert done.returncode == 1
    (bundle,) = Store(tmp_path / "out").bundles()
    assert bundle.name.startswith("train-nki-kernel_")


def test_a_neff_in_a_cache_of_torchneuron_is_found_and_marked(generate, tmp_path):
    left = """
import os
import fake_sdk

folder = os.environ["TORCH_NEURONX_NEFF_CACHE_DIR"] + "/0f/a1"
os.makedirs(folder)
fake_sdk.neff(folder + "/graph.neff", "trn2", 2, [("a", (4, 8), "float32")], [("b", (4, 8), "float32")])
"""
    assert capture(generate, tmp_path, text=left).returncode == 0
    (bundle,) = Store(tmp_path / "out").bundles()
    assert bundle.manifest.warnings == ("layout not seen: found below torch-neuron",)


def test_a_script_that_fails_is_one_line_and_its_neffs_are_kept(generate, tmp_path):
    done = capture(generate, tmp_path, "--fail")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("train.py: it went wrong")
    assert "Traceback" not in done.stderr
    assert len(list(Store(tmp_path / "out").bundles())) == 2


def test_a_script_without_neffs_says_so(generate, tmp_path):
    done = capture(generate, tmp_path, text="print('hello')")
    assert done.returncode == 1
    assert "left no NEFF" in done.stderr


def test_a_missing_script_is_a_wrong_call(generate):
    done = generate("--capture-framework-neff", "none.py")
    assert (done.returncode, done.stderr) == (2, "error: --capture-framework-neff: none.py: no such file\n")


def test_chip_and_flags_reach_the_script():
    added = environment({"NEURON_CC_FLAGS": "-O1"}, "trn2", 1, True)
    assert added["NEURON_CC_FLAGS"] == "-O1 --disable-dge"
    assert added["NEURON_PLATFORM_TARGET_OVERRIDE"] == "trn2"
    assert added["NEURON_LOGICAL_NC_CONFIG"] == "1"
    assert "NEURON_CC_FLAGS" not in environment({}, None, None, False)
