"""Cases from the tests of nki-library: a small library with a test of its own runs in a real pytest process."""

import numpy as np
import pytest
from click.testing import CliRunner

from neff_bench.nkilib.changed import covered, library_of
from neff_bench.nkilib.coverage_cli import discover
from neff_bench.stage1_generate.jobs.tensors import draw
from neff_bench.stage1_generate.own_kernel import kernel_of
from neff_bench.stage1_generate.shapes.read import read_shapes

FILES = {
    "src/nkilib_src/__init__.py": "",
    "src/nkilib_src/nkilib/__init__.py": "",
    "src/nkilib_src/nkilib/core/__init__.py": "",
    "src/nkilib_src/nkilib/core/sums.py": """
import enum

import nki


class Mode(enum.Enum):
    FAST = 1


class Meta(type):
    def __call__(cls, *args, **kwargs):
        return super().__call__(*args, **kwargs)


class Skip(metaclass=Meta):
    def __init__(self, mode, token=False, cores=2):
        self.mode, self.token, self.half = mode, token, cores // 2


@nki.jit
def sums(x, mode, skip, out):
    pass


@nki.jit
def lists(x):
    pass


@nki.jit
def ranks(x, group):
    pass


@nki.jit
def part(x_sbuf, rows):
    pass


@nki.jit
def scales(x):
    pass


@nki.jit
def untested(x):
    pass
""",
    "test/__init__.py": "",
    "test/conftest.py": """
def pytest_addoption(parser):
    parser.addoption("--test-mode")
    parser.addoption("--output-directory")
    parser.addoption("--platform-target")
    parser.addoption("--force-local-cleanup", action="store_true")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--platform-target") != "trn3":
        items[:] = [item for item in items if item.get_closest_marker("trn3") is None]
""",
    "test/integration/test_scales.py": """
import numpy as np
import pytest
from nki.collectives import ReplicaGroup
from nkilib_src.nkilib.core.sums import scales
from test.integration.test_sums import launch


@pytest.mark.trn3
def test_scales():
    launch(scales, dict(x=np.zeros(4, np.float32)))
""",
    "test/utils/__init__.py": "",
    "test/utils/test_orchestrator.py": """
class Orchestrator:
    def execute(self, arguments):
        raise AssertionError("a kernel was launched")
""",
    "test/integration/__init__.py": "",
    "test/integration/test_sums.py": """
from types import SimpleNamespace

import boto3
import ml_dtypes
import numpy as np
import pytest
from nki.collectives import ReplicaGroup
from nkilib_src.nkilib.core.sums import Mode, Skip, lists, part, ranks, sums
from test.utils.test_orchestrator import Orchestrator


ROWS = 2 * 4
UNUSED = Orchestrator
GROUP = ReplicaGroup([[0, 1]])


def launch(kernel, inputs, expected=None, ranks=1):
    arguments = SimpleNamespace(kernel_func=kernel, kernel_input=inputs, validation_args=None)
    arguments.compiler_input = SimpleNamespace(logical_nc_config=2)
    arguments.inference_args = SimpleNamespace(collective_ranks=ranks)
    if expected is not None:
        arguments.validation_args = SimpleNamespace(golden_output=expected, relative_accuracy=0.01, absolute_accuracy=0.1)
    Orchestrator().execute(arguments)


@pytest.mark.parametrize("size", [64, 32, 16, 8])
def test_sums(size):
    x = np.arange(size, dtype=np.float32).astype(ml_dtypes.bfloat16)
    out = {"out.must_alias_input": np.zeros(size, np.int32)}
    launch(sums, dict(x=x, mode=Mode.FAST, skip=Skip(Mode.FAST), **out), {"out": np.full(size, 20, np.int32)})


def test_lists():
    launch(lists, dict(x=[np.zeros(3, np.float32)]))


def test_ranks():
    inputs = SimpleNamespace(for_rank=lambda rank: dict(x=np.full(4, rank, np.float32), group=GROUP))
    launch(ranks, inputs, SimpleNamespace(for_rank=lambda rank: {"out": np.full(4, 10 + rank, np.float32)}), ranks=2)


def part_wrapper(x):
    part(x, ROWS)


def test_part():
    launch(part_wrapper, dict(x=np.zeros(4, np.float32)))
""",
}


def case_of(out, kernel):
    (case,) = [case for case in read_shapes(out / "shapes.yaml") if case.kernel == kernel]
    return case


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    shapes = folder / "shapes.yaml"
    shapes.write_text("cases:\n  - {kernel: mlp, implementation: nkilib, b: 1, s: 1, h: 128, i: 128}\n")
    out = folder / "discovered"
    return out, CliRunner().invoke(discover, [str(folder), "--shapes", str(shapes), "--out", str(out)])


def test_the_smallest_launch_of_a_test_becomes_a_case_with_its_tensors(found):
    out, result = found
    assert "covered: sums\n" in result.stdout
    assert read_shapes(out / "shapes.yaml")[0].kernel == "mlp"
    sums = case_of(out, "sums")
    assert (sums.lnc, sums.target) == (2, "trn2")
    fast = {"ref": "nkilib_src.nkilib.core.sums:Mode.FAST"}
    skip = {"ref": "nkilib_src.nkilib.core.sums:Skip", "args": [fast, False]}
    assert sums.own.arguments == (("mode", fast), ("skip", skip))
    (x, out_tensor) = kernel_of(sums, str(out)).inputs(None, "bfloat16")
    assert (out_tensor.name, out_tensor.dtype) == ("out", "int32")
    assert draw([x], 0)["x"].astype(float).tolist() == list(range(8))


def test_a_kernel_whose_tests_are_for_trn3_alone_gets_a_case_of_trn3(found):
    out, _ = found
    assert [case.target for case in read_shapes(out / "shapes.yaml") if case.kernel == "scales"] == ["trn3"]


def test_a_kernel_without_a_case_is_named_with_the_reason(found):
    _, result = found
    assert result.exit_code == 1
    assert "not covered: lists: argument x is a ndarray\n" in result.stdout
    assert "not covered: untested: no test imports it\n" in result.stdout


def test_a_case_is_checked_with_what_its_test_expects(found):
    out, _ = found
    sums = case_of(out, "sums")
    assert sums.own.tolerance == (0.01, 0.1 + 0.01 * 20)
    (expected,) = kernel_of(sums, str(out)).reference({}, {"x": np.zeros(8, np.float32)})
    assert expected.tolist() == [20] * 8


def test_a_case_of_several_ranks_has_the_inputs_and_outputs_of_each(found):
    out, _ = found
    ranks = case_of(out, "ranks")
    assert ranks.ranks == 2
    assert ranks.own.arguments == (("group", {"ref": "nki.collectives:ReplicaGroup", "args": [[[0, 1]]]}),)
    kernel = kernel_of(ranks, str(out))
    (x,) = kernel.inputs(None, "bfloat16")
    assert [draw([x], 0, rank)["x"].tolist() for rank in range(2)] == [[0] * 4, [1] * 4]
    (expected,) = kernel.reference({}, {})
    assert expected.tolist() == [[10] * 4, [11] * 4]


def test_a_kernel_that_tests_wrap_gets_the_wrapper_as_a_file_of_its_own(found):
    out, _ = found
    case = case_of(out, "part")
    assert case.own.entry == "part_wrapper.py:part_wrapper"
    text = (out / "part_wrapper.py").read_text()
    assert "import part\n" in text and "ROWS = 2 * 4" in text and "Orchestrator" not in text
    library = library_of(out.parent, [case])
    assert covered(library, [case]) == {"nkilib_src.nkilib.core.sums:part": "part_*"}


def test_nothing_is_left_in_the_library(found):
    out, _ = found
    assert not list(out.parent.rglob("__pycache__"))


def test_tests_that_cannot_be_loaded_are_not_said_to_launch_nothing(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import not_there\n" + text if name == "test/conftest.py" else text)
    (tmp_path / "shapes.yaml").write_text(
        "cases:\n  - {kernel: mlp, implementation: nkilib, b: 1, s: 1, h: 128, i: 128}\n"
    )
    words = [
        str(tmp_path),
        "--shapes",
        str(tmp_path / "shapes.yaml"),
        "--out",
        str(tmp_path / "out"),
        "--kernel",
        "sums",
    ]
    said = CliRunner().invoke(discover, words).stdout
    assert (
        "not covered: sums: test_sums.py cannot be loaded: ModuleNotFoundError: No module named 'not_there'; " in said
    )
