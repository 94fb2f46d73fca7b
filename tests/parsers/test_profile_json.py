"""Profile JSON in every shape that the tools write."""

import json

import pytest

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.profile_json import read_metadata, read_profile, read_summary
from neff_bench.parsers.summary import attribute

SUMMARY = {
    "total_time": 3e-05,
    "mfu_estimated_percent": 0.25,
    "hardware_flops": 1000,
    "throttle_avg_util_limit_nc0_percent": 0.5,
    "instance_type": "trn2.3xlarge",
    "cc_op_time": 0,
}
PROFILE = {
    "metadata": [
        {
            "is_simulation": True,
            "simulator_model": "m1",
            "pe_clock_freq": 2.4,
            "hbm_ddr_bandwidth": 716000000000,
            "num_physical_cores": 2,
        }
    ],
    "neff_header": [{"uuid": "ab" * 16, "network_name": "file.neff"}],
    "profile_info": [{"ntff_filename": "/x/profile_exec_2.ntff"}],
    "warnings": [{"message": "Missing metrics", "category": "x"}],
    "instruction": [
        {
            "timestamp": 5,
            "duration": 10,
            "subgroup": "Tensor",
            "opcode": "MATMUL",
            "pc": 3,
            "subgraph": "sg01",
            "evt_wait_time": 4,
            "operands": "x" * 50,
        },
        {"timestamp": 1, "duration": 2, "subgroup": "Vector", "opcode": "NOP", "pc": 0, "subgraph": "sg00"},
        {"timestamp": 1, "duration": 2, "subgroup": "Host", "opcode": "NEW", "pc": 0},
    ],
    "dma": [
        {
            "timestamp": 2,
            "duration": 40,
            "transfer_size": 64,
            "dma_engine": "17",
            "dma_queue": "1",
            "semaphore_id": "3",
            "aggregated": "no",
        },
        {
            "timestamp": 0,
            "duration": 90,
            "transfer_size": 640,
            "dma_engine": "0",
            "dma_queue": "0",
            "semaphore_id": "-1",
            "aggregated": "yes",
        },
    ],
    "summary": [SUMMARY],
}


def encoded(value):
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    "shape",
    [
        {"n_" + "0" * 40: SUMMARY},
        SUMMARY,
        [SUMMARY],
        {"summary": [SUMMARY]},
        {"Summary": [SUMMARY]},
        {"summary": SUMMARY},
    ],
)
def test_every_shape_gives_the_same_summary(shape):
    summary = read_summary(encoded(shape))
    assert summary == read_summary(encoded(SUMMARY))
    assert summary.total_time_s == 3e-05 and summary.mfu_estimated_fraction == 0.25


def test_names_types_and_absence():
    summary = read_summary(encoded({**SUMMARY, "new_key": [1]}))
    assert summary.cc_op_time_s == 0.0 and isinstance(summary.cc_op_time_s, float)
    assert summary.hardware_flops == 1000 and summary.transpose_flops is None
    assert summary.throttle == {"throttle_avg_util_limit_nc0_fraction": 0.5}
    assert summary.unknown == {"new_key": [1]}
    assert summary.is_simulation is None
    assert [attribute(key) for key in ("a_time", "a_percent", "a_time_ns")] == ["a_time_s", "a_fraction", "a_time_ns"]


def test_metadata_says_whether_it_is_simulated():
    summary = read_summary(encoded(PROFILE))
    assert summary.is_simulation is True and summary.simulator_model == "m1"
    metadata, identity = read_metadata(encoded(PROFILE))
    assert metadata.tensor_clock_hz == 2.4e9 and metadata.tensor_rows is None
    assert (identity.neff_uuid, identity.ntff_name) == ("ab" * 16, "/x/profile_exec_2.ntff")


def test_events_become_the_columns_of_a_trace(write):
    profile = read_profile(write("ntff.json", encoded(PROFILE)))
    rows = profile.instructions
    assert rows.begin_ps.tolist() == [5000, 1000] and rows.duration_ps.tolist() == [10_000, 2000]
    assert [rows.opcode_names[index] for index in rows.opcode] == ["MATMUL", "NOP"]
    assert (rows.core.tolist(), rows.engine.tolist(), rows.wait_ns.tolist()) == ([1, 0], [0, 3], [4, 0])
    packets = profile.dma_packets
    assert (packets.core.tolist(), packets.engine.tolist(), packets.reported.tolist()) == (
        [1, 0],
        [1, 0],
        [True, False],
    )
    # From the unknown opcode at 1 ns to the end of the DMA at 42 ns: NOP and DMA without a semaphore are no work.
    assert profile.active_inference_time_s == pytest.approx(41e-9)
    assert profile.warnings == ("Missing metrics",)


def test_a_profile_without_dma_has_none():
    profile = read_profile(encoded({"summary": [SUMMARY], "instruction": []}))
    assert len(profile.dma_packets.bytes) == 0 and profile.active_inference_time_s is None


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "truncated"),
        (b"{", "truncated"),
        (b"[]", "a list of 0 elements"),
        (b"[[1]]", "no profile"),
        (b"17", "no profile"),
        (b'"x"', "no profile"),
        (b"null", "no profile"),
        (b"{}", "no profile"),
        (b'{"summary": []}', "is empty"),
        (b'{"summary": 3}', "no table"),
        (b'{"total_time": NaN}', "invalid"),
        (b'{"total_time": Infinity}', "invalid"),
        (b'{"total_time": 1e999}', "out of range|no count"),
        (b'{"total_time": "soon"}', "expected a number"),
        (b'{"total_time": true}', "expected a number"),
        (b'{"total_time": 1, "event_count": 1.5}', "whole number"),
        (b'{"total_time": 1, "event_count": ' + b"9" * 400 + b"}", "out of range|no count"),
        (b'{"total_time": 1, "event_count": 18446744073709551615}', "no count"),
        (b'{"total_time": 1, "instance_type": 5}', "expected str"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
        (b'{"total_time": 1, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b"[" * 100_000 + b"]" * 100_000, "Expected|nested"),
        (b'{"total_time": 1, "x\xff": 2}', "utf-8"),
    ],
)
def test_bad_json_is_one_error_that_names_the_file(write, data, what):
    path = write("p.json", data or b" ")
    with pytest.raises(ParseError, match=what) as caught:
        read_summary(path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "event", [{"timestamp": 1e300}, {"timestamp": 10**30}, {"pc": 2**40}, {"timestamp": "x"}, {"evt_wait_time": 1e19}]
)
def test_events_out_of_range_are_an_error(event):
    row = {"subgroup": "Tensor", "timestamp": 1, "duration": 1, **event}
    with pytest.raises(ParseError):
        read_profile(encoded({"summary": [SUMMARY], "instruction": [row]}))


def test_a_syntax_error_has_its_offset(write):
    with pytest.raises(ParseError) as caught:
        read_summary(write("p.json", b'{"total_time": 1, x}'))
    assert caught.value.offset == 18


def test_a_summary_is_no_whole_profile(write):
    with pytest.raises(ParseError, match="no instruction table"):
        read_profile(write("p.json", encoded(SUMMARY)))


def test_not_a_file(tmp_path):
    for path, what in ((tmp_path, "Summary.parquet"), (tmp_path / "absent.json", "No such file")):
        with pytest.raises(ParseError, match=what):
            read_summary(path)


@pytest.mark.parametrize(
    "shape", ['{"total_time": 1, "x": "%s"}', '{"summary": [{"x": "%s"}]}', '[{"total_time": 1, "x": "%s"}]']
)
def test_a_summary_of_many_megabytes_is_refused(shape):
    with pytest.raises(ParseError, match="more than 8388608"):
        read_summary((shape % ("x" * (9 << 20))).encode())


def test_the_offset_of_a_table_is_where_it_lies_in_the_file(write):
    with pytest.raises(ParseError) as caught:
        read_summary(write("p.json", b'{"metadata": [{}], "summary": [7]}'))
    assert caught.value.offset == 30
