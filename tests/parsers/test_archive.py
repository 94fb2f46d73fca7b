"""Archives that no compiler wrote are refused by name and offset."""

import gzip
import tarfile
import zlib

import pytest

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
