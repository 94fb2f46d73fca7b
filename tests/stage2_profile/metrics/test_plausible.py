"""What cannot be true is suspect, and the row says which figure."""

import json

import pytest

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.profile_json import read_summary
from neff_bench.stage2_profile.metrics.plausible import SPREAD_MAX, beside_traces, of_numbers, suspicions


def summary(**keys):
    return read_summary(json.dumps({"total_time": 1e-4, "tensor_engine_instruction_count": 9, **keys}).encode())


def said(*executions, first=2, dtype="bfloat16", program=(), loaded=(), **numbers):
    return suspicions(
        [*enumerate((summary(**keys) for keys in executions), first)], numbers, dtype, dict(program), dict(loaded)
    )


def test_a_plausible_row_has_nothing_to_be_said():
    keys = {"tensor_engine_active_time": 1e-4, "mfu_estimated_percent": 0.99, "hfu_estimated_percent": 3.9}
    assert said(keys, {"total_time": 1.5e-4}, mfu_percent=99.0, mfu_peak_tflops=79) == ()
    assert said({"mfu_estimated_percent": 1.9}, dtype="float8_e4m3") == ()


@pytest.mark.parametrize(
    ("keys", "numbers", "says"),
    [
        ({"total_time": 0}, {}, "total_time is 0 s"),
        ({"total_active_time": 2e-4}, {}, "total_active_time is 0.0002 s, longer than the total_time of 0.0001 s"),
        ({"tensor_engine_active_time": 1}, {}, "tensor_engine_active_time is 1 s, longer"),
        ({"dma_active_time": 1.1e-4}, {}, "dma_active_time is 0.00011 s, longer"),
        ({"mfu_estimated_percent": 1.9}, {}, "mfu_estimated_percent is 190% of the peak"),
        ({"mbu_estimated_percent": 1.5}, {}, "mbu_estimated_percent is 150% of the peak"),
        ({}, {"mfu_percent": 4520.0, "mfu_peak_tflops": 79.0}, "MFU is 4520 % of the peak of 79 TFLOPS"),
    ],
)
def test_a_figure_that_cannot_be_is_named(keys, numbers, says):
    (found,) = said(keys, **numbers)
    assert says in found


def test_executions_that_do_not_agree_are_named():
    assert said({}, {"total_time": 9e-4}) == ("execution 3 took 0.0009 s, execution 2 0.0001 s",)
    assert said({}, {"tensor_engine_instruction_count": 8}) == (
        "tensor_engine_instruction_count is 9 in execution 2 and 8 in execution 3",
    )
    assert said({"total_time": 9e-4}, {}, first=1) == ()


def test_counts_below_those_of_the_program_are_named():
    assert said({}, program={"tensor": 9, "vector": 5}) == ()  # Vector's are not stated
    assert said({}, program={"tensor": 10}) == (
        "tensor_engine_instruction_count is 9, the NEFF has 10 instructions for it",
    )


def test_counts_above_what_was_loaded_are_named():
    assert (
        said({"tensor_engine_instruction_count": 70}, program={"tensor": 9}, loaded={"tensor": 70, "vector": 1}) == ()
    )
    assert said({"tensor_engine_instruction_count": 80}, program={"tensor": 9}, loaded={"tensor": 70}) == (
        "tensor_engine_instruction_count is 80, the trace has 70 instructions for it",
    )
    assert said({"tensor_engine_instruction_count": 80}, loaded={"tensor": 70}) == ()  # it has branches in the NEFF
    assert said({"tensor_engine_instruction_count": 80}, program={"tensor": 9}) == ()  # no trace was read
    assert said({"tensor_engine_instruction_count": 8_000_000}, program={"tensor": 9}) == (
        "tensor_engine_instruction_count is 8000000, the NEFF has 9 instructions for it",
    )


def test_what_our_own_reader_took_from_a_trace_must_be_possible_too():
    assert said(total_time_us=10.0, dma_active_us=10.1, tensor_active_us=None) == ()
    assert said(total_time_us=10.0, dma_active_us=47.0) == ("dma_active_us is 47, longer than the total time of 10 us",)
    assert said(total_time_us=0.0) == ("the trace has a total time of 0 us",)


def test_a_trace_with_two_summaries_has_none_to_be_believed():
    two = json.dumps({"n_a": {"total_time": 1e-4}, "n_b": {"total_time": 9e-4}}).encode()
    with pytest.raises(ParseError, match="2 summaries of one trace, with the total times 0.0001 s and 0.0009 s"):
        read_summary(two, only=True)
    assert read_summary(b'{"model": {"total_time": 1e-4}}').total_time_s == 1e-4


def test_a_row_that_cannot_be_is_suspect_and_fails_the_command(profile_neffs, make_bundle):
    make_bundle(total_time=1e-9)
    done = profile_neffs("--format", "json")
    (row,) = json.loads(done.stdout)
    assert (done.exit_code, row["check"]) == (1, "suspect")
    assert "MFU is" in row["reason"]


def test_executions_may_differ_by_the_largest_spread():
    assert said({"total_time": 1e-4}, {"total_time": SPREAD_MAX * 1e-4}) == ()
    assert len(said({"total_time": 1e-4}, {"total_time": SPREAD_MAX * 1.0001e-4})) == 1
    assert said({}, {}, {"tensor_engine_instruction_count": 8}) == (
        "tensor_engine_instruction_count is 9 in execution 2 and 8 in execution 4",
    )


@pytest.mark.parametrize(("mfu", "count"), [(100.0, 0), (101.9, 0), (102.1, 1)])
def test_a_share_of_the_peak_is_at_most_the_whole(mfu, count):
    assert len(said({}, mfu_percent=mfu, mfu_peak_tflops=79.0)) == count


def test_a_time_is_that_of_one_of_its_traces():
    one = [(2, summary(total_time=1e-4))]
    assert (
        beside_traces(one, {2: [3e-4, 1.0001e-4]})
        == []
        == beside_traces(one, {3: [1.0]})
        == beside_traces(one, {2: []})
    )
    assert beside_traces(one, {2: [3e-4, 2e-4]}) == ["total_time is 0.0001 s, the trace of execution 2 says 0.0003 s"]


def test_numbers_of_a_trace_are_judged_by_its_total_time():
    assert of_numbers({}) == [] == of_numbers({"total_time_us": None, "x_active_us": 5.0})
    assert of_numbers({"total_time_us": 0.5}) == []
    assert of_numbers({"total_time_us": 0.0}) == ["the trace has a total time of 0 us"]
    numbers = {"total_time_us": 10.0, "a_active_us": 10.0, "b_active_us": 10.5, "c_active_us": None, "d_us": 99.0}
    assert of_numbers(numbers) == ["b_active_us is 10.5, longer than the total time of 10 us"]
    assert said_of(numbers) == tuple(of_numbers(numbers))


def said_of(numbers):
    return suspicions([], numbers, "bfloat16", {}, {})


def test_a_dtype_that_is_slower_than_bfloat16_has_the_same_most():
    assert said({"mfu_estimated_percent": 1.01}, dtype="float32") == ()
    assert len(said({"mfu_estimated_percent": 1.05}, dtype="float32")) == 1
