"""What `torch_neuronx.trace` is given, and what is made of what it leaves."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.kernel import Tensor
from neff_bench.stage1_generate.toolchains.compiled import Request
from neff_bench.stage1_generate.toolchains.neuron import torch_trace

INPUTS = Tensor("x", (2,), "bfloat16"), Tensor("w", (3,), "float32")


def request(target="trn2", lnc=1, flags=(), arguments=None):
    outputs = (Tensor("out", (4, 5), "float32"),)
    return Request("isa", "m:kernel", INPUTS, outputs, arguments or {}, (), target, lnc, flags)


@pytest.fixture
def traced(tmp_path, monkeypatch):
    """A function that compiles with stand-ins for torch and torch_neuronx; returns what they were given. `left`: what the trace leaves behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch_trace, "versions", dict)

    def zeros(shape, dtype, device="here"):
        return SimpleNamespace(shape=shape, dtype=dtype, device=device)

    torch = SimpleNamespace(zeros=zeros, bfloat16="bf16", float32="f32")
    monkeypatch.setitem(sys.modules, "torch", torch)

    def call(compile, request, left=("a/graph.neff",)):
        given = SimpleNamespace(launched=[], grids=[])

        class Kernel:
            def __call__(self, *inputs, **arguments):
                given.launched.append((inputs, arguments))

            def __getitem__(self, grid):
                given.grids.append(grid)
                return self

        def trace(function, inputs, compiler_workdir, compiler_args, cpu_backend=False):
            given.function, given.inputs, given.words, given.on_cpu = function, inputs, compiler_args, cpu_backend
            for name in left:
                (Path(compiler_workdir) / name).parent.mkdir(parents=True, exist_ok=True)
                (Path(compiler_workdir) / name).write_text("neuronx-cc compile x")

        stand_ins = {
            "torch_neuronx:trace": trace, "torch_neuronx.xla_impl.ops:nki_jit": lambda: lambda kernel: kernel,
            "m:kernel": Kernel(), "neuronxcc.nki.language:nc": lambda lnc: f"{lnc} cores", "k_torch:f": "the twin",
        }  # fmt: skip
        monkeypatch.setattr(torch_trace, "resolve", stand_ins.__getitem__)
        given.compiled = compile(request)
        return given

    return call


def test_a_closed_kernel_fills_an_output_of_the_type_and_place_of_its_first_input(traced):
    given = traced(torch_trace.compile_isa, request(arguments={"eps": 1.0}))
    assert [(one.shape, one.dtype) for one in given.inputs] == [((2,), "bf16"), ((3,), "f32")]
    given.inputs[0].device, given.inputs[1].device = "first", "second"
    out = given.function(*given.inputs)
    assert (out.shape, out.dtype, out.device) == ((4, 5), "bf16", "first")
    assert given.launched == [((*given.inputs, out), {"eps": 1.0})] and given.grids == []
    assert given.compiled.command == ()


@pytest.mark.parametrize(
    ("target", "lnc", "words", "grids"),
    [
        ("trn2", 2, ["--target", "trn2", "--lnc", "2", "-O1"], [("2 cores",)]), ("trn2", 1, ["--target", "trn2", "--lnc", "1", "-O1"], []),
        ("trn1", 1, ["--target", "trn1", "-O1"], []),
    ],
)  # fmt: skip
def test_the_compiler_is_told_the_target_and_the_cores_where_it_knows_them(traced, target, lnc, words, grids):
    given = traced(torch_trace.compile_isa, request(target, lnc, ("-O1",)))
    assert given.words == words and given.grids == grids and given.on_cpu is True


def test_the_torch_twin_of_a_jax_function_is_traced_and_what_it_leaves_is_kept(traced, tmp_path, monkeypatch):
    asked = Request("xla", "k_xla:f", INPUTS, None, {}, (), "trn2", 1, ())
    monkeypatch.setattr(torch_trace.time, "perf_counter", iter([10.0, 12.5]).__next__)
    given = traced(torch_trace.compile_xla, asked, ("a/graph.neff", "command.txt", "model/graph.hlo"))
    assert (given.function, given.compiled.neff, given.compiled.time_s) == ("the twin", "graph.neff", 2.5)
    assert given.compiled.command == ("neuronx-cc", "compile", "x")
    assert (tmp_path / "graph.neff").is_file() and (tmp_path / "model" / "graph.hlo").is_file()


@pytest.mark.parametrize("left", [(), ("a/graph.neff", "b/graph.neff")])
def test_there_must_be_one_neff(traced, left):
    with pytest.raises(BuildError, match=f"left {len(left)} NEFFs instead of one"):
        traced(torch_trace.compile_isa, request(), left)
