"""`neff_bench.profile`: a kernel is built, run, checked and timed, and gives the row of the commands."""

import ml_dtypes
import numpy as np
import pytest

import neff_bench
from neff_bench.terminal.errors import WrongCall
from tests.doors.programs import SCALE, TOTAL

REFERENCES = '''
def double(x, factor=2.0):
    return factor * x


def triple(x, factor=2.0):
    return 3 * x
'''
X = ((128, 256), "float32")


@pytest.fixture
def files(tmp_path):
    (tmp_path / "own_kernels.py").write_text(SCALE)
    (tmp_path / "own_references.py").write_text(REFERENCES)
    return tmp_path


def test_a_kernel_is_checked_and_timed_as_it_is_estimated(files):
    kernel = f"{files}/own_kernels.py:scale"
    row = neff_bench.profile(kernel, {"x": X}, reference=f"{files}/own_references.py:double", flops=128 * 256)
    assert (row.status, row.check, row.source) == ("profiled", "passed", "simulated")
    estimated = neff_bench.estimate(kernel, {"x": X}, flops=128 * 256)
    for name in ("total_time_us", "mfu_percent", "hbm_read_bytes", "vector_active_us"):
        assert getattr(row, name) == getattr(estimated, name) is not None


def test_a_wrong_kernel_fails_its_check_and_one_without_reference_is_unchecked(files):
    kernel = f"{files}/own_kernels.py:scale"
    wrong, free = neff_bench.profile_many(
        [
            neff_bench.Task(kernel, {"x": X}, reference=f"{files}/own_references.py:triple"),
            neff_bench.Task(kernel, {"x": X}, arguments={"factor": 5.0}),
        ]
    )
    assert (wrong.check, free.check) == ("failed", "unchecked")


def test_one_kernel_beside_two_references_has_two_verdicts(files):
    tasks = [
        neff_bench.Task(f"{files}/own_kernels.py:scale", {"x": X}, reference=f"{files}/own_references.py:{name}")
        for name in ("double", "triple")
    ]
    assert [row.check for row in neff_bench.profile_many(tasks)] == ["passed", "failed"]


def test_arrays_are_the_inputs_and_a_function_is_a_kernel(files, monkeypatch):
    monkeypatch.syspath_prepend(str(files))
    import own_references

    array = np.arange(128 * 8).reshape(128, 8).astype(ml_dtypes.bfloat16)
    kernel = f"{files}/own_kernels.py:scale"
    row = neff_bench.profile(kernel, {"x": array}, reference=own_references.double, store=files / "st")
    assert row.check == "passed"
    [bundle] = neff_bench.Store(files / "st").bundles()
    [given] = bundle.manifest.inputs
    assert (bundle.path / given.file).read_bytes() == array.tobytes()


def test_the_same_call_builds_nothing_again(files):
    def created():
        neff_bench.profile(f"{files}/own_kernels.py:scale", {"x": np.ones((128, 4), np.float32)}, store=files / "st")
        return [bundle.manifest.created for bundle in neff_bench.Store(files / "st").bundles()]

    assert created() == created()


def test_a_kernel_that_cannot_be_built_is_a_failed_row(files):
    row = neff_bench.profile(f"{files}/own_kernels.py:scale", {"x": ((256, 8), "float32")})
    assert row.status == "failed"
    assert "own_kernels.py:" in row.reason


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


def test_a_kernel_of_several_ranks_gets_a_part_of_each_array_on_each_and_is_estimated_alike(tmp_path):
    (tmp_path / "meeting.py").write_text(TOTAL)
    kernel, x = f"{tmp_path}/meeting.py:total", np.arange(2 * 8 * 4, dtype=np.float32).reshape(2, 8, 4)
    tasks = [
        neff_bench.Task(kernel, {"x": x}, arguments={"ranks": 2}, reference=f"{tmp_path}/meeting.py:right", ranks=2),
        neff_bench.Task(kernel, {"x": x[0]}, arguments={"ranks": 2}),
    ]
    row, alone = neff_bench.profile_many(tasks)
    assert (row.check, row.ranks, [rank.check for rank in row.by_rank]) == ("passed", 2, ["passed", "passed"])
    assert alone.reason.endswith("all_reduce is between ranks 0 to 1, and 1 would run: say `ranks: 2`")
    estimated = neff_bench.estimate(kernel, {"x": x[0]}, arguments={"ranks": 2})
    assert (estimated.ranks, estimated.slowest_rank) == (2, 0)
    assert estimated.total_time_us == row.total_time_us
    with pytest.raises(WrongCall, match="expected the 3 ranks as its first dimension"):
        neff_bench.profile(kernel, {"x": x}, ranks=3)
