"""Rows: where their numbers come from, and how they are written and read."""

from types import SimpleNamespace
from typing import get_args

import msgspec
import pytest

from neff_bench.neffs.findings import Finding
from neff_bench.stage2_profile.metrics.metric import Evidence, Unit, interquartile_range, values
from neff_bench.stage2_profile.metrics.rows import (
    METRICS,
    NAMES,
    Row,
    check_types,
    columns,
    from_dict,
    of_release,
    to_dict,
    to_flat,
    with_ranks,
)

ENDS = {"us": "_us", "s": "_s", "percent": "_percent", "TFLOPS": "_tflops", "FLOPs": "_flops", "bytes": "_bytes", "cycles": "_cycle_count", "FLOPs/byte": "_intensity"}  # fmt: skip


def test_a_metric_ends_in_its_unit():
    for name, metric in METRICS.items():
        assert metric.unit in get_args(Unit)
        assert name.endswith(ENDS.get(metric.unit, "")), name
        assert (metric.unit == "count") == (not name.endswith(tuple(ENDS.values()))), name


def test_engines_and_dma_are_shares_of_the_total_and_what_is_not_compared_has_no_better_side():
    engines = ("tensor", "vector", "scalar", "gpsimd", "sync", "dma")
    assert {name for name, metric in METRICS.items() if metric.share} == {f"{engine}_active_us" for engine in engines}
    assert {name for name, metric in METRICS.items() if metric.better == "higher"} == {
        "mfu_percent",
        "mfu_estimated_percent",
    }
    assert all(
        METRICS[name].better is None for name in METRICS if "_ci_" in name or name.endswith(("low_us", "high_us"))
    )


def trace(engines=("tensor", "vector", "scalar", "gpsimd", "sync"), **more):
    times = {
        name: SimpleNamespace(active_time_s=(at + 1) * 1e-6, instruction_count=at + 1)
        for at, name in enumerate(engines)
    }
    fields = {
        "total_time_s": 8e-6, "total_active_time_s": 7e-6, "engines": times, "dma": None, "matmul_instruction_count": 3,
        "dma_kinds": {}, "queues": (), "neuroncore_cycle_count": 11, "throttle_active_s": None,
    }  # fmt: skip
    return SimpleNamespace(**{**fields, **more})


def numbers(*traces):
    evidence = Evidence(traces=traces)
    told = {}
    for name in METRICS:
        if METRICS[name].source is not None and not name.startswith(("throttle", "execution_ci", "total_time_ci")):
            told[name] = METRICS[name].source(evidence, told)
    return {name: value for name, value in told.items() if value is not None}


def test_a_trace_tells_times_and_counts_of_what_it_names():
    moved = {"hardware_dynamic": SimpleNamespace(packets=5), "static": SimpleNamespace(packets=2)}
    found = numbers(trace(dma=SimpleNamespace(active_time_s=6e-6, packets=7), dma_kinds=moved, queues=("a", "b")))
    assert found == pytest.approx(
        {
            "total_time_us": 8, "total_active_time_us": 7, "tensor_active_us": 1, "vector_active_us": 2, "scalar_active_us": 3,
            "gpsimd_active_us": 4, "sync_active_us": 5, "dma_active_us": 6, "matmul_instruction_count": 3, "executions": 1,
            "tensor_instruction_count": 1, "vector_instruction_count": 2, "scalar_instruction_count": 3,
            "gpsimd_instruction_count": 4, "sync_instruction_count": 5, "instruction_count": 15, "dma_packet_count": 7,
            "static_dma_packet_count": 2, "software_dynamic_dma_packet_count": 0, "hardware_dynamic_dma_packet_count": 5,
            "dma_queue_count": 2, "neuroncore_cycle_count": 11,
        }
    )  # fmt: skip


def test_what_a_trace_does_not_name_is_not_known():
    found = numbers(trace(engines=("tensor", "sync")))
    assert found == pytest.approx(
        {
            "total_time_us": 8, "total_active_time_us": 7, "tensor_active_us": 1, "sync_active_us": 2, "executions": 1,
            "tensor_instruction_count": 1, "sync_instruction_count": 2, "matmul_instruction_count": 3, "neuroncore_cycle_count": 11,
        }
    )  # fmt: skip


def test_several_executions_have_their_median_and_counts_stay_whole():
    found = numbers(trace(), trace(total_time_s=10e-6, matmul_instruction_count=6))
    assert found["total_time_us"] == pytest.approx(9.0) and found["matmul_instruction_count"] == 4
    assert type(found["matmul_instruction_count"]) is int and found["executions"] == 2
    assert values(METRICS, Evidence())["executions"] == 0 and values(METRICS, Evidence())["capture_count"] is None
    assert numbers(trace(total_time_s=8.25e-6))["total_time_us"] == pytest.approx(8.25)
    several = values(METRICS, Evidence(captures=((), (), ())))
    assert several["capture_count"] == 3
    assert interquartile_range([1.0, 2.0, 3.0, 4.0, 9.0]) == 2.0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "<Row c None/None: profiled>"),
        ({"kernel": "mlp", "implementation": "nki", "dims": (("M", 8), ("N", 4)), "dtype": "bfloat16", "target": "trn2", "lnc": 2,
          "source": "simulated", "check": "passed", "total_time_us": 5.0, "total_time_low_us": 4.0, "total_time_high_us": 6.04},
         "<Row mlp nki M8 N4 bfloat16 trn2/2: 5.00 us (4.0 to 6.0), simulated, profiled, passed>"),
        ({"total_time_us": 5.0, "total_time_low_us": 4.0}, "<Row c None/None: 5.00 us, profiled>"),
        ({"total_time_us": 5.0, "total_time_high_us": 4.0}, "<Row c None/None: 5.00 us, profiled>"),
        ({"shapes": "8x4", "reason": "broke"}, "<Row c 8x4 None/None: broke, profiled>"),
    ],
)  # fmt: skip
def test_a_row_is_one_line(fields, said):
    row = Row(case="c", status="profiled", **fields)
    assert repr(row) == said
    assert row._repr_html_() == f"<code>{said.replace('<', '&lt;').replace('>', '&gt;')}</code>"


@pytest.mark.parametrize(
    ("status", "check", "failed"),
    [
        ("failed", None, True),
        ("profiled", "wrong", True),
        ("profiled", "suspect", True),
        ("profiled", "passed", False),
        ("profiled", None, False),
    ],
)
def test_a_row_fails_by_its_status_or_its_check(status, check, failed):
    assert Row(case="c", status=status, check=check).failed == failed


ROW = Row(
    case="c", status="profiled", dims=(("M", 8), ("case", 4)), total_time_us=1.23456789, compile_time_s=1.23456789,
    findings=(Finding(kind="race", text="t", releases=("2.26",)), Finding(kind="race", text="u")), by_rank=(Row(case="r", status="failed"),),
)  # fmt: skip


def test_a_record_has_every_key_and_its_times_in_whole_picoseconds():
    record = to_dict(ROW)
    assert tuple(record) == NAMES and (record["total_time_us"], record["compile_time_s"]) == (1.234568, 1.23456789)
    assert record["dims"] == {"M": 8, "case": 4} and record["findings"][1]["text"] == "u"
    assert from_dict(record) == record
    flat = to_flat(ROW)
    assert (flat["case"], flat["M"], flat["dim_case"], flat["findings"]) == (
        "c",
        8,
        4,
        ["t", "u"],
    ) and "dims" not in flat
    assert set(flat) == set(columns([ROW])) and columns([ROW])[NAMES.index("dims") :][:2] == ["M", "dim_case"]


def test_records_of_earlier_versions_are_read():
    old = {"case": "c", "check": "zero", "M": 8, "dim_case": 4, "lnc": 2, "flag": True}
    assert from_dict(old) == {
        **dict.fromkeys(NAMES),
        "case": "c",
        "check": "wrong",
        "lnc": 2,
        "flag": True,
        "dims": {"M": 8, "case": 4},
    }
    assert from_dict({"case": "c", "check": "failed"})["check"] == "wrong"
    assert from_dict({"case": "c", "check": "passed", "dims": {"M": 1}, "K": 2})["dims"] == {"M": 1}
    with pytest.raises(msgspec.ValidationError):
        check_types({"case": "c", "lnc": "two"})


def test_rows_of_ranks_follow_their_case_and_findings_are_those_of_the_release():
    assert [row.case for row in with_ranks([ROW, ROW])] == ["c", "r", "c", "r"]
    assert [one.text for one in of_release(ROW, "2.27").findings] == ["u"] and of_release(ROW, "2.26") == ROW
