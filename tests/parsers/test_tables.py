"""Descriptions of files as tables, cell by cell."""

import pytest

from neff_bench.parsers.tables import _bytes, _figure, _flat, _names, answer

TENSOR = {"name": "x", "shape": [4, 8], "dtype": "bfloat16", "bytes": 64}
OUT = {"name": "y", "shape": [4], "dtype": "odd", "bytes": None}
NEFF = {
    "kind": "neff", "path": "d/a.neff", "version": "2.0", "bytes": 2048, "simulated": True, "compiler_version": "2.21", "target": "trn2",
    "architecture": "cayman", "lnc": 2, "uuid": "11", "name": "", "hlo_mac_count": None, "inputs": [TENSOR], "outputs": [TENSOR],
    "engines": {"tensor": {"instruction_count": 5}, "sync": {"instruction_count": 2}}, "members": [{"name": "m", "bytes": 7}],
    "queues": [{"core": 0, "name": "q", "type": "dynamic", "owner": "sp", "num_queues": 16}],
}  # fmt: skip
TRACE = {
    "kind": "ntff", "path": "d/t.ntff", "version": 6, "bytes": 100, "certainty": "exact", "total_time_s": 2e-6, "total_active_time_s": 0,
    "neuroncore_cycle_count": 9, "trace_count": 4, "event_count": 0, "matmul_instruction_count": 1, "target": "trn2",
    "instance_type": None, "uuid": "11", "neff": None, "runtime_version": "2.30", "full_buffers": [], "undecoded": {"odd": 3},
    "warnings": ["w"], "engines": {"tensor": {"instruction_count": 5, "instruction_time_s": 1e-6, "active_time_s": 5e-7}},
    "dma_kinds": {"static": {"packets": 2, "bytes": 64, "active_time_s": 1e-7}}, "dma_queue_count": 3,
    "memory": [{"core": 4, "name": "pe", "bytes": 8}, {"core": 4, "name": "io", "bytes": 9}, {"core": 4, "name": "x", "bytes": 0}],
    "dma": {"packets": 2, "bytes": 64, "packet_time_s": 3e-7, "active_time_s": 1e-7, "left_out_packets": 0},
}  # fmt: skip
PROFILE = {
    "kind": "profile", "path": "p.json", "is_simulation": False, "suspect": ["s"], "warnings": ["w"],
    "summary": {"total_time_s": 2e-6, "mfu_estimated_fraction": 0.25, "mm_arithmetic_intensity": 7.25, "instance_type": "trn2", "count": 3, "more": {}},
    "self_check": {"checked": 9, "disagreements": [{"name": "hfu", "stated": 1.0, "computed": 2.0}]},
}  # fmt: skip
SESSION = {
    "kind": "session", "path": "s.json", "total_time_s": 3e-6,
    "cores": [{"core": 0, "time_s": 3e-6, "instruction_count": 5, "event_count": 6, "error_count": 0}],
}  # fmt: skip
HLO = {
    "kind": "hlo", "path": "h.hlo", "name": "m", "bytes": 10, "flops": 64, "parameters": [TENSOR], "results": [{"shape": [], "dtype": "pred"}],
    "computations": [{"name": "main", "instruction_count": 3, "flops": 64, "opcodes": {"dot": 1, "add": 2}, "dots": [{"name": "dot.1", "shape": [4], "dtype": "f32", "flops": 64}]}],
}  # fmt: skip


def tables(*found, lists=False):
    return {grid.title: grid.lines for grid in answer(found, lists=lists).grids}


def numbers(*found, lists=False):
    return {
        grid.title: [column.head for column in grid.columns if column.right]
        for grid in answer(found, lists=lists).grids
    }


def test_a_neff_in_full():
    assert tables(NEFF) == {
        "d/a.neff": [["NEFF", "version 2.0, 2.0 KiB"], ["made by", "simulated"], ["compiler", "2.21"], ["target", "trn2  (cayman)"], ["LNC", "2"], ["uuid", "11"]],
        "Tensors": [["input", "x", "[4, 8]", "bfloat16", "64"], ["output", "x", "[4, 8]", "bfloat16", "64"]],
        "Instructions in the file, all cores": [["Tensor", "5"], ["Sync", "2"]], "DMA queues": [["0", "q", "dynamic", "sp", "16"]],
        "Members": [["m", "7"]],
    }  # fmt: skip
    bare = {
        **NEFF,
        "inputs": [],
        "outputs": [],
        "engines": {},
        "queues": [],
        "members": [],
        "simulated": False,
        "hlo_mac_count": 0,
    }
    assert tables(bare)["d/a.neff"][-1] == ["HLO MACs", "0"] and len(tables(bare)) == 1
    assert numbers(NEFF)["DMA queues"] == ["core", "rings"] and numbers(NEFF)["Tensors"] == ["bytes"]


def test_a_trace_in_full():
    found = tables(TRACE)
    assert dict(found["d/t.ntff"][2:]) == {
        "total time": "2.000 us", "cycles": "9", "records": "4", "events": "0", "matmuls": "1", "target": "trn2", "NEFF uuid": "11",
        "runtime": "2.30", "not counted": "3 odd", "warning": "w",
    }  # fmt: skip
    assert found["Engines"] == [["Tensor", "5", "1.000", "0.500"]] and found["DMA by kind"] == [
        ["static", "2", "64", "0.100"]
    ]
    assert found["DMA"] == [
        ["packets", "2"],
        ["bytes", "64"],
        ["packet time", "0.300 us, summed over packets"],
        ["active time", "0.100 us"],
        ["queues", "3"],
    ]
    assert found["Device memory"] == [["4", "pe (Tensor)", "8"], ["4", "io", "9"]]
    assert numbers(TRACE)["Engines"] == ["instructions", "instruction time (us)", "active time (us)"]


@pytest.mark.parametrize(
    ("changes", "head", "said"),
    [
        ({"total_active_time_s": 1e-6}, "active time", "1.000 us"), ({"total_time_s": None}, "total time", None), ({"full_buffers": ["DMA", "x"]}, "records lost", "the device's buffers were full: DMA, x"),
        ({"path": "/d/t.ntff", "neff": {"same_program": True, "path": "/d/a.neff"}}, "its NEFF", "same uuid: /d/a.neff"),
        ({"path": "/d/t.ntff", "neff": {"same_program": False, "path": "/d/a.neff"}}, "its NEFF", "beside it is ANOTHER program: /d/a.neff"),
        ({"path": "/d/t.ntff", "neff": {"same_program": None, "path": "/d/a.neff"}}, "its NEFF", "perhaps, the uuid cannot tell: /d/a.neff"),
    ],
)  # fmt: skip
def test_what_a_trace_says_in_some_cases(changes, head, said):
    assert dict(next(iter(tables({**TRACE, **changes}).values()))).get(head) == said


def test_a_trace_without_dma_has_none_and_left_out_packets_are_told():
    assert tables({**TRACE, "dma": None, "dma_queue_count": None}).get("DMA") is None
    left_out = tables({**TRACE, "dma": {**TRACE["dma"], "left_out_packets": 4}})["DMA"]
    assert ["not counted", "4 packets of queues that were busy when the execution began"] in left_out


def test_a_profile_a_session_and_a_graph_in_full():
    assert tables(PROFILE) == {
        "p.json": [["suspect", "s"], ["warning", "w"], ["total_time (us)", "2.000"], ["mfu_estimated_percent", "25.00%"], ["mm_arithmetic_intensity", "7.2"], ["instance_type", "trn2"], ["count", "3"]],
        "Self-check: 9 figures recomputed, 1 disagree": [["hfu", "1.0", "2.0"]],
    }  # fmt: skip
    assert tables(SESSION) == {"s.json": [["0", "3.000", "5", "6", "0"]]}
    assert tables(HLO) == {
        "h.hlo": [["HLO", "m, 10 B"], ["FLOPs", "64"]],
        "Tensors": [["parameter", "x", "[4, 8]", "bfloat16"], ["result", "", "[]", "pred"]],
        "Computations, the entry last": [["main", "3", "64", "1 dot 2 add"]], "Products": [["main", "dot.1", "[4]", "f32", "64"]],
    }  # fmt: skip


def test_a_list_has_a_line_for_each_file():
    other = {**TRACE, "path": "d/e/u.ntff", "engines": {}, "dma": None, "neff": {"same_program": None}}
    found = tables(
        NEFF,
        {**NEFF, "path": "d/b.neff", "outputs": [OUT], "simulated": False},
        TRACE,
        other,
        PROFILE,
        SESSION,
        HLO,
        lists=True,
    )
    assert found == {
        "NEFF in d": [
            ["a.neff", "2048", "128", "7", "x[4,8]:bfloat16", "x[4,8]:bfloat16", "trn2", "2", "2.21", "simulated"],
            ["b.neff", "2048", "", "7", "x[4,8]:bfloat16", "y[4]:odd", "trn2", "2", "2.21", ""],
        ],
        "HLO": [["h.hlo", "64", "1", "x[4,8]:bfloat16", "[]:pred"]],
        "NTFF in d": [["t.ntff", "6", "exact", "100", "2.000", "9", "0.500", "0.100", "64", ""], ["e/u.ntff", "6", "exact", "100", "2.000", "9", "", "", "", "cannot tell"]],
        "Profiles": [["p.json", "2.000", "25.00%", "", "", "7.2", "1 of 9 disagree", "trn2", ""]],
        "Sessions": [["s.json", "3.000", "1"]],
    }  # fmt: skip
    assert numbers(NEFF, lists=True)["NEFF in d"] == ["file bytes", "tensor bytes", "instructions"]


@pytest.mark.parametrize(
    ("size", "said"),
    [(None, None), (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1024**2 - 1, "1024.0 KiB"), (1024**2, "1.0 MiB"), (1024**3, "1.0 GiB"), (3 * 1024**4, "3072.0 GiB")],
)  # fmt: skip
def test_a_size_has_the_unit_that_shells_print(size, said):
    assert _bytes(size) == said


def test_files_are_named_below_the_directory_that_all_lie_in():
    assert _names([{"path": "/a/b/x"}, {"path": "/a/c/y"}]) == ("/a", ["b/x", "c/y"])
    assert _names([{"path": "x"}, {"path": "c/y"}]) == ("", ["x", "c/y"])
    assert _names([{"path": "/a/x"}, {"path": "y"}]) == ("", ["/a/x", "y"])


@pytest.mark.parametrize(
    ("name", "value", "figure"),
    [
        ("total_time_s", 1e-6, ("total_time (us)", "1.000")), ("total_time_s", 1, ("total_time_s", 1)), ("mfu_fraction", 0.5, ("mfu_percent", "50.00%")),
        ("mfu_fraction", None, ("mfu_fraction", None)), ("ratio", 2.25, ("ratio", "2.2")), ("count", 3, ("count", 3)),
    ],
)  # fmt: skip
def test_a_figure_has_the_unit_that_people_read(name, value, figure):
    assert _figure(name, value) == figure


def test_records_are_flat():
    assert _flat({"a": {"b": 1, "c": {"d": 2}}, "e": [{}], "f": None}) == {"a.b": 1, "a.c.d": 2, "e": "[{}]", "f": None}
    one = answer([{"kind": "session", "path": "s", "cores": []}], lists=False)
    assert one.records == [{"kind": "session", "path": "s", "cores": "[]"}] and list(one.fields) == [
        "kind",
        "path",
        "cores",
    ]
    assert answer([{"path": "x", "error": "torn"}], lists=True).grids == []
