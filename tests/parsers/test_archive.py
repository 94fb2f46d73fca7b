"""Archives that no compiler wrote are refused by name and offset."""

import gzip
import tarfile
import zlib

import pytest

from neff_bench.parsers import archive
from neff_bench.parsers.archive import Member, Stream, unpack, walk
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.neff import read_neff


def entry(name, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


HOSTILE = {
    "absolute": entry("/etc/passwd"),
    "upwards": entry("sg00/../../x"),
    "symlink": entry("x", tarfile.SYMTYPE, "/etc/passwd"),
    "hardlink": entry("x", tarfile.LNKTYPE, "info.json"),
    "device": entry("x", tarfile.CHRTYPE),
    "fifo": entry("x", tarfile.FIFOTYPE),
    "upward directory": entry("../x", tarfile.DIRTYPE),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_members_are_refused(files, write, case):
    data = files.tar_of(files.neff_members(), [HOSTILE[case]])
    path = write("a.neff", files.neff_header(len(data)) + data)
    with pytest.raises(ParseError, match="plain files only") as caught:
        read_neff(path)
    assert caught.value.path == str(path) and caught.value.offset % 512 == 0


def test_a_gzip_bomb_is_refused(files, write):
    squeeze = zlib.compressobj(1, zlib.DEFLATED, 31)
    data = b"".join([squeeze.compress(bytes(1 << 20)) for _ in range(128)] + [squeeze.flush()])
    path = write("a.neff", files.neff_header(len(data)) + data)
    with pytest.raises(ParseError, match="gzip bomb"):
        read_neff(path)


def test_long_names_of_other_tar_programs_are_read(files, write):
    import io

    name = "debug_info/" + "n" * 200
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as archive:
            archive.addfile(entry("./"[:-1], tarfile.DIRTYPE))
            for member, data in {**files.neff_members(), name: b"long"}.items():
                info = entry("./" + member)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        path = write("a.neff", files.neff_header(len(out.getvalue())) + out.getvalue())
        neff = read_neff(path)
        assert neff.members[-1].name == name and neff.members[-1].bytes == 4
        assert neff.inputs[0].name == "x"


def test_a_lying_member_size_is_found(files, write):
    data = bytearray(files.tar_of({"readme": b"{}"}))
    data[124:136] = b"77777777777\0"
    checksum = sum(data[:148]) + sum(data[156:512]) + 8 * 32
    data[148:156] = f"{checksum:06o}\0 ".encode()
    path = write("a.neff", files.neff_header(len(data)) + bytes(data))
    with pytest.raises(ParseError, match="cut short"):
        read_neff(path)


def test_a_flipped_bit_in_gzip_is_found(files, write):
    data = bytearray(gzip.compress(files.tar_of(files.neff_members()), mtime=0))
    data[len(data) // 2] ^= 4
    path = write("a.neff", files.neff_header(len(data)) + bytes(data))
    with pytest.raises(ParseError) as caught:
        read_neff(path)
    assert caught.value.offset is not None


def test_a_flipped_bit_in_a_plain_archive_header_is_found(files, write):
    data = bytearray(files.tar_of(files.neff_members()))
    data[3] ^= 1
    with pytest.raises(ParseError, match="bad checksum") as caught:
        read_neff(write("a.neff", files.neff_header(len(data)) + bytes(data)))
    assert caught.value.offset == 0


def members(data):
    return [*walk("x", Stream(iter([memoryview(data)])))]


def refusal(read):
    with pytest.raises(ParseError) as caught:
        read()
    return caught.value.offset, caught.value.what


def test_a_name_of_ustar_has_a_prefix_of_155_characters(files):
    name = f"{'p' * 155}/{'n' * 100}"
    data = files.tar_of({name: b"12345", "./a//b": b"6"})
    assert members(data) == [Member(name, 5, 512), Member("a/b", 1, 1536)]
    other = bytearray(data)
    other[257:263] = b"ustar "
    other[148:156] = f"{sum(other[:148]) + sum(other[156:512]) + 256:06o}\0 ".encode()
    assert members(bytes(other))[0].name == "n" * 100


@pytest.mark.parametrize(
    ("field", "number"),
    [
        (b"00000000012\0", 10),
        (b"         12 ", 10),
        (bytes(12), 0),
        (b"00000000018\0", None),
        (b"\x80" + bytes(9) + b"\x01\x02", 258),
    ],
)
def test_a_number_of_a_header_is_octal_or_binary(field, number):
    assert archive._octal(field) == number


def test_what_is_torn_is_told_with_its_offset(files):
    data = files.tar_of({"a": b"1" * 600})
    assert refusal(lambda: members(data[:100])) == (
        0, "the archive ends inside a header: the file is truncated (offset of the unpacked archive)"
    )  # fmt: skip
    assert refusal(lambda: members(data[:1535])) == (1535, "member 'a' is cut short (offset of the unpacked archive)")
    assert members(data[:1536] + bytes(512)) == [Member("a", 600, 512)]
    packed = gzip.compress(data, mtime=0)
    pieces = [packed[:40], packed[40:-9]]
    assert refusal(lambda: [*unpack("x", iter(pieces), 1000, True)]) == (
        1000 + len(packed) - 9, "the gzip stream has no end: the file is truncated"
    )  # fmt: skip
    assert b"".join(unpack("x", iter([packed, b"\0" * 9]), 0, True)) == data
    assert b"".join(unpack("x", iter([data[:9], data[9:]]), 0, False)) == data


def test_an_archive_has_a_most_of_members_and_a_name_a_most_of_bytes(files, monkeypatch):
    data = files.tar_of({"a": b"", "b": b"", "c": b""})
    monkeypatch.setattr(archive, "MEMBERS_MAX", 3)
    assert refusal(lambda: members(data)) == (1536, "more than 3 members (offset of the unpacked archive)")
    monkeypatch.setattr(archive, "MEMBERS_MAX", 4)
    assert len(members(data)) == 3
    monkeypatch.setattr(archive, "LONG_NAME_BYTES_MAX", 5)
    assert archive._long_text("x", 7, Stream(iter([memoryview(b"12345")])), 5) == b"12345"
    assert refusal(lambda: archive._long_text("x", 7, Stream(iter([])), 6)) == (
        7, "a member name of 6 bytes (offset of the unpacked archive)"
    )  # fmt: skip


def test_bytes_may_expand_freely_and_then_a_hundredfold(monkeypatch):
    packed = gzip.compress(bytes(100_000), mtime=0)
    monkeypatch.setattr(archive, "EXPANSION_FREE_BYTES", 100_000 - 100 * len(packed))
    assert sum(map(len, unpack("x", iter([packed]), 0, True))) == 100_000
    monkeypatch.setattr(archive, "EXPANSION_FREE_BYTES", 100_000 - 100 * len(packed) - 1)
    offset, what = refusal(lambda: [*unpack("x", iter([packed]), 50, True)])
    assert offset == 50 + len(packed) and what.startswith(f"{len(packed)} packed bytes hold more than 100000: a gzip")
