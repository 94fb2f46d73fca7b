from __future__ import annotations

import pytest

from neff_bench.chips import peak_tflops
from neff_bench.parsers.ntff import read_ntff
from neff_bench.parsers.summary import Summary, summary_from
from neff_bench.stage2_profile.metrics.summaries import is_note, row_numbers, trace_notes


def numbers_of(*summaries):
    return row_numbers(summaries, model_flops=1000, peak=78.6432)


def test_times_are_microseconds_and_missing_ones_stay_missing():
    numbers = numbers_of(summary_from({"total_time": 0.001, "dma_active_time": 2.5e-4}))
    assert numbers["total_time_us"] == pytest.approx(1000)
    assert numbers["dma_active_us"] == pytest.approx(250)
    assert numbers["tensor_active_us"] is None
    assert numbers["hardware_flops"] is None
    assert numbers["arithmetic_intensity"] is None


def test_several_executions_give_median_and_iqr():
    totals = [4e-6, 1e-6, 2e-6, 3e-6, 100e-6]
    numbers = numbers_of(*(summary_from({"total_time": total}) for total in totals))
    assert numbers["total_time_us"] == pytest.approx(3)
    assert numbers["total_time_iqr_us"] == pytest.approx(2)
    assert numbers["executions"] == 5


def test_one_execution_has_no_iqr():
    assert numbers_of(summary_from({"total_time": 1e-6}))["total_time_iqr_us"] is None


def test_packets_of_all_kinds_are_counted():
    summary = summary_from({"total_time": 1, "static_dma_packet_count": 17, "hardware_dynamic_dma_packet_count": 288})
    assert numbers_of(summary)["dma_packet_count"] == 305


def test_a_kind_of_packets_that_did_not_occur_is_none_of_them_and_not_unknown():
    some = numbers_of(summary_from({"total_time": 1, "static_dma_packet_count": 17}))
    assert some["hardware_dynamic_dma_packet_count"] == 0
    assert numbers_of(summary_from({"total_time": 1}))["hardware_dynamic_dma_packet_count"] is None


@pytest.mark.parametrize(
    ("target", "dtype", "lnc", "tflops"),
    [
        ("trn2", "bfloat16", 1, 78.6432),
        ("trn2", "bfloat16", 2, 157.2864),
        ("trn3", "float16", 1, 78.6432),
        ("trn1", "bfloat16", 1, 91.7504),
        ("trn2", "float32", 1, 19.6608),
        ("inf2", "float32", 1, 22.9376),
        ("trn2", "float8_e4m3", 1, 157.2864),
        ("trn1", "float8_e4m3", 1, 91.7504),
        ("trn9", "bfloat16", 1, None),
        ("trn2", "int8", 1, None),
    ],
)
def test_peaks(target, dtype, lnc, tflops):
    assert peak_tflops(target, dtype, lnc) == (None if tflops is None else pytest.approx(tflops))


def test_the_limited_clock_of_the_worst_core_is_the_median_over_executions():
    throttled = [
        Summary(
            throttle={"throttle_active_nc0_time_ns": first, "throttle_active_nc1_time_ns": 500.0, "throttle_x": 9e9}
        )
        for first in (100.0, 700.0, 900.0)
    ]
    assert row_numbers(throttled, model_flops=None, peak=None)["throttle_active_us"] == 0.7
    assert row_numbers([Summary()], model_flops=None, peak=None)["throttle_active_us"] is None


def test_executions_of_one_capture_have_an_interval_from_six_on():
    six = [Summary(total_time_s=time * 1e-6) for time in (5, 1, 4, 2, 6, 3)]
    numbers = row_numbers(six, model_flops=None, peak=None)
    assert (numbers["execution_ci_low_us"], numbers["execution_ci_high_us"]) == (1, 6)
    assert row_numbers(six[:5], model_flops=None, peak=None)["execution_ci_low_us"] is None
    several = row_numbers(six, model_flops=None, peak=None, captures=[six[:3], six[3:]])
    assert several["execution_ci_low_us"] is None


def test_instructions_without_a_public_name_are_said_with_their_time(files, tmp_path):
    begin, end = files.instruction(0, 5, 10, 20)
    strange = files.record(0x8E000000, 0, files.START + 1)
    (tmp_path / "a.ntff").write_bytes(files.ntff_of([begin, end, strange]))
    trace = read_ntff(tmp_path / "a.ntff")
    took_us = float(trace.instructions.duration_ps.sum()) / 1e6
    said = [note for note in trace_notes([trace]) if "numbers" in note or "public" in note]
    assert said == [
        f"of a name that is not public, though their time is counted: 1 instructions of opcode 0x99 ({took_us:.3g} us)",
        "not in the numbers: 1 instruction records with tag 0x8e",
    ]


@pytest.mark.parametrize(
    ("warning", "note"),
    [
        ("read by neff-bench, with no profiler; good", True),
        ("read by neff-bench, with no profiler; unverified", False),
        ("odd", False),
        ("x read by neff-bench, with no profiler; ", False),
    ],
)
def test_a_note_says_that_numbers_are_good(warning, note):
    assert is_note(warning) == note
