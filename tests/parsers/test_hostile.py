"""Files made to hurt cost little memory: each is read by a fresh process that reports its peak."""

import json
import os
import subprocess
import sys
import zlib

import pytest

SCRIPT = """
import sys
from neff_bench.parsers.describe import describe
from neff_bench.parsers.errors import ParseError
from pathlib import Path
try:
    describe(Path(sys.argv[1]))
    print("read")
except ParseError as error:
    print(error)
try:
    print(int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))) * 1024)
except OSError:  # not Linux: includes what the process had before exec
    import resource
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""
BEYOND_THE_FILE_BYTES = 256 << 20


def sparse(path, head, size_bytes=10 << 30):
    with open(path, "wb") as file:
        file.write(head)
        file.truncate(size_bytes)


def bomb(files, path):
    squeeze = zlib.compressobj(1, zlib.DEFLATED, 31)
    data = b"".join([squeeze.compress(bytes(1 << 20)) for _ in range(200)] + [squeeze.flush()])
    path.write_bytes(files.neff_header(len(data)) + data)


def huge_member(files, path):
    members = {**files.neff_members(), "neff.json": b" " * (70 << 20)}
    path.write_bytes(files.neff_of(members))


def long_section(files, path):
    """10 GB of zeros announced as instruction records."""
    size = 10 << 30
    section = files.message((1, 0), (5, 0), (6, size - 4096), (7, 0))
    core = files.message((4, files.message((4, files.message((1, files.message((1, "sg00"))))))))
    metadata = core + files.message((15, files.message((2, 1), (3, 2)))) + files.message((16, section))
    sparse(path, bytes([6]) + len(metadata).to_bytes(7, "little") + bytes(120) + metadata, size)


def many_fields(files, path):
    metadata = b"\x18\x01" * (20 << 20)
    path.write_bytes(bytes([6]) + len(metadata).to_bytes(7, "little") + bytes(120) + metadata)


CASES = {
    "zeros.neff": lambda files, path: sparse(path, b""),
    "zeros.ntff": lambda files, path: sparse(path, b""),
    "zeros.json": lambda files, path: sparse(path, b""),
    "open.json": lambda files, path: sparse(path, b'{"total_time": 1, "x": "'),
    "spaces.json": lambda files, path: sparse(path, b"{"),
    "archive.neff": lambda files, path: sparse(path, files.neff_header((10 << 30) - 1024) + b"\x1f\x8b"),
    "tar.neff": lambda files, path: sparse(
        path, files.neff_header((1 << 30) - 1024) + files.tar_of({"x": b"1"}), 1 << 30
    ),
    "section.ntff": long_section,
    "fields.ntff": many_fields,
    "bomb.neff": bomb,
    "member.neff": huge_member,
    "deep.json": lambda files, path: path.write_bytes(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "digits.json": lambda files, path: path.write_bytes(b'{"total_time": ' + b"9" * (8 << 20) + b"}"),
    "keys.json": lambda files, path: path.write_bytes(json.dumps({f"k{n}": n for n in range(200_000)}).encode()),
}


@pytest.mark.parametrize("name", CASES)
def test_hostile_files_are_refused_in_little_memory(files, tmp_path, name):
    path = tmp_path / name
    CASES[name](files, path)
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, path], capture_output=True, text=True, env=environment, check=True
    )
    message, peak_bytes = done.stdout.splitlines()
    assert message.startswith(str(path)) or (message == "read" and name == "keys.json")
    assert int(peak_bytes) < BEYOND_THE_FILE_BYTES + path.stat().st_blocks * 512
