"""What a worker says of what it could not do."""

import io
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from neff_bench.installation import IMPORT_ROOT, __version__
from neff_bench.neffs.bundle import read_bundle
from neff_bench.neffs.case import Case
from neff_bench.parsers.neff import TensorInfo
from neff_bench.stage1_generate import kernels
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.jobs import worker
from neff_bench.stage1_generate.jobs.job import Job, encode
from neff_bench.stage1_generate.jobs.worker import (
    _asked,
    _in_order,
    _prune,
    _read_neff,
    _reason,
    _renamed,
    _said_by,
    _versions,
    _write_tensors,
    refused,
    started,
)
from neff_bench.stage1_generate.kernel import Implementation, Tensor
from neff_bench.stage1_generate.options import Options
from neff_bench.stage1_generate.reference import NoTorch
from neff_bench.stage1_generate.toolchains.sim import compile as sim_compile

CASE = Case("k", "nki", (), "float32", "trn2", 1)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (BuildError("/home/u/kernels/k.py:3: no"), "k.py:3: no"), (BuildError("/lib/nkilib/a.py:1: no"), "a.py:1: no"),
        (BuildError(f"{IMPORT_ROOT}/b.py:1: no"), "b.py:1: no"), (BuildError("/other/k.py:3: no"), "/other/k.py:3: no"),
        (MemoryError(), "ran out of memory (limit of a worker: 2.0 GiB)"),
        (FileNotFoundError(2, "No such file", "/tmp/x"), "/tmp/x: No such file"), (OSError(28, "No space left"), "the bundle: No space left"),
    ],
)  # fmt: skip
def test_a_reason_is_without_the_folders_that_are_searched(error, said):
    job = Job(CASE, "key", "sim", "/lib/nkilib", Options(memory_gib=2.0), "/home/u/kernels")
    assert _reason(job, error) == said


def test_a_worker_without_a_limit_names_none():
    job = Job(CASE, "key", "neuron")
    assert _reason(job, MemoryError()) == "ran out of memory" and _reason(job, ValueError("None/x")) == "None/x"


MATMUL = Case("matmul", "nki", (("M", 32), ("K", 16), ("N", 8)), "float32", "trn2", 1)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("ranks", [1, 2])
def test_tensors_of_each_rank_are_written_in_the_order_of_the_neff_under_its_names(here, ranks):
    case, kernel = replace(MATMUL, ranks=ranks), kernels.load("matmul")
    lhs, rhs, out = (
        Tensor(name, shape, "float32") for name, shape in (("lhs", (32, 16)), ("rhs", (16, 8)), ("out", (32, 8)))
    )
    named = (("a", lhs), ("b", rhs)), (("c", out),)
    files, tolerance = _write_tensors(kernel, case, named, {"b": "in1", "a": "in0"}, {"c": "res"})
    assert len(files) == ranks and tolerance is not None
    for rank, of_rank in enumerate(files):
        end = "000" if ranks == 1 else f"rank{rank}"
        assert [(one.name, one.file, one.shape) for one in of_rank.inputs] == [
            ("in1", f"inp-in1-{end}.bin", (16, 8)), ("in0", f"inp-in0-{end}.bin", (32, 16))
        ]  # fmt: skip
        assert [(one.name, one.file, one.shape) for one in of_rank.outputs] == [("res", f"ref-res-{end}.bin", (32, 8))]
        b, a, c = (
            np.fromfile(one.file, "<f4").reshape(one.shape).astype(float) for one in (*of_rank.inputs, *of_rank.outputs)
        )
        np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    assert len({one.sha256 for of_rank in files for one in of_rank.inputs}) == 2 * ranks


def test_without_a_reference_an_output_has_no_file(here):
    kernel = replace(kernels.load("matmul"), reference=None)
    named = (("lhs", Tensor("lhs", (32, 16), "float32")),), (("out", Tensor("out", (32, 8), "float32")),)
    [files], tolerance = _write_tensors(kernel, MATMUL, named, {"lhs": "lhs"}, {"out": "res"})
    [out] = files.outputs
    assert (out.name, out.file, out.sha256, out.bytes, out.shape) == ("res", None, None, 4 * 32 * 8, (32, 8))
    assert tolerance == kernel.tolerance.get("float32") and len(list(here.iterdir())) == 1


A, B = TensorInfo("a", (2, 3), "float32", 24), TensorInfo("b.must_alias_input", (4,), "int8", 4)
NUMBERED = TensorInfo("output0", (2,), "int8", 2), TensorInfo("output1", (3,), "int8", 3)


@pytest.mark.parametrize(
    ("outputs", "order", "route", "said"),
    [
        ((A,), None, "nki", [("a", (2, 3), "float32")]), ((B, A), ("a", "b"), "nki", [("a", (2, 3), "float32"), ("b", (4,), "int8")]),
        ((B, A), ("b.must_alias_input", "a"), "nki", [("b", (4,), "int8"), ("a", (2, 3), "float32")]),
        (NUMBERED[::-1], None, "xla", [("output0", (2,), "int8"), ("output1", (3,), "int8")]),
        ((A, B), None, "nki", None), ((A, B), ("a",), "nki", None), ((A,), ("a", "x"), "nki", [("a", (2, 3), "float32")]),
        ((replace(A, dtype="void8"),), None, "nki", None), ((replace(A, bytes=23),), None, "nki", None), ((), None, "nki", []),
    ],
)  # fmt: skip
def test_outputs_that_nobody_declares_are_those_of_the_neff_else_those_that_are_recorded(
    monkeypatch, outputs, order, route, said
):
    monkeypatch.setattr(sim_compile, "recorded_outputs", lambda request: ["recorded"])
    found = _said_by(SimpleNamespace(outputs=outputs), order, SimpleNamespace(route=route))
    assert list(found) == (["recorded"] if said is None else [Tensor(*one) for one in said])


def test_what_the_compiler_leaves_is_removed_but_for_what_a_bundle_holds(here):
    kept = ["file.neff", "compile.log", "command.txt", "kernel.json", "log-neuron-cc.txt", "model/a", "model/b/c"]
    for name in [*kept, "x.txt", "sub/y", "file.neff.old"]:
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).touch()
    (here / "sub" / "deep").mkdir()
    (here / "link").symlink_to("model")
    _prune("file.neff")
    assert sorted(str(path.relative_to(here)) for path in here.rglob("*") if path.is_file()) == sorted(kept)
    assert not (here / "link").is_symlink() and not (here / "sub").exists()


def test_a_neff_that_cannot_be_read_is_the_compilers_fault(here):
    (here / "file.neff").write_bytes(b"no")
    with pytest.raises(BuildError, match="^the compiler wrote a NEFF that cannot be read: "):
        _read_neff(here / "file.neff")


def test_names_replace_those_of_tensors_and_files_stand_in_the_order_of_the_neff():
    one, other = Tensor("a", (1,), "int8"), Tensor("b", (2,), "int8")
    assert [(tensor.name, tensor.shape) for tensor in _renamed((one, other), ("x", "y"))] == [("x", (1,)), ("y", (2,))]
    with pytest.raises(ValueError):
        _renamed((one,), ("x", "y"))
    assert _in_order({"a": 1, "b": 2}, {"b": "", "a": ""}) == (2, 1)


def test_a_case_that_is_not_built_yet_says_what_is_known_of_it():
    found = started(Job(MATMUL, "key", "sim"))
    assert (found.case, found.key, found.status, found.toolchain) == (MATMUL, "key", "failed", "sim")
    assert (found.model_flops, found.min_hbm_bytes) == (2 * 32 * 16 * 8, 4 * (16 * 32 + 16 * 8 + 32 * 8))
    assert found.versions == {"python": ".".join(map(str, sys.version_info[:3])), "neff-bench": __version__}
    assert refused(Job(MATMUL, "key", "sim")) is None


@pytest.mark.parametrize("version", ["0.5", None])
def test_a_kernel_of_nki_library_says_the_version_of_its_source_or_what_is_in_it(tmp_path, version):
    (tmp_path / "nkilib_src").mkdir()
    (tmp_path / "nkilib_src" / "a.py").write_text("a = 1\n")
    if version:
        (tmp_path / "nkilib_src" / "nkilib" / "version").mkdir(parents=True)
        (tmp_path / "nkilib_src" / "nkilib" / "version" / "__init__.py").write_text(f"__version__ = '{version}'\n")
    case = Case("mlp", "nkilib", (("b", 1), ("s", 128), ("h", 1024), ("i", 512)), "bfloat16", "trn2", 2)
    said = _versions(Job(case, "key", "sim", str(tmp_path)))["nkilib"]
    assert said == version or (said.startswith("source ") and len(said) == len("source ") + 12)
    assert "nkilib" not in _versions(Job(case, "key", "sim"))
    assert "nkilib" not in _versions(Job(MATMUL, "key", "sim", str(tmp_path)))


@pytest.fixture
def run(here, monkeypatch):
    """A function that runs a worker in this process; `build` and `write` stand in for what it calls."""

    def call(build, write=worker.write_manifest, toolchain="sim"):
        job = Job(MATMUL, "key", toolchain)
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(encode(job) + b"\n")))
        for name, stand_in in (("_limit_memory", lambda job: None), ("build", build), ("write_manifest", write)):
            monkeypatch.setattr(worker, name, stand_in)
        return worker.main()

    return call


def raising(error):
    def stand_in(*_):
        raise error

    return stand_in


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (BuildError("k.py:3: no"), "k.py:3: no"), (ValueError("two\nlines"), "ValueError: two lines (see compile.log)"),
        (FileNotFoundError(2, "No such file", "x"), "x: No such file"),
    ],
)  # fmt: skip
def test_a_worker_that_fails_leaves_the_reason(run, here, error, reason):
    assert run(raising(error)) == 1
    assert (read_bundle(here).manifest.status, read_bundle(here).manifest.reason) == ("failed", reason)


def test_a_worker_that_built_says_so(run, here):
    assert run(lambda job: replace(started(job), status="built")) == 0
    assert read_bundle(here).manifest.status == "built"


@pytest.mark.parametrize(("number", "code"), [(28, 28), (13, 1)])
def test_a_worker_that_cannot_write_says_whether_the_disk_is_full(run, capsys, number, code):
    assert run(raising(BuildError("why")), raising(OSError(number, "it is so"))) == code
    assert run(started, raising(OSError(number, "it is so"))) == code
    assert capsys.readouterr().out == "error: why: it is so\nerror: case.json cannot be written: it is so\n"


TWO, ONE = (Tensor("x", (1,), "int8"), Tensor("y", (1,), "int8")), (Tensor("z", (1,), "int8"),)


@pytest.mark.parametrize(
    ("route", "parameters", "results", "outputs", "asked"),
    [
        ("xla", None, None, ONE, (("input0", "input1"), ("output0",))), ("isa", ("a", "b"), ("c",), (), (("input0", "input1"), ())),
        ("nki", None, None, ONE, (("x", "y"), ("z",))), ("nki", ("a", "b"), None, ONE, (("a", "b"), ("z",))),
        ("nki", None, ("c",), ONE, (("x", "y"), ("c",))), ("nki", None, None, (), (("x", "y"), ())),
    ],
)  # fmt: skip
def test_a_compiler_is_asked_for_the_names_of_the_kernel_and_a_tracer_for_numbers(
    route, parameters, results, outputs, asked
):
    assert _asked(Implementation(route, "m:f", parameters, results), TWO, outputs) == asked


def job_of(**more):
    return Job(replace(MATMUL, **more), "key", "sim")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_worker_builds_a_bundle_with_all_that_is_known_of_the_case(here, ranks):
    built = worker.build(job_of(ranks=ranks))
    assert (built.status, built.neff, built.command[0]) == ("built", "file.neff", "neuron-sim")
    assert [(one.name, one.shape, one.dtype) for one in (*built.inputs, *built.outputs)] == [
        ("lhs", (32, 16), "float32"), ("rhs", (16, 8), "float32"), ("out", (32, 8), "float32")
    ]  # fmt: skip
    assert (built.model_flops, built.min_hbm_bytes) == (2 * 32 * 16 * 8, 4 * (32 * 16 + 16 * 8 + 32 * 8))
    assert (len(built.other_ranks), built.rank_inputs) == ((1, "2rank_inputs.txt") if ranks == 2 else (0, None))
    assert built.warnings == () and set(built.versions) == {"python", "neff-bench", "compiler"}
    assert {path.name for path in here.glob("*.bin")} == {
        one.file for rank in (built, *built.other_ranks) for one in (*rank.inputs, *rank.outputs)
    }


def test_a_reference_of_nki_library_without_torch_leaves_the_outputs_unchecked_and_another_fails(here, monkeypatch):
    def lacks_torch(d, arrays):
        raise NoTorch("no torch")

    kernel = replace(kernels.load("matmul"), reference=lacks_torch)
    monkeypatch.setattr(worker, "kernel_of", lambda case, folder: kernel)
    with pytest.raises(NoTorch):
        worker.build(job_of())
    theirs = {"nki": replace(kernel.implementations["nki"], needs=("nkilib",))}
    kernel = replace(kernel, implementations=theirs)
    built = worker.build(job_of())
    assert [output.file for output in built.outputs] == [None] and all(one.file for one in built.inputs)
    assert [note.partition(" needs torch")[0] for note in built.warnings] == ["its reference in nki-library"]


def test_a_kernel_that_declares_no_outputs_has_those_of_its_neff_and_is_not_checked(here, monkeypatch):
    kernel = replace(kernels.load("matmul"), outputs=None, reference=None)
    monkeypatch.setattr(worker, "kernel_of", lambda case, folder: kernel)
    built = worker.build(job_of())
    [out] = built.outputs
    assert (out.shape, out.dtype, out.file) == ((32, 8), "float32", None)
    assert built.min_hbm_bytes == 4 * (32 * 16 + 16 * 8 + 32 * 8)
