"""The timeline of neuron-explorer's Parquet directory."""

import operator

import msgspec
import orjson
import pytest

from neff_bench.parsers.errors import ParseError
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
