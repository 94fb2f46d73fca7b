"""What a NEFF says of itself."""

import pytest

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.neff import read_members, read_neff, read_uuid
from neff_bench.parsers.plausibility import straight


def test_everything_is_read(files, write):
    neff = read_neff(write("a.neff", files.neff_of(files.neff_members())))
    assert [(t.name, t.shape, t.dtype, t.bytes) for t in neff.inputs] == [
        ("x", (4, 8), "bfloat16", 64),
        ("y", (8, 2), "bfloat16", 32),
    ]
    assert [(t.name, t.shape, t.bytes) for t in neff.outputs] == [("out", (4, 2), 16)]
    assert (neff.target, neff.architecture, neff.lnc) == ("trn2", "cayman", 2)
    assert neff.uuid == files.UUID.hex() and neff.hash == "11" * 16
    assert neff.compiler_version == "2.23.6484.0+3b612583"
    assert {name: engine.instruction_count for name, engine in neff.engines.items()} == {"tensor": 10, "scalar": 6}
    assert [(queue.name, queue.core, queue.owner) for queue in neff.queues] == [
        ("qSPDynamicHW", 0, "sp"),
        ("qSPDynamicHW", 1, "sp"),
    ]
    assert neff.hlo_mac_count == 64 and not neff.simulated
    assert {member.name: member.bytes for member in neff.members}["sg00/PE.bin"] == 320


@pytest.mark.parametrize("packed", [True, False])
def test_packed_and_plain_archives_read_the_same(files, write, packed):
    neff = read_neff(write("a.neff", files.neff_of(files.neff_members(), packed)))
    assert neff.outputs[0].shape == (4, 2)


def test_a_header_from_before_logical_cores_means_one(files, write):
    assert read_neff(write("a.neff", files.neff_of(files.neff_members(1), lnc=0))).lnc == 1


def test_trn1_and_inf2_cannot_be_told_apart_unless_the_file_says(files, write):
    members = files.neff_members()
    members["kelf-0.json"] = members["kelf-0.json"].replace(b"cayman", b"sunda")
    assert read_neff(write("a.neff", files.neff_of(members))).target == "trn1/inf2"
    members["info.json"] = b'{"target": "inf2", "tool_version": "x"}'
    assert read_neff(write("b.neff", files.neff_of(members))).target == "inf2"


def test_an_unknown_core_generation_keeps_its_own_name(files, write):
    members = files.neff_members()
    members["kelf-0.json"] = members["kelf-0.json"].replace(b"cayman", b"newcore")
    assert read_neff(write("a.neff", files.neff_of(members))).target == "newcore"


def test_bytes_of_an_unknown_dtype_are_unknown(files, write):
    neff = read_neff(write("a.neff", files.neff_of(files.neff_members(dtype="float6x"))))
    assert [tensor.bytes for tensor in neff.inputs] == [64, None]


def test_an_engine_whose_stream_is_not_made_of_slots_has_no_count(files, write):
    members = {**files.neff_members(), "sg01/PE.bin": bytes(65)}
    assert set(read_neff(write("a.neff", files.neff_of(members))).engines) == {"scalar"}


def test_a_member_is_read_alone(files, write):
    path = write("a.neff", files.neff_of({**files.neff_members(), "sim/program.msgpack": b"\x80"}))
    assert read_members(path, {"sim/program.msgpack", "nothing"}) == {"sim/program.msgpack": b"\x80"}
    assert read_neff(path).simulated
    assert read_uuid(path) == files.UUID.hex()
    with pytest.raises(ParseError, match="more than 4"):
        read_members(path, {"sg00/PE.bin"}, bytes_max=4)


@pytest.mark.parametrize("missing", ["neff.json", "kelf-0.json", "sg01/def.json"])
def test_a_needed_member_that_is_missing_is_named(files, write, missing):
    members = {name: data for name, data in files.neff_members().items() if name != missing}
    with pytest.raises(ParseError, match=f"no member {missing}"):
        read_neff(write("a.neff", files.neff_of(members)))


@pytest.mark.parametrize(
    "member", [b"[" * 100_000, b"", b"{", b"NaN", b'{"nodes": 3}', b"\xff", b'{"arg_nodes": [1e999], "nodes": []}']
)
def test_damaged_json_members_are_named(files, write, member):
    with pytest.raises(ParseError, match="member neff.json"):
        read_neff(write("a.neff", files.neff_of({**files.neff_members(), "neff.json": member})))


def test_indices_outside_of_their_tables_are_an_error(files, write):
    members = files.neff_members()
    members["neff.json"] = members["neff.json"].replace(b'"arg_nodes": [0, 1]', b'"arg_nodes": [0, 7]')
    with pytest.raises(ParseError, match="outside of its table"):
        read_neff(write("a.neff", files.neff_of(members)))


def test_other_files_are_not_neffs(write, tmp_path):
    for data in (b"x", b"\0" * 2000, b"\x06" + bytes(3000)):
        with pytest.raises(ParseError, match="not a NEFF"):
            read_neff(write("a.neff", data))
    for path, what in (
        (tmp_path, "a directory"),
        (tmp_path / "absent", "No such file"),
        (write("empty", b""), "empty file"),
    ):
        with pytest.raises(ParseError, match=what):
            read_neff(path)


def test_a_fifo_is_refused_without_waiting(tmp_path):
    import os

    os.mkfifo(tmp_path / "a.neff")
    with pytest.raises(ParseError, match="not a regular file"):
        read_neff(tmp_path / "a.neff")


def test_a_huge_sparse_file_is_refused_at_once(files, tmp_path):
    path = tmp_path / "a.neff"
    with open(path, "wb") as file:
        file.write(files.neff_header((10 << 30) - 1024))
        file.truncate(10 << 30)
    with pytest.raises(ParseError, match="neither gzip nor tar"):
        read_neff(path)


def test_a_stream_that_jumps_is_not_counted_against_what_ran(files, write):
    members = {**files.neff_members(), "sg00/PE.bin": (b"\xa9" + bytes(63)) * 2 + bytes(3 * 64)}
    neff = read_neff(write("a.neff", files.neff_of(members)))
    assert neff.engines["tensor"].branch_count == 2
    assert "tensor" not in straight(neff)
    assert "scalar" in straight(neff)


def test_a_header_that_announces_more_than_there_is_says_so(files, write):
    data = files.neff_of(files.neff_members())
    there = len(data) - 1024
    assert read_neff(write("whole.neff", data)).bytes == len(data)
    with pytest.raises(ParseError) as caught:
        read_neff(write("a.neff", data[:-1]))
    said = f"the header announces {there} bytes of data, {there - 1} are there: truncated"
    assert (caught.value.offset, caught.value.what) == (len(data) - 1, said)


@pytest.mark.parametrize(("lnc", "read"), [(0, 1), (1, 1), (2, 2), (3, None)])
def test_a_logical_core_is_one_or_two(files, write, lnc, read):
    path = write("a.neff", files.neff_of(files.neff_members(), lnc=lnc))
    if read is not None:
        assert read_neff(path).lnc == read
        return
    with pytest.raises(ParseError) as caught:
        read_neff(path)
    assert (caught.value.offset, caught.value.what) == (552, "logical core size 3, expected 1 or 2")
