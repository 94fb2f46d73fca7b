"""Twenty mistakes of a kernel, each told with its line and without a reference; and that right kernels get no finding."""

import json
import subprocess
import sys

import numpy as np
import pytest

from neff_bench.neffs.findings import found
from neff_bench.simulator.errors import SimulatorError
from neff_bench.simulator.execution.execute import execute
from neff_bench.simulator.execution.findings import of_program
from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec

HEAD = """
import nki
import nki.isa as nisa
import nki.language as nl


def tile(x, rows=128, dtype=None):
    return nl.ndarray((rows, x.shape[1]), dtype=dtype or x.dtype, buffer=nl.sbuf)


@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
"""
LOAD = """
    t = tile(x)
    nisa.dma_copy(dst=t, src=x[0:128, :])
"""
STORE = """
    nisa.dma_copy(dst=out[0:128, :], src=t)
    nisa.dma_copy(dst=out[128:256, :], src=t)
"""
MISTAKES = {
    "an output that nothing writes": (
        "unwritten-output",
        """    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)  # here
""",
    ),
    "a tile that nothing wrote is stored": (
        "unwritten-read",
        """
    t = tile(x)
    nisa.dma_copy(dst=out[0:128, :], src=t)  # here
    nisa.dma_copy(dst=out[128:256, :], src=t)
""",
    ),
    "a sum starts from nothing": (
        "unwritten-read",
        LOAD
        + """
    total = tile(x)
    nisa.tensor_tensor(dst=total, data1=total, data2=t, op=nl.add)  # here
    t = total
"""
        + STORE,
    ),
    "a sum in a loop starts from nothing": (
        "unwritten-read",
        """
    t = tile(x)
    for i in range(2):
        part = tile(x)
        nisa.dma_copy(dst=part, src=x[i * 128 : (i + 1) * 128, :])
        nisa.tensor_tensor(dst=t, data1=t, data2=part, op=nl.add)  # here
"""
        + STORE,
    ),
    "a scale that nothing wrote": (
        "unwritten-read",
        LOAD
        + """
    scale = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=scale)  # here
"""
        + STORE,
    ),
    "half of a tile is loaded and all of it used": (
        "unwritten-read",
        """
    t = tile(x)
    nisa.dma_copy(dst=t[0:64, :], src=x[0:64, :])
    nisa.activation(dst=t, op=nl.copy, data=t)  # here
"""
        + STORE,
    ),
    "a bias that is written too late": (
        "unwritten-read",
        LOAD
        + """
    bias = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=t, op=nl.copy, data=t, bias=bias)  # here
    nisa.memset(dst=bias, value=0.0)
"""
        + STORE,
    ),
    "a comparison hides what nothing wrote": (
        "unwritten-read",
        LOAD
        + """
    other = tile(x)
    nisa.tensor_tensor(dst=t, data1=t, data2=other, op=nl.greater)  # here
"""
        + STORE,
    ),
    "scratch memory in HBM that nothing wrote": (
        "unwritten-read",
        """
    t = tile(x)
    scratch = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.private_hbm)
    nisa.dma_copy(dst=t, src=scratch[0:128, :])  # here
"""
        + STORE,
    ),
    "PSUM that nothing wrote": (
        "unwritten-read",
        """
    t = tile(x)
    product = nl.ndarray((128, x.shape[1]), dtype=nl.float32, buffer=nl.psum)
    nisa.tensor_copy(dst=t, src=product)  # here
"""
        + STORE,
    ),
    "the second half of the output": (
        "unwritten-output",
        LOAD
        + """
    nisa.dma_copy(dst=out[0:128, :], src=t)  # here
""",
    ),
    "the last columns of the output": (
        "unwritten-output",
        LOAD
        + """
    nisa.dma_copy(dst=out[0:128, 0:48], src=t[:, 0:48])  # here
    nisa.dma_copy(dst=out[128:256, :], src=t)
""",
    ),
    "a loop that forgets its index": (
        "unwritten-output",
        """
    for i in range(2):
        t = tile(x)
        nisa.dma_copy(dst=t, src=x[i * 128 : (i + 1) * 128, :])
        nisa.dma_copy(dst=out[0:128, :], src=t)  # here
""",
    ),
    "a loop with a wrong step": (
        "unwritten-output",
        LOAD
        + """
    for i in range(2):
        nisa.dma_copy(dst=out[i * 100 : i * 100 + 128, :], src=t)  # here
""",
    ),
    "every second row": (
        "unwritten-output",
        LOAD
        + """
    nisa.dma_copy(dst=out[0:256:2, :], src=t)  # here
""",
    ),
    "zero is divided by zero": (
        "not-finite",
        LOAD
        + """
    nisa.memset(dst=t, value=0.0)
    nisa.tensor_tensor(dst=t, data1=t, data2=t, op=nl.divide)  # here
"""
        + STORE,
    ),
    "the logarithm of what is negative": (
        "not-finite",
        LOAD
        + """
    nisa.memset(dst=t, value=-2.0)
    nisa.activation(dst=t, op=nl.log, data=t)  # here
"""
        + STORE,
    ),
    "exp without the largest value taken off": (
        "not-finite",
        LOAD
        + """
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=1000.0)
    nisa.activation(dst=t, op=nl.exp, data=t)  # here
"""
        + STORE,
    ),
    "one core reads what the other writes": (
        "race",
        LOAD
        + """
    scratch = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    me = nl.program_id(0)
    nisa.dma_copy(dst=scratch[me * 128 : (me + 1) * 128, :], src=t)  # here
    nisa.dma_copy(dst=t, src=scratch[(1 - me) * 128 : (2 - me) * 128, :])
    nisa.dma_copy(dst=out[me * 128 : (me + 1) * 128, :], src=t)
""",
    ),
    "both cores add to one output": (
        "race",
        LOAD
        + """
    me = nl.program_id(0)
    nisa.dma_copy(dst=out[me * 128 : (me + 1) * 128, :], src=t)  # here
    nisa.dma_copy(dst=t, src=out[0:128, :])
    nisa.dma_copy(dst=out[me * 128 : (me + 1) * 128, :], src=t)
""",
    ),
    "both cores do everything": (
        "doubled-work",
        LOAD
        + """
    nisa.dma_copy(dst=out[0:128, :], src=t)  # here
    nisa.dma_copy(dst=out[128:256, :], src=t)
""",
    ),
}
OF_TWO_CORES = ("race", "doubled-work")
REFUSED = {
    "a row behind the last": LOAD
    + """
    nisa.dma_copy(dst=out[192:320, :], src=t)  # here
""",
}
RIGHT = {
    "a tile loaded in part whose rest reaches no output": (
        1,
        """
    t = tile(x)
    nisa.dma_copy(dst=t[0:64, :], src=x[0:64, :])
    nisa.activation(dst=t, op=nl.copy, data=t)
    for i in range(4):
        nisa.dma_copy(dst=out[i * 64 : (i + 1) * 64, :], src=t[0:64, :])
""",
    ),
    "infinities that mask": (
        1,
        LOAD
        + """
    low = tile(x)
    nisa.memset(dst=low, value=-float("inf"))
    nisa.tensor_tensor(dst=t, data1=t, data2=low, op=nl.maximum)
"""
        + STORE,
    ),
    "both cores write a whole tensor, with the same values, and read back what they wrote": (
        2,
        LOAD
        + """
    scratch = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    me = nl.program_id(0)
    nisa.dma_copy(dst=scratch, src=t)
    nisa.dma_copy(dst=t, src=scratch)
    nisa.dma_copy(dst=out[me * 128 : (me + 1) * 128, :], src=t)
""",
    ),
    "two cores with a half each": (
        2,
        """
    t = tile(x)
    me = nl.program_id(0)
    nisa.dma_copy(dst=t, src=x[me * 128 : (me + 1) * 128, :])
    nisa.dma_copy(dst=out[me * 128 : (me + 1) * 128, :], src=t)
""",
    ),
}


@pytest.fixture
def record(tmp_path):
    def go(body, lnc=1):
        file = tmp_path / "mistake.py"
        file.write_text(f"{HEAD}{body}    return out\n")
        lines = file.read_text().splitlines()
        line = next((number for number, text in enumerate(lines, 1) if "# here" in text), None)
        spec = KernelSpec(f"{file}:kernel", (InputSpec("x", (256, 64), "float32"),))
        return line, lambda: trace_kernel(spec, "trn2", lnc)

    return go


def run(program):
    findings = []
    x = np.random.default_rng(0).standard_normal((256, 64)).astype(np.float32)
    execute(program, {"x": x}, findings)
    return findings


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_its_line(record, mistake):
    kind, body = MISTAKES[mistake]
    line, program = record(body, 2 if kind in OF_TWO_CORES else 1)
    places = [(finding.kind, finding.file.rpartition("/")[2], finding.line) for finding in run(program())]
    assert (kind, "mistake.py", line) in places
    assert len(places) == len(set(places)) <= 2


@pytest.mark.parametrize(("factor", "kind"), [("1", "race"), ("0", "doubled-work")])
def test_cores_that_write_different_values_into_one_place_race(record, factor, kind):
    body = f"""{LOAD}
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=1.0 + {factor} * nl.program_id(0))
    nisa.dma_copy(dst=out[0:128, :], src=t)
    nisa.dma_copy(dst=out[128:256, :], src=t)
"""
    _, program = record(body, 2)
    assert [finding.kind for finding in run(program())] == [kind]


def test_cores_that_meet_between_two_writes_do_not_race(record):
    body = """
    t = tile(x)
    me = nl.program_id(0)
    nisa.dma_copy(dst=t, src=x[me * 128 : (me + 1) * 128, :])
    nisa.dma_copy(dst=out[me * 128 : (me + 1) * 128, :], src=t)
    BARRIER
    nisa.dma_copy(dst=out[(1 - me) * 128 : (2 - me) * 128, :], src=t)  # here
"""
    found = {}
    for barrier in ("", "nisa.core_barrier(out, (0, 1))"):
        line, program = record(body.replace("BARRIER", barrier), 2)
        found[barrier] = [(finding.kind, finding.line) for finding in run(program())]
    assert found == {"": [("race", line)], "nisa.core_barrier(out, (0, 1))": []}


@pytest.mark.parametrize("mistake", [name for name, (kind, _) in MISTAKES.items() if kind != "not-finite"])
def test_recording_alone_tells_what_does_not_depend_on_values(record, mistake):
    kind, body = MISTAKES[mistake]
    line, program = record(body, 2 if kind in OF_TWO_CORES else 1)
    told = [(finding.kind, finding.line) for finding in of_program(program())]
    # What of a tile reaches an output only an execution knows.
    assert ((kind, line) in told) == (mistake != "half of a tile is loaded and all of it used")


@pytest.mark.parametrize("mistake", REFUSED)
def test_what_cannot_run_is_refused_at_its_line(record, mistake):
    line, program = record(REFUSED[mistake])
    with pytest.raises(SimulatorError, match=rf"mistake.py:{line}: "):
        run(program())


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_gets_no_finding(record, name):
    lnc, body = RIGHT[name]
    _, program = record(body, lnc)
    assert run(program()) == of_program(program()) == []


def test_rows_that_were_never_written_are_counted(record):
    _, program = record(MISTAKES["a loop with a wrong step"][1])
    assert [finding.text for finding in of_program(program())] == ["28 of 256 rows of output0 were never written"]
    _, program = record(MISTAKES["the last columns of the output"][1])
    assert of_program(program())[0].text == "2048 of 16384 values of output0 in 128 of 256 rows were never written"


def test_a_place_that_is_no_line_is_kept_as_it_is():
    assert (
        str(found("not-finite", "1 value is NaN", "%dot.3 = dot(%p0, %p1)"))
        == "1 value is NaN (%dot.3 = dot(%p0, %p1))"
    )
    assert str(found("not-finite", "1 value is NaN", None)) == "1 value is NaN"


def test_compile_tells_what_the_program_shows(tmp_path):
    body = MISTAKES["the second half of the output"][1]
    (tmp_path / "mistake.py").write_text(f"{HEAD}{body}    return out\n")
    inputs = [{"name": "x", "shape": [256, 64], "dtype": "float32"}]
    (tmp_path / "kernel.json").write_text(json.dumps({"entry": "mistake.py:kernel", "inputs": inputs}))
    words = ["compile", "--framework", "NKI", str(tmp_path / "kernel.json"), "--target", "trn2", "--lnc", "1"]
    command = [sys.executable, "-m", "neff_bench.simulator", *words, "--output", str(tmp_path / "file.neff")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "128 of 256 rows of output0 were never written (mistake.py:" in done.stderr
