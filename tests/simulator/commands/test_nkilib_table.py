"""The table of nki-library's tests, on a small tree that has what theirs has: their options, their kernels, their kinds of failure."""

import pytest

from neff_bench.simulator.commands import nkilib_tests
from neff_bench.simulator.commands.nkilib_table import Line, files_of, lines_of, markdown
from neff_bench.simulator.errors import SimulatorError

CONFTEST = """
def pytest_addoption(parser):
    for name in ("--test-mode", "--output-directory"):
        parser.addoption(name)
    parser.addoption("--force-local-cleanup", action="store_true")
"""
KERNEL = "def kernel(x):\n    assert x < 3, f'x is {x}, at most 2'\n"
TESTS = """
import pytest
from neff_bench.simulator.errors import SimulatorError
from src.nkilib_src.kernel import kernel


@pytest.mark.parametrize("x", range(5))
def test_kernel(x):
    kernel(x)


def test_refused():
    raise SimulatorError("nki.isa.iota takes 3 arguments")


def test_failed():
    raise ValueError("off by 7 of 12")


def test_slow():
    pytest.skip("slow")


@pytest.mark.skip(reason="large")
def test_large():
    raise MemoryError


@pytest.mark.xfail
def test_known():
    raise KeyError("their own")
"""

PREPARED = """
import subprocess
import numpy as np
import pytest
import subject
from src.nkilib_src.kernel_torch import reference
from test.utils.test_orchestrator import run


def inputs(scale):
    assert isinstance(scale, float), f"no scale: {scale}"


def compare(made):
    assert made == 1, f"{made} is wrong"


def test_of_inputs():
    inputs(None)


def test_of_a_reference():
    reference([1, 2], [3])


def test_of_what_the_harness_calls():
    run(lambda: compare(2))


def test_of_a_result():
    assert subject.made() == 1


def test_of_our_own_error():
    subject.call(lambda: inputs(None))


def test_of_a_program():
    subprocess.run(["no-such-program"])


def test_of_a_file():
    open("no-such-file")


def test_of_another_release():
    np.no_such_function()


def test_of_a_name_of_ours():
    subject.no_such_name


def large():
    np.ones((10**7, 10**8))


def test_of_memory():
    try:
        large()
    finally:
        assert False


def test_of_our_memory():
    subject.call(large)


def test_of_the_memory_of_torch():
    raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes")
"""
SUBJECT = """
def made():
    return 2


def call(function):
    function()
"""


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "test/unit").mkdir(parents=True)
    (tmp_path / "src/nkilib_src").mkdir(parents=True)
    (tmp_path / "test/conftest.py").write_text(CONFTEST)
    (tmp_path / "src/nkilib_src/kernel.py").write_text(KERNEL)
    (tmp_path / "test/unit/test_all.py").write_text(TESTS)
    (tmp_path / "test/unit/test_private.py").write_text("from test.utils import x_private\n")
    return tmp_path


def table(checkout, sample=0, timeout_s=60):
    command = [*nkilib_tests._PYTEST, "-p", "neff_bench.simulator.nki.nkilib_outcomes", "-q"]
    environment = nkilib_tests.environment(checkout, False, 0)
    files = files_of(checkout, ["test/unit"])
    return {line.file: line for line in lines_of(checkout, files, environment, command, sample, timeout_s)}


def test_each_test_is_counted_once_under_whose_fault_it_is(checkout):
    found = table(checkout)
    line = found["test/unit/test_all.py"]
    assert line.cells[:-1] == (10, 2, 8, 3, 1, 1, 3)
    assert dict(line.causes) == {
        ("refused", "SimulatorError: nki.isa.iota takes N arguments"): 1,
        ("failed", "ValueError: off by N of N"): 1,
        ("theirs", "their assertion: AssertionError: x is N, at most N"): 2,
        ("theirs", "they expect it to fail: KeyError: 'their own'"): 1,
    }
    note = found["test/unit/test_private.py"].note
    assert note == "skipped: it imports what is not public (ModuleNotFoundError: No module named 'test.utils')"
    text = list(markdown(found.values()))
    assert "3 of 5 tests that their own code lets run passed (60.0%)." in text
    assert "- 2 theirs: their assertion: AssertionError: x is N, at most N (test_all)" in text


def test_what_rejects_the_inputs_of_their_own_test_is_theirs(tmp_path):
    for folder, file, text in (
        ("test", "conftest.py", CONFTEST),
        ("test", "__init__.py", ""),
        ("test/utils", "__init__.py", ""),
        ("test/utils", "test_orchestrator.py", "def run(function):\n    function()\n"),
        ("test/integration", "test_all.py", PREPARED),
        ("src/nkilib_src", "kernel_torch.py", "import numpy as np\ndef reference(a, b):\n    np.add(a[:2], b * 3)\n"),
        (".", "subject.py", f"__name__ = 'neff_bench.subject'\n{SUBJECT}"),
    ):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / file).write_text(text)
    command = [*nkilib_tests._PYTEST, "-p", "neff_bench.simulator.nki.nkilib_outcomes", "-q"]
    environment = nkilib_tests.environment(tmp_path, False, 0)
    (line,) = lines_of(tmp_path, ["test/integration/test_all.py"], environment, command, 0, 60)
    assert not line.note
    assert {(kind, cause.partition(" (")[0]): count for (kind, cause), count in line.causes.items()} == {
        ("theirs", "their test's own inputs: AssertionError: no scale: None"): 1,
        ("theirs", "their test's own inputs: ValueError: operands could not be broadcast together with shapes"): 1,
        ("theirs", "needs no-such-program"): 1,
        ("theirs", "needs another numpy: this one has no 'no_such_function'"): 1,
        ("failed", "AssertionError: N is wrong"): 1,
        ("failed", "AssertionError: assert N == N"): 1,
        ("failed", "AssertionError: no scale: None"): 1,
        ("failed", "FileNotFoundError: [Errno N] No such file or directory: 'no-such-file'"): 1,
        ("failed", "AttributeError: module 'neff_bench.subject' has no attribute 'no_such_name'"): 1,
        ("theirs", "needs more memory than is free here, for arrays of the test's own"): 2,
        ("failed", "MemoryError: Unable to allocate N PiB for an array with shape"): 1,
    }


def test_a_sample_is_the_same_each_time(checkout):
    (checkout / "test/unit/test_private.py").unlink()
    first, second = (table(checkout, sample=3)["test/unit/test_all.py"] for _ in range(2))
    assert first.kinds == second.kinds


def test_a_sample_is_of_tests_that_their_own_code_does_not_skip(checkout):
    (checkout / "test/unit/test_all.py").write_text(
        "import pytest\nlarge = [pytest.param(x, marks=pytest.mark.skip) for x in range(1, 40)]\n"
        "@pytest.mark.parametrize('x', [0, *large])\ndef test(x):\n    assert not x\n"
    )
    assert table(checkout, sample=1)["test/unit/test_all.py"].cells[:4] == (40, 39, 1, 1)


def test_a_file_that_takes_too_long_says_so(checkout):
    (checkout / "test/unit/test_all.py").write_text("import time\ndef test_slow():\n    time.sleep(60)\n")
    assert table(checkout, timeout_s=0.5)["test/unit/test_all.py"].note == "stopped after 0.5 s"


def test_a_folder_that_is_not_there_is_told(checkout):
    with pytest.raises(SimulatorError, match="no such file or folder"):
        files_of(checkout, ["test/none"])


def test_a_table_of_nothing_says_nothing_of_a_share():
    assert "0 of 0 tests that their own code lets run passed." in list(markdown([Line("a")]))
