"""A program that came out of a file is taken only when it makes sense."""

import random

import msgspec
import pytest

from neff_bench.simulator.commands.capture import capture
from neff_bench.simulator.commands.capture_options import CaptureOptions
from neff_bench.simulator.errors import CaptureError, SimulatorError
from neff_bench.simulator.files import neff as files
from neff_bench.simulator.files.consistency import inconsistency
from neff_bench.simulator.program import decode, encode
from tests.simulator.programs import matmul

PROGRAM = matmul(lnc=2)


def test_a_recorded_program_is_consistent():
    assert inconsistency(PROGRAM) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"lnc": 1}, "LNC 1"),
        ({"inputs": (99,)}, "input 99"),
        ({"outputs": (-1,)}, "output -1"),
        ({"sources": ()}, "source line"),
        ({"version": 7}, "version 7"),
        ({"buffers": PROGRAM.buffers[:1]}, "buffers|buffer"),
    ],
)
def test_what_does_not_fit_together_is_named(change, says):
    wrong = inconsistency(msgspec.structs.replace(PROGRAM, **change))
    assert wrong is not None and any(word in wrong for word in says.split("|"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"offset": -1}, "elements -1"),
        ({"offset": 1 << 40}, "elements"),
        ({"dtype": "int3"}, "dtype"),
        ({"buffer": 99}, "buffer 99"),
    ],
)
def test_an_access_outside_of_its_buffer_is_named(change, says):
    first = PROGRAM.cores[0][0]
    name, access = next(iter(first.writes.items()))
    wrong_access = msgspec.structs.replace(access, **change)
    wrong_first = msgspec.structs.replace(first, writes={name: wrong_access})
    program = msgspec.structs.replace(PROGRAM, cores=((wrong_first, *PROGRAM.cores[0][1:]), PROGRAM.cores[1]))
    assert says in (inconsistency(program) or "")


def test_bytes_that_were_not_compiled_are_refused(tmp_path, monkeypatch):
    """Whatever mutation decodes and looks sound is still not the program whose uuid the header holds."""
    path = tmp_path / "file.neff"
    monkeypatch.setattr(files, "_uuid", lambda encoded: b"\1" * 16)
    files.write_neff(PROGRAM, str(path))
    monkeypatch.undo()
    with pytest.raises(CaptureError, match="not those that were compiled"):
        files.read_neff_content(str(path))


@pytest.mark.parametrize("seed", range(40))
def test_a_mutated_program_is_one_line_or_runs(tmp_path, monkeypatch, seed):
    """The writer makes uuid and checksums fit the mutated bytes, so that nothing but the content can tell."""
    chance = random.Random(seed)
    data = bytearray(encode(PROGRAM))
    for _ in range(chance.randint(1, 4)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    try:
        program = decode(bytes(data))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return
    path = tmp_path / "file.neff"
    monkeypatch.setattr(files, "encode", lambda _: bytes(data))
    payload = files._compress(files._tar([(files.PROGRAM_MEMBER, bytes(data))]))
    header = files.layout.unpack_header(files.neff_bytes(PROGRAM))
    path.write_bytes(header._replace(data_bytes=len(payload), uuid=files._uuid(bytes(data))).pack() + payload)
    monkeypatch.chdir(tmp_path)
    try:
        capture(CaptureOptions(neff=str(path), save_output=True))
    except SimulatorError as error:
        assert "\n" not in str(error)
    else:
        assert inconsistency(program) is None
