import sys

import pytest

from neff_bench.stage1_generate.errors import ToolchainError
from neff_bench.stage1_generate.toolchains import find
from neff_bench.stage1_generate.toolchains.find import Toolchain, choose, find_nkilib, nkilib_version


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Make an importable package with the given modules and nothing else of the SDK."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("NKILIB_PATH", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("nki", "neuronxcc"):  # the embedded one, when another test loaded it
        monkeypatch.delitem(sys.modules, name, raising=False)

    def make(name, *modules):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").write_text("raise ImportError('looking must not import')")
        for module in modules:
            (folder / f"{module}.py").touch()

    return make


def test_an_empty_placeholder_is_not_the_sdk(package):
    package("nki")
    package("neuronxcc")
    chosen = choose("auto", None)
    assert (chosen.name, chosen.has_nki, chosen.has_neuronxcc) == ("sim", False, False)
    with pytest.raises(ToolchainError, match="neither nki"):
        choose("neuron", None)


def test_nki_with_its_isa_is_the_sdk(package):
    package("nki", "isa")
    assert choose("auto", None).name == "neuron"
    assert choose("sim", None).name == "sim"


def test_the_compiler_command_is_the_sdk(package, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "neuronx-cc").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "neuronx-cc").chmod(0o755)
    chosen = choose("auto", None)
    assert (chosen.name, chosen.has_nki, chosen.has_neuronx_cc) == ("neuron", False, True)


@pytest.mark.parametrize("part", ["", "src", "src/nkilib_src"])
def test_nkilib_is_found_from_the_checkout_and_from_inside_it(tmp_path, part):
    (tmp_path / "src" / "nkilib_src" / "nkilib").mkdir(parents=True)
    assert find_nkilib(tmp_path / part, {}) == tmp_path / "src"
    assert find_nkilib(None, {"NKILIB_PATH": str(tmp_path / part)}) == tmp_path / "src"


def test_a_wrong_path_is_named(tmp_path):
    with pytest.raises(ToolchainError, match="--nkilib: .* is no checkout"):
        find_nkilib(tmp_path, {})
    with pytest.raises(ToolchainError, match="NKILIB_PATH: .* is no checkout"):
        find_nkilib(None, {"NKILIB_PATH": str(tmp_path)})


def test_the_version_of_a_checkout_is_its_commit(tmp_path):
    git = tmp_path / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "packed-refs").write_text("# pack-refs\nabc123 refs/heads/main\n")
    assert nkilib_version(tmp_path / "src") == "abc123"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "refs" / "heads" / "main").write_text("def456\n")
    assert nkilib_version(tmp_path / "src") == "def456"
    (git / "HEAD").write_text("0123\n")
    assert nkilib_version(tmp_path / "src") == "0123"


def test_without_git_it_is_what_the_library_says(tmp_path):
    assert nkilib_version(tmp_path) is None
    said = tmp_path / "nkilib_src" / "nkilib" / "version"
    said.mkdir(parents=True)
    (said / "__init__.py").write_text("__version__ = '0.1.0+gd4920de'\n")
    assert nkilib_version(tmp_path) == "0.1.0+gd4920de"


@pytest.mark.parametrize(
    ("name", "jax", "torch_neuronx", "compiler", "says"),
    [
        ("sim", False, True, True, "needs jax"),
        ("sim", True, False, False, None),
        ("neuron", False, True, False, None),
        ("neuron", False, False, True, "needs jax"),
        ("neuron", True, False, False, "needs the command neuronx-cc"),
        ("neuron", True, False, True, None),
    ],
)
def test_a_jax_function_needs_something_that_traces_and_something_that_compiles(
    name, jax, torch_neuronx, compiler, says
):
    chain = Toolchain(name, None, True, compiler, True, torch_neuronx, jax)
    assert (chain.lacks((), "xla") or "").startswith(says or "") and (chain.lacks((), "xla") is None) == (says is None)


CLOSED = "needs the AWS Neuron SDK with torch-neuronx (closed kernel of neuronx-cc)"


@pytest.mark.parametrize(
    ("name", "has", "needs", "route", "says"),
    [
        ("neuron", {"neuronxcc", "torch_neuronx"}, ("neuronxcc",), "isa", None), ("neuron", {"neuronxcc"}, ("neuronxcc",), "isa", CLOSED),
        ("neuron", {"torch_neuronx"}, ("neuronxcc",), "isa", CLOSED), ("sim", {"neuronxcc", "torch_neuronx"}, ("neuronxcc",), "isa", CLOSED),
        ("sim", {"nkilib"}, ("nkilib",), "nki", None), ("sim", set(), ("nkilib",), "nki", "needs nki-library: give --nkilib PATH"),
        ("neuron", {"nki"}, ("nkilib",), "nki", "needs nki-library: give --nkilib PATH"), ("sim", set(), (), "nki", None),
        ("neuron", set(), (), "nki", "needs the nki package of the AWS Neuron SDK"), ("neuron", {"nki"}, (), "nki", None),
        ("neuron", {"jax", "neuronx_cc"}, (), "xla", None), ("sim", {"jax"}, (), "xla", None),
    ],
)  # fmt: skip
def test_what_a_kernel_needs_and_is_not_here_is_told(name, has, needs, route, says):
    parts = ("nki", "neuronx_cc", "neuronxcc", "torch_neuronx", "jax")
    chain = Toolchain(name, "/lib" if "nkilib" in has else None, *(part in has for part in parts))
    told = chain.lacks(needs, route)
    assert told is None if says is None else told.startswith(says)


def test_the_commit_of_a_work_tree_is_that_of_its_branch_in_the_repository(tmp_path):
    common, tree = tmp_path / "repository" / ".git", tmp_path / "tree"
    inside = common / "worktrees" / "tree"
    for folder in (inside, tree, common / "refs" / "heads"):
        folder.mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {inside}\n")
    (inside / "HEAD").write_text("ref: refs/heads/side\n")
    (inside / "commondir").write_text("../..\n")
    assert nkilib_version(tree / "src") is None
    (common / "refs" / "heads" / "side").write_text("abc\n")
    assert nkilib_version(tree / "src") == nkilib_version(tree) == "abc"
    (inside / "HEAD").write_bytes(b"\xff")
    assert nkilib_version(tree) is None


def test_a_library_beside_the_project_is_found_and_then_one_that_is_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(find, "IMPORT_ROOT", tmp_path / "project")
    monkeypatch.setattr(find, "module_folder", lambda *names: tmp_path / "site" / names[0])
    assert find_nkilib(None, {}) == tmp_path / "site" and find_nkilib(None, {"NKILIB_PATH": ""}) == tmp_path / "site"
    (tmp_path / "src" / "nkilib_src" / "nkilib").mkdir(parents=True)
    assert find_nkilib(None, {}) == tmp_path / "src"
    monkeypatch.setattr(find, "module_folder", lambda *names: None)
    monkeypatch.setattr(find, "IMPORT_ROOT", tmp_path)
    assert find_nkilib(None, {}) is None
    with pytest.raises(ToolchainError, match=f"^--nkilib: {tmp_path / 'none'} is no checkout"):
        find_nkilib(tmp_path / "none", {"NKILIB_PATH": str(tmp_path)})
