"""The timeline of neuron-explorer's Parquet directory."""

import operator

import msgspec
import orjson
import pytest

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.event_rows import (
    Dependence,
    DmaRow,
    InstructionRow,
    LinkedInstructionRow,
    Predecessor,
    SensitivityRow,
    UsageRow,
)
from neff_bench.parsers.event_tables import read_timeline, timeline_of_json
from neff_bench.parsers.parquet_tables import _packet
from neff_bench.simulator.commands.view import load_profile, tables_of, write_parquet
from neff_bench.simulator.files.neff import write_neff
from tests.simulator.programs import matmul, meeting

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture
def directory(tmp_path):
    """Writes tables, given as lists of rows, and returns their directory."""

    def write(**tables):
        import pyarrow.parquet

        for name, rows in {"Summary": [{"total_time": 1e-5}], **tables}.items():
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / f"{name}.parquet")
        return tmp_path

    return write


INSTRUCTION = {
    "start_ts": 1_000_500,
    "duration_ns": 40,
    "engine": "tensor",
    "opcode": "MATMUL",
    "pcore_idx": 4,
    "id": 7,
}


@pytest.mark.parametrize("program", [matmul(lnc=2), meeting()], ids=lambda program: program.name)
def test_the_simulators_tables_and_its_json_are_one_timeline(tmp_path, program):
    neff = str(tmp_path / "file.neff")
    write_neff(program, neff)
    profile = load_profile(neff, None)
    write_parquet(profile, neff, "x.ntff", str(tmp_path / "parquet"))
    tables = read_timeline(tmp_path / "parquet", linked=True)
    json = timeline_of_json(orjson.dumps(tables_of(profile, neff, "x.ntff")), linked=True)

    def in_order(rows):
        return sorted(rows, key=lambda row: (row.timestamp, row.subgraph, repr(msgspec.structs.astuple(row)[3:])))

    for name in ("instructions", "dma", "usage", "sensitivity"):
        ours, theirs = ([*getattr(timeline, name)] for timeline in (tables, json))
        assert len(ours) == len(theirs) > 0
        assert name == "sensitivity" or [row.timestamp for row in in_order(ours)] == [
            row.timestamp for row in in_order(theirs)
        ]
    place = operator.attrgetter("subgraph", "subgroup", "pc")
    assert sorted(tables.instructions, key=place) == sorted(json.instructions, key=place)
    assert tables.simulated and tables.summary["total_time"] == json.summary["total_time"]


def test_columns_are_found_without_their_unit_which_the_schema_fields_tell(directory):
    """As a later schema may have them: other units, a split table, more columns."""
    path = directory(
        Metadata=[{"profile_schema_version": "12.0.1", "first_hw_timestamp": 1_000_000}],
        SchemaFields=[
            {"table_name": "Instruction", "field_name": "duration_us", "field_unit": "us"},
            {"table_name": "Instruction", "field_name": "start_ts", "field_unit": "ns"},
        ],
        Instruction_0=[{"duration_us": 0.5, **INSTRUCTION, "duration_ns": None, "new_column": 1}],
        Instruction_1=[
            {**INSTRUCTION, "start_ts": 1_000_900, "duration_us": 2.0, "duration_ns": None, "engine": "Vector"}
        ],
    )
    first, second = read_timeline(path).instructions
    assert (first.timestamp, first.duration, first.subgroup, first.subgraph) == (500, 500, "Tensor", "sg00")
    assert (second.timestamp, second.duration, second.subgroup) == (900, 2000, "Vector")


def test_a_line_has_the_call_stack_of_its_kernel_instruction(directory):
    frames = [("1", None, "/k.py", 12), ("2", "1", "/mlp.py", 30), ("3", "2", "/tiles.py", 7)]
    names = ("stack_frame_id", "parent_stack_frame_id", "file_path", "line_number")
    path = directory(
        Instruction=[{**INSTRUCTION, "kernel_instruction_name": "inst.1"}],
        KernelInstructions=[
            {"kernel_instruction_name": "inst.1", "stack_frame_id": "3", "file_path": "/tiles.py", "line_number": 7}
        ],
        KernelStackFrames=[dict(zip(names, frame, strict=True)) for frame in frames],
        Flow=[{"in_id": 3, "out_id": 7, "in_table": "Instruction", "out_table": "Instruction"}],
    )
    (row,) = read_timeline(path, linked=True).instructions
    assert (row.nki_source_location, row.nki_call_stack) == ("/tiles.py:7", ("/k.py:12", "/mlp.py:30"))
    assert [before.id for before in row.predecessors] == [3]


def test_packets_and_semaphores_are_rows_and_warnings_notes(directory):
    path = directory(
        Instruction=[INSTRUCTION],
        DmaPacket=[{"start_ts": 10, "duration_ns": 5, "transfer_bytes": 512, "queue_idx": 1, "engine_idx": 66,
                    "queue_type": "dynamic", "queue_name": "qSyncDynamicHW", "variable": "x", "pcore_idx": 4}],
        SemaphoreUpdate=[{"timestamp": 12, "id": "S[8] (qSyncDynamicHW)", "value": 3, "pcore_idx": 5}],
        Warning=[{"message": "no DGE notifications"}],
    )  # fmt: skip
    timeline = read_timeline(path)
    (packet,), (update,) = timeline.dma, timeline.semaphores
    assert (packet.transfer_size, packet.subgroup, packet.queue_name) == (512, "Q1-E66", "qSyncDynamicHW")
    assert (update.id, update.value, update.subgraph) == ("S[8] (qSyncDynamicHW)", 3, "sg01")
    assert timeline.notes == ("no DGE notifications",)


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ({}, "no Instruction table"),
        ({"Instruction": [{"begin": 1, "opcode": "NOP"}]}, "no column for timestamp.*its columns: begin, opcode"),
    ],
)
def test_what_is_missing_is_named(directory, tables, says):
    with pytest.raises(ParseError, match=says):
        read_timeline(directory(**tables))


def test_an_instruction_without_an_engine_has_an_empty_one(directory):
    (row,) = read_timeline(directory(Instruction=[{**INSTRUCTION, "engine": None}])).instructions
    assert row.subgroup == ""


def test_a_table_without_durations_has_those_from_begin_to_end(directory):
    unknown = {key: value for key, value in INSTRUCTION.items() if key != "duration_ns"}
    (row,) = read_timeline(directory(Instruction=[{**unknown, "end_ts": 1_000_540}])).instructions
    assert (row.timestamp, row.duration) == (1_000_500, 40)
    (row,) = read_timeline(directory(Instruction=[{**INSTRUCTION, "duration_ns": 7, "end_ts": 1_000_540}])).instructions
    assert row.duration == 7


PACKET = {"timestamp": 5, "duration": 7, "transfer_size": 512, "subgraph": "sg00"}


@pytest.mark.parametrize(
    ("fields", "subgroup", "engine", "queue", "trigger"),
    [
        ({"dma_queue": 3, "dma_engine": 17}, "Q3-E17", "17", "3", -1), ({"dma_queue": 3, "dma_engine": 0}, "Q3-E0", "0", "3", -1),
        ({"dma_queue": 3, "queue_name": "qSP"}, "qSP", "", "3", -1), ({"dma_queue": 3}, "Q3", "", "3", -1),
        ({"dma_queue": 0, "dma_engine": 1, "trigger": 0}, "Q0-E1", "1", "0", 0),
    ],
)  # fmt: skip
def test_a_packet_has_the_name_of_its_queue_and_engine(fields, subgroup, engine, queue, trigger):
    row = _packet({**PACKET, **fields}, True)
    assert (row.subgroup, row.dma_engine, row.dma_queue, row.trigger) == (subgroup, engine, queue, trigger)
    assert (row.timestamp, row.duration, row.transfer_size) == (5, 7, 512)
    bare = _packet({"timestamp": 5, "subgraph": "sg00", "dma_queue": 1}, False)
    assert (bare.duration, bare.transfer_size, bare.queue_type, bare.variable, bare.nki_call_stack) == (
        0,
        0,
        "",
        "",
        (),
    )
    assert not hasattr(bare, "trigger")
    assert _packet({**PACKET, "nki_call_stack": ["a:1", "b:2"]}, False).nki_call_stack == ("a:1", "b:2")


WHOLE = {
    "timestamp": 9, "duration": 7, "evt_wait_time": 3, "subgroup": "sync", "subgraph": "sg01", "opcode": "NOP", "pc": 5, "operands": "a=1",
    "bir_instruction_name": "I-1", "raw_bir_id": 4, "hlo_name": "dot", "nki_source_location": "k.py:2", "nki_call_stack": ["m.py:1"],
    "alignment": "runtime",
}  # fmt: skip
LINKED = {
    "id": 8, "instruction_type": "REGULAR", "predecessors": [{"id": 3, "type": "FLOW_DEPENDENCE"}], "meets": 2,
    "dma_start_ns": 1.5, "dma_pace": "hbm",
}  # fmt: skip


def test_a_row_has_what_its_columns_say(directory):
    path = directory(Instruction=[{**WHOLE, **LINKED}])
    said = {**WHOLE, "subgroup": "Sync", "nki_call_stack": ("m.py:1",)}
    assert read_timeline(path).instructions == [InstructionRow(**said)]
    before = [Predecessor(3, Dependence.FLOW)]
    assert read_timeline(path, linked=True).instructions == [
        LinkedInstructionRow(**{**said, **LINKED, "predecessors": before})
    ]


def test_a_row_without_values_has_none_of_them(directory):
    bare = {"timestamp": 9, "opcode": "NOP"}
    empty = {key: None for key in {**WHOLE, **LINKED} if key not in bare}
    expected = InstructionRow(timestamp=9, opcode="NOP", pc=0)
    for rows in ([bare], [{**bare, **empty}]):
        path = directory(Instruction=rows)
        assert read_timeline(path).instructions == [expected]
        [row] = read_timeline(path, linked=True).instructions
        assert (row.id, row.meets, row.predecessors, row.dma_start_ns, row.dma_pace, row.instruction_type) == (
            -1,
            -1,
            [],
            0,
            "",
            "",
        )


def test_a_packet_has_what_its_columns_say(directory):
    said = {
        "timestamp": 9, "duration": 7, "transfer_size": 64, "subgraph": "sg01", "dma_engine": "5", "dma_queue": "2", "queue_type": "static",
        "queue_name": "qA", "variable": "v", "nki_source_location": "k.py:2", "nki_call_stack": ["m.py:1"],
    }  # fmt: skip
    [packet] = read_timeline(directory(Instruction=[INSTRUCTION], DmaPacket=[said])).dma
    assert packet == DmaRow(**{**said, "subgroup": "Q2-E5", "nki_call_stack": ("m.py:1",)})


def test_rows_are_in_the_order_of_time_whatever_their_part(directory):
    """Parts are read in the order of their numbers, after a whole table; a table of a longer name is another one."""
    rows = {name: [{**INSTRUCTION, "start_ts": time, "pc": pc}] for name, time, pc in (
        ("Instruction_10", 5, 3), ("Instruction_2", 5, 2), ("Instruction", 5, 1), ("Instruction_0", 4, 0), ("Instruction_Old_1", 1, 9),
    )}  # fmt: skip
    assert [row.pc for row in read_timeline(directory(**rows)).instructions] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("first", "times"), [(100, [0, 5]), (101, [100, 105]), (0, [100, 105]), (-5, [100, 105]), ("100", [100, 105])]
)
def test_times_count_from_the_start_of_the_execution(directory, first, times):
    path = directory(
        Metadata=[{"first_hw_timestamp": first}], Instruction=[{**INSTRUCTION, "start_ts": time} for time in (100, 105)]
    )
    assert [row.timestamp for row in read_timeline(path).instructions] == times


@pytest.mark.parametrize(
    ("column", "value", "ns"),
    [("duration_ps", 1500, 1.5), ("duration_ps", 2000, 2), ("duration_us", 2, 2000), ("duration_ms", 1, 10**6), ("duration_s", 2, 2 * 10**9),
     ("duration", 3, 3), ("duration_ns", 0.5, 0.5)],
)  # fmt: skip
def test_a_time_has_the_unit_of_its_name_where_the_schema_says_none(directory, column, value, ns):
    row = {key: value for key, value in INSTRUCTION.items() if key != "duration_ns"} | {column: value}
    [found] = read_timeline(directory(Instruction=[row])).instructions
    assert found.duration == ns
    fields = [{"table_name": "Instruction", "field_name": column, "field_unit": "ms"}]
    [found] = read_timeline(directory(Instruction=[row], SchemaFields=fields)).instructions
    assert found.duration == value * 10**6


def test_a_core_is_the_place_of_a_physical_core_where_no_subgraph_is_named(directory):
    rows = [{**INSTRUCTION, "pcore_idx": core, "subgraph": name, "pc": at} for at, (core, name) in enumerate(
        ((5, None), (4, "sg07"), (None, ""), (3, ""))
    )]  # fmt: skip
    found = read_timeline(directory(Instruction=rows)).instructions
    assert [row.subgraph for row in sorted(found, key=lambda row: row.pc)] == ["sg01", "sg07", "", "sg01"]


def test_aggregated_packets_stand_in_for_packets_and_say_so(directory):
    packet = {"start_ts": 1, "transfer_bytes": 8}
    note = "DMA rows stand for many packets each: the capture had no DGE notifications"
    timeline = read_timeline(directory(Instruction=[INSTRUCTION], DmaPacketAggregated=[packet]))
    assert (len(timeline.dma), timeline.notes) == (1, (note,))
    both = read_timeline(directory(DmaPacket=[packet, packet]))
    assert (len(both.dma), both.notes) == (2, ())


def test_a_timeline_is_simulated_where_metadata_or_summary_say_so(directory):
    assert not read_timeline(directory(Instruction=[INSTRUCTION])).simulated
    assert read_timeline(directory(Metadata=[{"is_simulation": True}])).simulated
    assert read_timeline(directory(Metadata=[{"a": 1}], Summary=[{"total_time": 1.0, "is_simulation": True}])).simulated


def test_usage_and_sensitivity_are_told_of_a_linked_timeline(directory):
    path = directory(
        Instruction=[INSTRUCTION], SbufUsage=[{"timestamp": 1, "avg_util_percent": 0.5, "pcore_idx": 1}],
        PsumUsage=[{"timestamp": 2, "avg_util_percent": None}],
        InstructionUsage=[{"timestamp": 3, "usage_avg": 0.25, "type": "sb"}, {"timestamp": 4, "usage_avg": 0.0, "type": None}],
        Sensitivity=[{"constant": "hbm", "change": "2x", "total_time_us": 3.5}, {"constant": "dma", "change": "0.5x", "total_time_us": None}],
    )  # fmt: skip
    timeline = read_timeline(path, linked=True)
    assert timeline.usage == [
        UsageRow(1, "sb", 0.5, "sg01"), UsageRow(2, "psum", 0.0, ""), UsageRow(3, "sb", 0.25, ""), UsageRow(4, "", 0.0, "")
    ]  # fmt: skip
    assert timeline.sensitivity == [SensitivityRow("hbm", "2x", 3.5), SensitivityRow("dma", "0.5x", 0.0)]


def test_only_what_flows_from_an_instruction_to_another_is_a_dependence(directory):
    flows = [(1, 7, None, None, "FLOW_DEPENDENCE"), (2, 7, "Instruction", None, None), (3, 7, "DmaPacket", "Instruction", None),
             (4, 7, "Instruction", "DmaPacket", None), (None, 7, None, None, None), (5, None, None, None, None), (6, 8, None, None, None)]  # fmt: skip
    names = ("in_id", "out_id", "in_table", "out_table", "dependency_type")
    path = directory(Instruction=[INSTRUCTION], Flow=[dict(zip(names, flow, strict=True)) for flow in flows])
    [row] = read_timeline(path, linked=True).instructions
    assert row.predecessors == [Predecessor(1, Dependence.FLOW), Predecessor(2, Dependence.OTHER)]


def test_a_stack_that_goes_in_circles_ends(directory):
    frame = {"stack_frame_id": "1", "parent_stack_frame_id": "1", "file_path": "k.py", "line_number": 1}
    kernel = {
        "kernel_instruction_name": "i",
        "stack_frame_id": "1",
        "file_path": "t.py",
        "line_number": 2,
        "subgraph": "sg00",
    }
    path = directory(
        Instruction=[{**INSTRUCTION, "kernel_instruction_name": "i"}],
        KernelStackFrames=[frame],
        KernelInstructions=[kernel],
    )
    [row] = read_timeline(path).instructions
    assert (row.nki_source_location, row.nki_call_stack) == ("t.py:2", ("k.py:1",) * 64)


def test_the_line_of_an_instruction_itself_counts_before_that_of_its_kernel_instruction(directory):
    kernel = {"kernel_instruction_name": "i", "stack_frame_id": None, "file_path": "t.py", "line_number": 2}
    rows = [{**INSTRUCTION, "kernel_instruction_name": name, "nki_source_location": source, "pc": at} for at, (name, source) in enumerate(
        (("i", "own.py:1"), ("i", None), ("j", None))
    )]  # fmt: skip
    found = read_timeline(directory(Instruction=rows, KernelInstructions=[kernel])).instructions
    assert [row.nki_source_location for row in found] == ["own.py:1", "t.py:2", None]
