"""Every operation is declared once, whole, and in one file."""

import inspect
import shutil
import subprocess
import sys

import pytest

from neff_bench.chips import CHIPS
from neff_bench.installation import PACKAGE
from neff_bench.parsers.formats.opcodes import NAMES, OPCODES
from neff_bench.simulator.costs.engine_work import engine_work
from neff_bench.simulator.costs.table import ANY, DMA, TABLES
from neff_bench.simulator.nki import collectives, isa
from neff_bench.simulator.operations import FUNCTIONS, OPERATIONS
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.program import Access, Buffer, Instruction, Program

NEVER_RUN = {"topk"}
"""Recorded and timed, but their results are not known."""

FROM_V4 = {"activate2", "exponential", "nc_matmul_mx", "quantize_mx"}
"""Operations that NeuronCore-v4 brings."""

NOT_OFFERED = {"compare_branch"}
"""Recorded for a loop, and no function of `nki.isa`."""

NEW = """
from neff_bench.simulator.costs.engine_work import engine_work
from neff_bench.simulator.costs.table import on_vector
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.recorder import NkiInstruction, emit
from neff_bench.simulator.recording.tensor import NkiTensor, access


def _double(o: Operands) -> None:
    o.write("dst", o.float32("src") * 2)


@operation(execute=_double, cost=engine_work(), opcode="CUSTOM_OP", rows=on_vector("double", 4.0, "a test"))
def double(dst: NkiTensor, src: NkiTensor, name: str | None = None) -> NkiInstruction:
    check.on_chip("double", dst=dst, src=src)
    return emit("double", "vector", {"dst": access(dst)}, {"src": access(src)}, {})
"""

USE = """
import numpy as np
import nki, nki.isa as nisa, nki.language as nl
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record
from neff_bench.simulator.timing.schedule import schedule

def kernel(x):
    out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
    tile, twice = nl.load(x), nl.ndarray(x.shape, x.dtype)
    nisa.double(twice, tile)
    nl.store(out, twice)
    return out

x = np.ones((128, 64), np.float32)
print(nki.simulate(kernel)(x).sum(), schedule(record(Call(kernel, "k", [InputSpec("x", x.shape, "float32")]), "trn2", 1)).total_ns > 0)
"""


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_an_operation_is_recorded_executed_costed_and_named(name):
    found = OPERATIONS[name]
    if name not in NOT_OFFERED:
        between_ranks = name in vars(collectives)
        assert vars(collectives if between_ranks else isa)[name] is found.record
        assert FUNCTIONS.get(name) is (None if between_ranks else found.record)
    assert inspect.getdoc(found.record)
    assert found.opcodes and set(found.opcodes) <= set(NAMES)
    assert (found.execute is None and not found.waits) == (name in NEVER_RUN)


@pytest.mark.parametrize("target", sorted(CHIPS))
@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_an_operation_costs_something_on_every_engine_of_every_chip(name, target):
    chip = CHIPS[target]
    rows = [row for row in TABLES[chip.generation] if row.operation == name]
    assert bool(rows) == (name not in FROM_V4 or chip.generation >= 4)
    buffers = (
        Buffer("a", "sbuf", (128, 128), "bfloat16", "internal"),
        Buffer("p", "psum", (128, 128), "float32", "internal"),
    )
    a, p = (Access(index, 0, ((128, 128), (1, 128)), buffer.dtype) for index, buffer in enumerate(buffers))
    reads = dict.fromkeys(("stationary", "moving") if name.startswith("nc_matmul") else ("src", "data"), a)
    for engine in {"sync" if row.engine in (ANY, DMA) else row.engine for row in rows}:
        instruction = Instruction(name, engine, {"dst": p}, reads, {"groups": [[0, 1]]})
        program = Program("p", target, 1, buffers, (), (), ((instruction,),))
        lowered = OPERATIONS[name].lower(instruction, program, chip)
        assert lowered.busy_ns > 0 and lowered.result_ns > 0
        assert {step.opcode for step in lowered.steps} <= {*OPERATIONS[name].opcodes, OPCODES["WRITE"]}


def declare(**changed):
    def new(dst): ...

    return operation(**{"execute": None, "cost": engine_work(), "opcode": "CUSTOM_OP"} | changed)(new)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"cost": None}, "operation new: a cost is missing"),
        ({"opcode": "NEW"}, r"operation new: opcode \['NEW'\]"),
        ({"opcode": ()}, "operation new: opcode missing"),
    ],
)
def test_a_declaration_without_a_cost_or_an_opcode_is_refused(changed, error):
    with pytest.raises(ValueError, match=error):
        declare(**changed)
    assert "new" not in OPERATIONS and "new" not in FUNCTIONS


@pytest.mark.parametrize("missing", ["cost", "opcode", "execute"])
def test_a_declaration_says_everything(missing):
    fields = {"execute": None, "cost": engine_work(), "opcode": "CUSTOM_OP"}
    del fields[missing]
    with pytest.raises(TypeError, match=missing):
        operation(**fields)


def test_a_name_is_declared_once():
    def max8(dst): ...

    with pytest.raises(ValueError, match="max8 is declared twice"):
        operation(execute=None, cost=engine_work(), opcode="MAX8")(max8)


def test_an_operation_is_added_with_one_file(tmp_path):
    ignore = shutil.ignore_patterns("__pycache__", "node_modules")
    shutil.copytree(PACKAGE, tmp_path / PACKAGE.name, ignore=ignore)
    (tmp_path / PACKAGE.name / "simulator/operations/double.py").write_text(NEW)
    use = "from neff_bench.simulator.nki.install import install; install()" + USE
    done = subprocess.run([sys.executable, "-c", use], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split() == ["16384.0", "True"], done.stderr
