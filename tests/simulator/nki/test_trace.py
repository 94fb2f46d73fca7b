"""Tracing whole kernels: programs that come out are the ones that hardware ran."""

from collections import Counter
from math import prod
from pathlib import Path

import pytest

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator import program
from neff_bench.simulator.errors import KernelError, NkiValidationError, SpecError
from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec, decode_spec

MATMUL = '''
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def matmul(lhsT, rhs):
    K, M = lhsT.shape
    _, N = rhs.shape
    result = nl.ndarray((M, N), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    total = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.psum)
    for k in nl.affine_range(K // 128):
        left = nl.ndarray((128, M), dtype=lhsT.dtype, buffer=nl.sbuf)
        right = nl.ndarray((128, N), dtype=rhs.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=left, src=lhsT[k * 128 : (k + 1) * 128, :])
        nisa.dma_copy(dst=right, src=rhs[k * 128 : (k + 1) * 128, :])
        nisa.nc_matmul(dst=total, stationary=left, moving=right)
    sums = nl.ndarray((M, N), dtype=lhsT.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=sums, src=total)
    nisa.dma_copy(dst=result, src=sums)
    return result
'''


def trace_source(tmp_path: Path, source: str, entry: str, inputs, lnc: int = 1, target: str = "trn2", **arguments):
    file = tmp_path / f"kernel_{abs(hash((source, entry)))}.py"
    file.write_text(source)
    given = tuple(InputSpec(*item) for item in inputs)
    return trace_kernel(KernelSpec(entry=f"{file}:{entry}", inputs=given, arguments=arguments), target, lnc)


def counts(made: program.Program) -> Counter:
    return Counter((step.op, step.engine) for core in made.cores for step in core)


def hbm_bytes(made: program.Program) -> tuple[int, int]:
    """Bytes that dma_copy reads from and writes to HBM."""

    def moved(operand: program.Access) -> int:
        if made.buffers[operand.buffer].memory != "hbm":
            return 0
        return prod(operand.shape) * SIZE_BYTES[operand.dtype]

    steps = [step for core in made.cores for step in core if step.op == "dma_copy"]
    return sum(moved(step.reads["src"]) for step in steps), sum(moved(step.writes["dst"]) for step in steps)


def test_matmul_records_its_instructions_operands_and_lines(tmp_path):
    made = trace_source(tmp_path, MATMUL, "matmul", [("lhsT", (256, 64), "bfloat16"), ("rhs", (256, 512), "bfloat16")])
    assert [step.op for step in made.cores[0]] == [
        *("dma_copy", "dma_copy", "nc_matmul") * 2,
        "tensor_copy",
        "dma_copy",
    ]
    second = made.cores[0][3]
    assert second.reads["src"].offset == 128 * 64
    assert second.reads["src"].pattern == ((64, 128), (1, 64))
    assert made.sources[second.source].endswith(".py:16")
    assert [made.buffers[at].name for at in made.inputs] == ["lhsT", "rhs"]
    assert [(made.buffers[at].name, made.buffers[at].shape) for at in made.outputs] == [("output0", (64, 512))]
    assert program.decode(program.encode(made)) == made


def test_two_cores_share_hbm_and_nothing_else(tmp_path):
    source = '''
import nki, nki.isa as nisa, nki.language as nl

@nki.jit
def half(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows = x.shape[0] // nl.num_programs(0)
    start = nl.program_id(0) * rows
    tile = nl.ndarray((rows, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[nl.ds(start, rows), :])
    nisa.core_barrier(out, cores=(0, 1))
    nisa.dma_copy(dst=out[nl.ds(start, rows), :], src=tile)
    return out
'''
    made = trace_source(tmp_path, source, "half", [("x", (128, 16), "float32")], lnc=2)
    first, second = made.cores
    assert [step.writes["dst"].buffer for step in (first[2], second[2])] == [made.outputs[0]] * 2
    assert first[0].writes["dst"].buffer != second[0].writes["dst"].buffer
    assert [made.buffers[core[0].writes["dst"].buffer].core for core in made.cores] == [0, 1]
    assert first[1].attributes == second[1].attributes == {"cores": [0, 1], "sync": 0}


def test_cores_that_do_not_meet_are_an_error(tmp_path):
    source = '''
import nki, nki.isa as nisa, nki.language as nl

@nki.jit
def lonely(x):
    if nl.program_id(0) == 0:
        nisa.core_barrier(x, cores=(0, 1))
    return x
'''
    with pytest.raises(KernelError, match=r"py:7: only core 0 reaches this core_barrier"):
        trace_source(tmp_path, source, "lonely", [("x", (128, 16), "float32")], lnc=2)


@pytest.mark.parametrize(
    ("body", "error", "text"),
    [
        ("nl.ndarray((129, 4), dtype=nl.float32, buffer=nl.sbuf)", NkiValidationError, "129 partitions"),
        ("x[0:128, 0:17]", NkiValidationError, "outside"),
        ("nl.ndarray((128, 4097), dtype=nl.float32, buffer=nl.psum)", NkiValidationError, "16384"),
        ("nisa.nc_matmul(x, x, x)", NkiValidationError, "SBUF"),
        ("nisa.tensor_copy(dst=x, src=x)", NkiValidationError, "HBM"),
        ("nl.while_loop('x', print)", NkiValidationError, "bounded by numbers and registers"),
        ("nisa.dma_copy(dst=x[0:64, :], src=x)", NkiValidationError, "elements"),
        ("nisa.dma_copy(x, x.ap([[16, 128], [1, 17]])[:, 1:17])", NkiValidationError, "reaches element"),
    ],
)
def test_a_broken_rule_names_the_line_of_the_kernel(tmp_path, body, error, text):
    source = f"import nki, nki.isa as nisa, nki.language as nl\n\n@nki.jit\ndef bad(x):\n    {body}\n    return x\n"
    with pytest.raises(error, match=rf"\.py:5: .*{text}"):
        trace_source(tmp_path, source, "bad", [("x", (128, 16), "float32")])


def test_an_assert_of_the_kernel_is_its_message(tmp_path):
    source = "import nki\n\n@nki.jit\ndef bad(x):\n    assert x.shape[0] == 64, 'rows must be 64'\n"
    with pytest.raises(KernelError, match=r"\.py:5: rows must be 64$"):
        trace_source(tmp_path, source, "bad", [("x", (128, 16), "float32")])


def test_a_missing_entry_is_a_spec_error(tmp_path):
    with pytest.raises(SpecError, match="no function 'nothing'"):
        trace_source(tmp_path, MATMUL, "nothing", [])


def test_spec_paths_are_relative_to_the_file(tmp_path):
    spec = decode_spec(b'{"entry": "kernels/a.py:f", "path": ["lib"], "inputs": []}', tmp_path)
    assert spec.entry == f"{tmp_path / 'kernels/a.py'}:f"
    assert spec.path == (str(tmp_path / "lib"),)


@pytest.mark.parametrize(
    "text", [b"{", b'{"entry": "a:f", "inputs": [{"name": "x", "shape": [0], "dtype": "float32"}]}', b'{"entry": "a"}']
)
def test_a_bad_spec_is_one_error(tmp_path, text):
    with pytest.raises(SpecError):
        decode_spec(text, tmp_path)


def mlp(checkout: Path, sequence: int) -> program.Program:
    shapes = {
        "hidden_tensor": (1, sequence, 1024),
        "gate_proj_weights_tensor": (1024, 512),
        "up_proj_weights_tensor": (1024, 512),
        "down_proj_weights_tensor": (512, 1024),
    }
    spec = KernelSpec(
        entry="nkilib_src.nkilib.core.mlp.mlp:mlp",
        inputs=tuple(InputSpec(name, shape, "bfloat16") for name, shape in shapes.items()),
        path=(str(checkout / "src"),),
    )
    return trace_kernel(spec, "trn2", 2)


def test_mlp_of_nki_library_has_the_instructions_that_hardware_counted(nki_library):
    made = mlp(nki_library, 128)
    count = counts(made)
    assert count["nc_matmul", "tensor"] == 48
    assert count["nc_transpose", "tensor"] == 24
    assert hbm_bytes(made) == (6_553_600, 262_144)


def test_mlp_for_one_token_takes_the_other_kernel(nki_library):
    made = mlp(nki_library, 1)
    count = counts(made)
    assert count["nc_matmul", "tensor"] + count["nc_transpose", "tensor"] == 32
    assert count["sendrecv", "sync"] == 4
    assert hbm_bytes(made) == (3_147_776, 2_048)


def test_private_hbm_that_both_cores_return_is_one_tensor(tmp_path):
    source = '''
import nki, nki.isa as nisa, nki.language as nl

@nki.jit
def halves(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.hbm)
    tile = nl.ndarray((64, 16), dtype=x.dtype)
    rows = nl.ds(nl.program_id(0) * 64, 64)
    nisa.dma_copy(dst=tile, src=x[rows, :])
    nisa.dma_copy(dst=out[rows, :], src=tile)
    return out
'''
    made = trace_source(tmp_path, source, "halves", [("x", (128, 16), "float32")], lnc=2)
    assert [core[1].writes["dst"].buffer for core in made.cores] == [made.outputs[0]] * 2
    assert made.buffers[made.outputs[0]].core is None


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("def bad(x:", r"\.py:1: SyntaxError"),
        ("import nothing_of_this_name", r"\.py:1: cannot import: ModuleNotFoundError"),
        ("import sys\nsys.exit(3)", r"\.py:2: cannot import: SystemExit"),
        (
            "import nki\n@nki.jit\ndef bad(x):\n    return nki.isa.nothing(x)",
            r"\.py:4: .*nki\.isa has no 'nothing'",
        ),
        ("import sys\ndef bad(x):\n    sys.exit(3)", r"\.py:3: SystemExit"),
        ("def bad(x):\n    return 3", r"\.py:1: a kernel returns tensors, not int"),
        (
            "import nki.language as nl\ndef bad(x):\n    return nl.ndarray((1, 1), nl.int8)",
            r"\.py:2: result 0 is in sbuf",
        ),
        ("def bad(x):\n    return x[0:2]\n", r"\.py:1: result 0 is a part of a tensor"),
    ],
)
def test_a_kernel_that_fails_says_where(tmp_path, text, error):
    with pytest.raises((KernelError, SpecError), match=error):
        trace_source(tmp_path, text, "bad", [("x", (4, 4), "float32")])


def test_a_module_that_cannot_be_imported_says_where(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "breaks_off.py").write_text("def bad(x:")
    with pytest.raises(SpecError, match=r"breaks_off\.py:1: SyntaxError"):
        trace_kernel(KernelSpec(entry="breaks_off:bad", inputs=(InputSpec("x", (4, 4), "float32"),)), "trn2", 1)


def test_a_program_names_no_folder_of_the_machine(tmp_path):
    kernel = tmp_path / "away" / "kernel.py"
    kernel.parent.mkdir()
    kernel.write_text(
        "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n@nki.jit\ndef copy(x):\n"
        "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    nisa.dma_copy(dst=out, src=x)\n    return out\n"
    )
    spec = KernelSpec(entry=f"{kernel}:copy", inputs=(InputSpec("x", (4, 4), "float32"),))
    recorded = trace_kernel(spec, "trn2", 1)
    assert recorded.sources[recorded.cores[0][0].source] == "kernel.py:9"
    assert str(tmp_path) not in program.encode(recorded).decode("latin-1")
