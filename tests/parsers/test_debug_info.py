"""Names and lines for the instructions of a trace, from the NEFF beside it."""

import pytest

from neff_bench.parsers.container import read_container
from neff_bench.parsers.debug_info import align, read_labels
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.event_tables import read_timeline


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


@pytest.fixture
def pair(files, write):
    """A NEFF whose Activation stream is what the trace's scalar engine has loaded from slot 1 on."""
    code = b"".join(bytes([opcode]) + bytes(63) for opcode in files.OPCODES)
    members = files.neff_members(lnc=1)
    asm = [files.message((3, bytes([100 + number]))) for number in range(5)]
    details = [
        (7, files.message((1, "kernel_file"), (2, "/home/u/mlp.py"))),
        (7, files.message((1, "kernel_line"), (2, "33"))),
    ]
    backend = [
        files.message((1, 100 + number), (2, f"I-{number}"), *(details if number == 0 else ())) for number in range(5)
    ]
    members["sg00/Activation.bin"] = code[64:]
    members["sg00/debug_info_asm_Activation.dbg"] = files.message(*((3, one) for one in asm))
    members["sg00/debug_info_backend_Activation.dbg"] = files.message(*((3, one) for one in backend))
    neff = write("file.neff", files.neff_of(members, lnc=1))
    rows = [*files.instruction(1, 1, 100, 200), *files.instruction(1, 0, 0, 10), *files.instruction(0, 0, 300, 400)]
    return neff, write("p.ntff", files.ntff_of(rows, files.packet(3, 1, 64, 5, 9), [files.semaphore(2, 7, 2000)]))


def test_labels_come_by_place_in_the_stream(pair):
    labels = read_labels(pair[0], read_container(pair[1]))
    assert set(labels) == {(4, 1)}
    first, *others = labels[4, 1]
    assert first is None and [label.name for label in others] == [f"I-{number}" for number in range(5)]
    assert (others[0].bir_id, others[0].source, others[1].source) == (100, "mlp.py:33", None)


def test_the_timeline_has_names_lines_and_says_what_has_none(pair):
    timeline = read_timeline(pair[1], pair[0])
    named = {
        (row.subgroup, row.pc): (row.bir_instruction_name, row.nki_source_location) for row in timeline.instructions
    }
    assert named == {("Scalar", 0): ("", None), ("Scalar", 1): ("I-0", "mlp.py:33"), ("Tensor", 0): ("", None)}
    assert timeline.unnamed_count == 1
    (packet,), (update,) = timeline.dma, timeline.semaphores
    assert (packet.transfer_size, packet.queue_type, packet.subgroup) == (64, "instruction", "Q1-E67")
    assert (update.id, update.value, update.timestamp, update.subgraph) == ("2", 7, 2, "sg00")
    assert read_timeline(pair[1]).unnamed_count is None


def test_the_neff_of_another_program_is_refused(pair, files, write):
    other = write("other.neff", files.neff_of(files.neff_members(), uuid=bytes(range(16))))
    with pytest.raises(ParseError, match="another program"):
        read_timeline(pair[1], other)
