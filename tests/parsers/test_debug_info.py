"""Names and lines for the instructions of a trace, from the NEFF beside it."""

import json

import pytest

from neff_bench.parsers.container import read_container
from neff_bench.parsers.debug_info import StreamLabels, _entry, _in_one_piece, align, read_labels
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.event_tables import read_timeline
from neff_bench.parsers.source_files import source_files


def slot(opcode, rest=0):
    return bytes([opcode, 0x10, rest]) + bytes(61)


PLACEHOLDER, PSEUDO, TRANSFER = slot(0xCC), slot(0xD4, 1), slot(0xB8, 9)


def test_a_stream_that_lies_in_the_loaded_one_in_one_piece():
    compiled = [slot(0xB1), PLACEHOLDER, slot(0x21, 1), PSEUDO, slot(0x21, 1)]
    loaded = [slot(0xA2), slot(0xB1), slot(0x21, 1), TRANSFER, slot(0x21, 1), slot(0xA6)]
    assert align(compiled, loaded) == [None, 0, 2, 3, 4, None]


def test_where_the_loader_put_something_between_the_rest_is_still_found():
    compiled = [slot(0x21, 1), slot(0x21, 2), slot(0x21, 3)]
    assert align(compiled, [slot(0x21, 1), slot(0xA4), slot(0x21, 2), slot(0x21, 3)]) == [0, None, 1, 2]


def test_a_place_that_is_not_the_only_one_is_no_place():
    assert align([PSEUDO], [TRANSFER, slot(0xA4), TRANSFER]).count(0) <= 1


def test_the_address_of_a_dma_comes_before_it_in_the_loaded_stream():
    compiled = [slot(0xCE, 1), slot(0xA8, 2), slot(0xD4, 3), slot(0xDA), slot(0x21, 1)]
    loaded = [slot(0xA2), slot(0xAA, 9), slot(0xA8, 2), slot(0xA7, 9), slot(0xB8, 9), slot(0x21, 1)]
    assert align(compiled, loaded) == [None, 0, 1, 3, 2, 4]


@pytest.fixture
def pair(files, write):
    """A NEFF whose Activation stream is what the trace's scalar engine has loaded from slot 1 on."""
    code = b"".join(bytes([opcode]) + bytes(63) for opcode in files.OPCODES)
    members = files.neff_members(lnc=1)
    asm = [files.message((3, bytes([100 + number]))) for number in range(5)]
    details = {
        number: [(7, files.message((1, key), (2, value))) for key, value in known.items()]
        for number, known in {
            0: {"kernel_file": "/home/u/mlp.py", "kernel_line": "33"},
            1: {"kernel_file": "1", "kernel_line": "34", "kernel_name": "0"},
        }.items()
    }
    backend = [
        files.message((1, 100 + number), (2, f"inst.{number}-act"), *details.get(number, ())) for number in range(5)
    ]
    tables = [(5, "/home/u/f.py"), (5, "/home/u/mlp.py"), (7, "k.f")]
    tree = [{"info": [{"func": {"name": "k.f", "file": "/home/u/f.py", "line": 7, "children": [
        {"iter": {"var": "i", "val": "0", "line": 9, "children": [
            {"func": {"name": "mlp", "file": "/home/u/mlp.py", "line": 30, "children": [{"inst": {"name": "inst.1", "line": 34}}]}},
            {"inst": {"name": "inst.2", "line": 10}}]}}]}}]}]  # fmt: skip
    index = {"debug_info_files": [{"file_name": "f.json", "kernel_name": "k.f"}]}
    members["kernel_debug_info.json"] = json.dumps(index).encode()
    members["f.json"] = json.dumps(tree).encode()
    definition = {"dma_queue": {"qPoolDynamic": {"semaphore_set": [2]}}, "runtime_semaphore_count": 3}
    members["sg00/def.json"] = json.dumps({**json.loads(members["sg00/def.json"]), **definition}).encode()
    members["sg00/Activation.bin"] = code[64:]
    members["sg00/debug_info_asm_Activation.dbg"] = files.message(*((3, one) for one in asm))
    members["sg00/debug_info_backend_Activation.dbg"] = files.message(*((3, one) for one in backend), *tables)
    neff = write("file.neff", files.neff_of(members, lnc=1))
    rows = [*files.instruction(1, 1, 100, 200), *files.instruction(1, 0, 0, 10), *files.instruction(0, 0, 300, 400)]
    return neff, write("p.ntff", files.ntff_of(rows, files.packet(3, 1, 64, 5, 9), [files.semaphore(2, 7, 2000)]))


def test_the_source_files_of_a_program_are_those_that_its_lines_and_callers_name(pair):
    assert source_files(pair[0]) == ("/home/u/f.py", "/home/u/mlp.py")


def test_labels_come_by_place_in_the_stream(pair):
    labels = read_labels(pair[0], read_container(pair[1]))
    assert set(labels) == {(4, 1)}
    first, *others = labels[4, 1].labels
    assert first is None and [label.name for label in others] == [f"inst.{number}-act" for number in range(5)]
    assert (others[0].bir_id, others[0].source, others[2].source) == (100, "/home/u/mlp.py:33", None)


def test_a_file_is_found_by_its_number_and_a_call_stack_by_the_kernel_and_the_name(pair):
    _, plain, helper, *_ = read_labels(pair[0], read_container(pair[1]))[4, 1].labels
    assert plain.callers == ()
    assert (helper.source, helper.callers) == ("/home/u/mlp.py:34", ("/home/u/f.py:9",))


def test_the_timeline_has_names_lines_and_says_what_has_none(pair):
    timeline = read_timeline(pair[1], pair[0])
    named = {
        (row.subgroup, row.pc): (row.bir_instruction_name, row.nki_source_location, row.alignment)
        for row in timeline.instructions
    }
    assert named == {
        ("Scalar", 0): ("", None, "runtime"),
        ("Scalar", 1): ("inst.0-act", "/home/u/mlp.py:33", "compiled"),
        ("Tensor", 0): ("", None, ""),
    }
    assert timeline.unnamed_count == 0
    (packet,), (update,) = timeline.dma, timeline.semaphores
    assert (packet.transfer_size, packet.queue_type, packet.subgroup) == (64, "instruction", "Q1-E67")
    assert (update.id, update.value, update.timestamp, update.subgraph) == ("S[2] (qGpSimdDynamic)", 7, 2, "sg00")
    assert read_timeline(pair[1]).unnamed_count is None


def test_the_neff_of_another_program_is_refused(pair, files, write):
    other = write("other.neff", files.neff_of(files.neff_members(), uuid=bytes(range(16))))
    with pytest.raises(ParseError, match="another program"):
        read_timeline(pair[1], other)


def test_slots_outside_of_the_compilers_are_the_runtimes():
    labels = StreamLabels(("first", None, "last"), (True, False, True), 0, 2)
    assert [labels.of(pc) for pc in (0, 1, 2)] == [("first", "compiled"), (None, "unaligned"), ("last", "compiled")]
    assert [labels.of(pc) for pc in (-1, 3)] == [(None, "runtime")] * 2
    longer = StreamLabels((None, "first", "last"), (False, True, True), 1, 2)
    assert longer.of(0) == (None, "runtime")
    assert labels.of(-1) == labels.of(3) == (None, "runtime")


def test_a_value_is_the_number_of_an_entry_or_stands_for_itself():
    values = ["0", "1", "2", "name", None]
    assert [_entry(["first", "second"], value) for value in values] == ["first", "second", "2", "name", ""]


def slots(text):
    """A slot of 64 bytes for each letter; those between M and P are what the loader replaces or drops."""
    return [bytes([ord(letter)]) * 64 for letter in text]


@pytest.mark.parametrize(
    ("compiled", "loaded", "places"),
    [
        ("", "ab", [None, None]), ("ab", "", []), ("ab", "xaby", [None, 0, 1, None]), ("ab", "ab", [0, 1]),
        ("ab", "axb", [0, None, 1]), ("ab", "xy", [None, None]), ("aab", "aaab", [None, 0, 1, 2]),
    ],
)  # fmt: skip
def test_a_loaded_slot_is_laid_over_the_compiled_one_that_it_came_from(compiled, loaded, places):
    assert align(slots(compiled), slots(loaded)) == places


def test_a_stream_that_lies_in_two_places_is_in_none_as_a_whole():
    assert _in_one_piece(slots("ab"), slots("abab")) is None
    assert _in_one_piece(slots("ab"), slots("xab")) == 1 and _in_one_piece(slots("ab"), slots("a")) is None
    assert _in_one_piece([], slots("a")) is None
