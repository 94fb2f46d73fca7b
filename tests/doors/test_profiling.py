"""`neff_bench.profile`: a kernel is built, run, checked and timed, and gives the row of the commands."""

import ml_dtypes
import numpy as np
import pytest

import neff_bench
from neff_bench.errors import WrongCall
from tests.doors.programs import SCALE, TOTAL

REFERENCES = '''
def double(x, factor=2.0):
    return factor * x


def triple(x, factor=2.0):
    return 3 * x
'''
X = ((128, 256), "float32")


ARRAY = np.arange(128 * 8).reshape(128, 8).astype(ml_dtypes.bfloat16)
MEETING = np.arange(2 * 8 * 4, dtype=np.float32).reshape(2, 8, 4)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profiling")
    (folder / "own_kernels.py").write_text(SCALE)
    (folder / "own_references.py").write_text(REFERENCES)
    (folder / "meeting.py").write_text(TOTAL)
    return folder


@pytest.fixture(scope="module")
def tasks(files):
    """By name; all of them are built and profiled by one call."""
    kernel, double, total = (f"{files}/{name}" for name in
                             ("own_kernels.py:scale", "own_references.py:double", "meeting.py:total"))  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(files))
        import own_references
    task = neff_bench.Task
    return {
        "right": task(kernel, {"x": X}, reference=double, flops=128 * 256),
        "wrong": task(kernel, {"x": X}, reference=f"{files}/own_references.py:triple", flops=128 * 256),
        "free": task(kernel, {"x": X}, arguments={"factor": 5.0}),
        "array": task(kernel, {"x": ARRAY}, reference=own_references.double),
        "too large": task(kernel, {"x": ((256, 8), "float32")}),
        "ranks": task(total, {"x": MEETING}, arguments={"ranks": 2}, reference=f"{files}/meeting.py:right", ranks=2),
        "one of two": task(total, {"x": MEETING[0]}, arguments={"ranks": 2}),
    }


@pytest.fixture(scope="module")
def rows(files, tasks):
    return dict(zip(tasks, neff_bench.profile_many(tasks.values(), store=files / "st"), strict=True))


def estimated(task):
    return neff_bench.estimate(task.kernel, task.inputs, arguments=task.arguments, flops=task.flops)


def test_a_kernel_is_checked_and_timed_as_it_is_estimated(rows, tasks):
    row = rows["right"]
    assert (row.status, row.check, row.source) == ("profiled", "passed", "simulated")
    for name in ("total_time_us", "mfu_percent", "hbm_read_bytes", "vector_active_us"):
        assert getattr(row, name) == getattr(estimated(tasks["right"]), name) is not None


def test_a_wrong_kernel_fails_its_check_and_one_without_reference_is_unchecked(rows):
    """The wrong one is the right kernel beside another reference: two references are two verdicts."""
    assert (rows["wrong"].check, rows["free"].check) == ("wrong", "unchecked")


def test_arrays_are_the_inputs_and_a_function_is_a_reference(rows, files):
    assert rows["array"].check == "passed"
    bundle = neff_bench.Store(files / "st").find(rows["array"].case)
    [given] = bundle.manifest.inputs
    assert (bundle.path / given.file).read_bytes() == ARRAY.tobytes()


def test_the_same_call_builds_nothing_again(rows, tasks, files):
    def created():
        return {bundle.name: bundle.manifest.created for bundle in neff_bench.Store(files / "st").bundles()}

    before = created()
    neff_bench.profile_many([tasks["array"]], store=files / "st")
    assert created() == before


def test_a_kernel_that_cannot_be_built_is_a_failed_row(rows):
    assert rows["too large"].status == "failed"
    assert "own_kernels.py:" in rows["too large"].reason


def test_a_kernel_of_several_ranks_gets_a_part_of_each_array_on_each_and_is_estimated_alike(rows, tasks):
    row = rows["ranks"]
    assert (row.check, row.ranks, [rank.check for rank in row.by_rank]) == ("passed", 2, ["passed", "passed"])
    assert rows["one of two"].reason.endswith("all_reduce is between ranks 0 to 1, and 1 would run: say `ranks: 2`")
    alike = estimated(tasks["one of two"])
    assert (alike.ranks, alike.slowest_rank, alike.total_time_us) == (2, 0, row.total_time_us)
    with pytest.raises(WrongCall, match="expected the 3 ranks as its first dimension"):
        neff_bench.profile(tasks["ranks"].kernel, {"x": MEETING}, ranks=3)


def test_a_store_that_cannot_be_written_is_a_wrong_call(files):
    (files / "taken").write_text("")
    with pytest.raises(WrongCall, match="taken: cannot write to it: Not a directory"):
        neff_bench.profile(f"{files}/own_kernels.py:scale", {"x": np.ones((8, 8), np.float32)}, store=files / "taken")


@pytest.mark.parametrize(
    ("kernel", "inputs", "message"),
    [
        (lambda x: x, {"x": X}, "top level of a Python file"),
        ("scale", {"x": X}, "expected 'file.py:name'"),
        ("own.py:scale", {"x": 3}, r"expected an array or \(\(rows, columns\), dtype\)"),
    ],
)
def test_what_is_no_kernel_or_no_input_is_a_wrong_call(kernel, inputs, message):
    with pytest.raises(WrongCall, match=message):
        neff_bench.profile(kernel, inputs)
