import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from neff_bench.installation import IMPORT_ROOT
from neff_bench.neffs.case import Case
from neff_bench.neffs.own import OwnKernel, Tensor
from neff_bench.sdk.environment import of_role
from neff_bench.stage1_generate.jobs import keys as keys_module
from neff_bench.stage1_generate.jobs.closure import Closures
from neff_bench.stage1_generate.jobs.keys import _COMPILE, Keys, _not_for
from neff_bench.stage1_generate.kernel import Dims, Implementation
from neff_bench.stage1_generate.toolchains.find import Toolchain

MLP = Case("mlp", "nkilib", (("b", 1), ("s", 128), ("h", 1024), ("i", 512)), "bfloat16", "trn2", 2)
TOOLCHAIN = Toolchain("sim", None, False, False, False, False, True)


def nkilib(folder, line):
    source = folder / "nkilib_src" / "nkilib" / "core" / "mlp" / "mlp.py"
    source.parent.mkdir(parents=True)
    source.write_text(line)
    return folder


@pytest.mark.parametrize("implementation", ["nki", "xla", "nkilib", "neuronxcc"])
def test_the_toolchain_belongs_to_the_key(implementation):
    case = replace(MLP, implementation=implementation)
    assert Keys(TOOLCHAIN).key(case) != Keys(replace(TOOLCHAIN, name="neuron")).key(case)
    assert Keys(TOOLCHAIN).key(case) == Keys(TOOLCHAIN).key(case)


def test_the_kernel_source_belongs_to_the_key(tmp_path):
    one = Keys(replace(TOOLCHAIN, nkilib=nkilib(tmp_path / "one", "a = 1")))
    two = Keys(replace(TOOLCHAIN, nkilib=nkilib(tmp_path / "two", "a = 2")))
    same = Keys(replace(TOOLCHAIN, nkilib=nkilib(tmp_path / "same", "a = 1")))
    assert one.key(MLP) != two.key(MLP)
    assert one.key(MLP) == same.key(MLP)  # content counts, not the place


def test_sources_of_other_implementations_do_not(tmp_path):
    nki = replace(MLP, implementation="nki")
    assert Keys(TOOLCHAIN).key(nki) == Keys(replace(TOOLCHAIN, nkilib=nkilib(tmp_path, "a = 1"))).key(nki)


@pytest.mark.parametrize("variable", sorted({"NEURON_CC_FLAGS", "NKI_DEBUG_INFO", "NKI_USE_COLZ", *of_role("neff")}))
def test_what_a_compiler_reads_from_the_environment_belongs_to_the_key_where_it_reads_it(monkeypatch, variable):
    nki = replace(MLP, implementation="nki")
    keys = []
    for value in ("0", "1"):
        monkeypatch.setenv(variable, value)
        keys.append((Keys(TOOLCHAIN).key(nki), Keys(replace(TOOLCHAIN, name="neuron")).key(nki)))
    assert keys[0][0] == keys[1][0] and keys[0][1] != keys[1][1]


def test_what_changes_a_traced_graph_belongs_to_the_key(monkeypatch):
    key = Keys(TOOLCHAIN).key(replace(MLP, implementation="xla"))
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    assert Keys(TOOLCHAIN).key(replace(MLP, implementation="xla")) != key


@pytest.mark.parametrize("known", [{}, {"jax": "0.6.2", "nki": "0.6.0"}])
def test_versions_belong_to_the_key_of_what_they_compile_and_absent_ones_say_so(monkeypatch, known):
    monkeypatch.setattr(keys_module, "version_of", known.get)
    xla, nki = replace(MLP, implementation="xla"), replace(MLP, implementation="nki")
    assert Keys(TOOLCHAIN).depends_on(xla)["jax"] == known.get("jax", "absent")
    assert not {"jax", "nki"} & {*Keys(TOOLCHAIN).depends_on(nki)}
    of_sdk = Keys(replace(TOOLCHAIN, name="neuron")).depends_on(nki)
    assert {name: of_sdk[name] for name in keys_module._SDK} == {
        name: known.get(name, "absent") for name in keys_module._SDK
    }
    assert "simulator" in Keys(TOOLCHAIN).depends_on(nki) and "simulator" not in of_sdk


def test_references_are_found_wherever_they_stand_in_an_argument():
    said = {
        "a": {"ref": "m:one", "args": [1, {"ref": "m:two"}]},
        "b": [({"ref": "m:three"},)],
        "c": {"ref": "no", "other": {"ref": "m:four"}},
    }
    assert list(keys_module._references(said)) == ["m:one", "m:two", "m:three", "m:four"]
    assert list(keys_module._references("m:one")) == []


@pytest.fixture
def key_in(tmp_path):
    """A function that computes the keys of `mlp` in a copy of the project, by implementation."""

    def run(copy):
        program = (
            "from neff_bench.stage1_generate.jobs.keys import Keys\n"
            "from neff_bench.stage1_generate.toolchains.find import Toolchain\n"
            "from neff_bench.neffs.case import Case\n"
            "keys = Keys(Toolchain('sim', None, False, False, False, False, True))\n"
            "dims = (('b', 1), ('s', 128), ('h', 1024), ('i', 512))\n"
            "print(*(keys.key(Case('mlp', name, dims, 'bfloat16', 'trn2', 2)) for name in ('nki', 'xla')))\n"
        )
        done = subprocess.run([sys.executable, "-c", program], cwd=copy, capture_output=True, text=True, check=True)
        return dict(zip(("nki", "xla"), done.stdout.split()))

    return run


@pytest.fixture
def project(tmp_path):
    """A copy of the packages that the keys look at."""
    root = Path(keys_module.__file__).resolve().parents[2]
    (tmp_path / "neff_bench").mkdir()
    for file in (root / "neff_bench").glob("*.py"):
        (tmp_path / "neff_bench" / file.name).write_bytes(file.read_bytes())
    for path in (root / "neff_bench").iterdir():
        if path.is_dir() and path.name != "__pycache__":
            copytree(path.resolve(), tmp_path / "neff_bench" / path.name, ignore=ignore_patterns("__pycache__"))
    return tmp_path


UNRELATED = [
    "stage1_generate/kernels/softmax_nki.py",
    "stage1_generate/kernels/exp_nki.py",
    "simulator/commands/explain.py",
    "simulator/commands/cli.py",
    "stage2_profile/cli.py",
    "neffs/store.py",
]


def comment(path):
    with path.open("a") as file:
        file.write("# a comment\n")


def test_files_that_the_compiler_does_not_import_rebuild_nothing(project, key_in):
    before = key_in(project)
    for file in UNRELATED:
        comment(project / "neff_bench" / file)
    assert key_in(project) == before


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("stage1_generate/kernels/tiles_nki.py", {"nki"}),
        ("stage1_generate/kernels/mlp_xla.py", {"xla"}),
        ("stage1_generate/kernels/mlp.py", {"nki", "xla"}),
        ("stage1_generate/jobs/tensors.py", {"nki", "xla"}),
        ("simulator/operations/matmul.py", {"nki", "xla"}),
        ("simulator/hlo/stage.py", {"xla"}),
        ("simulator/files/neff.py", {"nki", "xla"}),
    ],
)
def test_a_file_of_the_closure_rebuilds_what_is_compiled_with_it(project, key_in, file, changed):
    before = key_in(project)
    comment(project / "neff_bench" / file)
    after = key_in(project)
    assert {name for name in before if before[name] != after[name]} == changed


@pytest.mark.parametrize(("implementation", "framework"), [("nki", "NKI"), ("xla", "XLA")])
def test_the_key_covers_every_module_that_neuron_sim_loads_to_compile(tmp_path, implementation, framework):
    """The closure is computed; this compiles and looks."""
    if implementation == "xla":
        pytest.importorskip("jax")
        from neff_bench.stage1_generate.kernels.matmul_xla import matmul
        from neff_bench.stage1_generate.toolchains.xla import trace

        source = tmp_path / "graph.hlo"
        source.write_bytes(trace(matmul, [((128, 128), "bfloat16"), ((128, 128), "bfloat16")]))
    else:
        source = tmp_path / "kernel.json"
        source.write_text(
            '{"entry": "neff_bench.stage1_generate.kernels.matmul_nki:matmul", "inputs": '
            '[{"name": "lhs", "shape": [128, 128], "dtype": "bfloat16"}, {"name": "rhs", "shape": [128, 128], "dtype": "bfloat16"}]}'
        )
    program = (
        "import sys\n"
        "from neff_bench.simulator.commands.compile import compile_model\n"
        f"compile_model({str(source)!r}, {framework!r}, 'trn2', 2, {str(tmp_path / 'file.neff')!r})\n"
        "print(*(name for name, module in sys.modules.items()"
        " if name.startswith('neff_bench') and str(module.__file__).endswith('.py')))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if not name.startswith("neff_bench.stage1_generate")}
    assert len(loaded) > 30
    assert loaded <= set(Closures((IMPORT_ROOT,)).modules(_COMPILE, without=_not_for(implementation)))


X = Tensor("x", (1,), "int8")


@pytest.mark.parametrize(
    ("values", "reference", "found"),
    [
        (("normal", "a.py:f"), "r.py:g", ("a.py:f", "r.py:g")), (("a.py:f", "b.py:g"), None, ("a.py:f", "b.py:g")),
        (("normal",), None, ()), ((), "r.py:g", ("r.py:g",)),
    ],
)  # fmt: skip
def test_functions_that_make_inputs_and_references_are_helpers(values, reference, found):
    own = OwnKernel("k.py:f", tuple(replace(X, values=one) for one in values), reference=reference)
    assert keys_module._helpers(own) == found


def test_modules_that_hold_the_kernel_and_its_arguments_are_roots():
    one = Implementation("nki", "b.c:f", arguments=lambda d: {"kind": {"ref": "a.b:C.D"}, "size": d.n})
    assert keys_module._roots(one, Dims(n=1)) == ("a.b", "b.c")
    assert keys_module._roots(Implementation("nki", lambda d: f"m{d.n}:f"), Dims(n=7)) == ("m7",)


@pytest.mark.parametrize(
    ("root", "route", "has_jax", "found"),
    [
        ("k.m_xla", "xla", False, ["k.m_xla", "k.m_torch"]), ("k.m_xla", "xla", True, ["k.m_xla"]), ("k.m_xla", "nki", False, ["k.m_xla"]),
        ("k.m", "xla", False, ["k.m"]), ("/a/k.py", "xla", False, [Path("/a/k.py")]),
    ],
)  # fmt: skip
def test_the_torch_twin_of_a_jax_function_is_compiled_without_jax(root, route, has_jax, found):
    assert list(Keys(replace(TOOLCHAIN, has_jax=has_jax))._twins((root,), route)) == found


def test_of_a_simulator_what_only_graphs_need_counts_for_graphs_alone():
    assert set(_not_for("nki")) - set(_not_for("xla")) == {"neff_bench.simulator.hlo.lower"}
    assert set(_not_for("xla")) < set(_not_for("nki"))
