"""Whatever bytes a file holds, a reader gives a result or a ParseError that names the file; seeded and bounded."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neff_bench.parsers.describe import describe
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.neff import read_neff
from neff_bench.parsers.ntff import read_ntff
from neff_bench.parsers.profile_json import read_profile, read_summary
from neff_bench.parsers.session import read_session

BOUNDED = settings(
    derandomize=True, max_examples=75, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

PROFILE = {
    "summary": [{"total_time": 3e-05, "hardware_flops": 10, "instance_type": "trn2.3xlarge"}],
    "metadata": [{"pe_clock_freq": 2.4, "num_physical_cores": 2}],
    "instruction": [{"timestamp": 5, "duration": 10, "subgroup": "Tensor", "opcode": "MATMUL", "pc": 3}],
    "dma": [
        {"timestamp": 2, "duration": 40, "transfer_size": 64, "dma_engine": "1", "dma_queue": "1", "semaphore_id": "3"}
    ],
}
SESSION = {"NeffNodes": [{"NodeInfo": {"Graphs": [{"NC": 4, "CycleCount": 45}]}}]}


def sound(files, kind):
    """A whole file of each kind and its reader."""
    if kind == "ntff":
        records = [record for pc in range(6) for record in files.instruction(pc % 5, pc, 10 * pc, 10 * pc + 25)]
        return files.ntff_of(records, files.packet(3, 1, 512, 5, 9), [files.semaphore(2, 7, 30)]), read_ntff
    if kind in ("neff", "plain neff"):
        return files.neff_of(files.neff_members(), packed=kind == "neff", padding=512), read_neff
    if kind == "session":
        return json.dumps(SESSION).encode(), read_session
    data = json.dumps(PROFILE if kind == "profile" else {"n_1": PROFILE["summary"][0]}).encode()
    return data, read_profile if kind == "profile" else read_summary


KINDS = ["ntff", "neff", "plain neff", "profile", "summary", "session"]


def check(path: Path, data: bytes, reader) -> None:
    path.write_bytes(data)
    try:
        reader(path)
    except ParseError as error:
        assert error.path == str(path) and error.what and "\n" not in str(error)
        assert error.offset is None or error.offset >= 0


@pytest.mark.parametrize("kind", KINDS)
def test_sound_files_are_read(files, tmp_path, kind):
    data, reader = sound(files, kind)
    path = tmp_path / "file"
    path.write_bytes(data)
    reader(path)


@pytest.mark.parametrize("kind", KINDS)
@BOUNDED
@given(data=st.data())
def test_truncated_anywhere(files, tmp_path, kind, data):
    whole, reader = sound(files, kind)
    check(tmp_path / "file", whole[: data.draw(st.integers(0, len(whole) - 1))], reader)


@pytest.mark.parametrize("kind", KINDS)
@BOUNDED
@given(data=st.data())
def test_bits_flipped_anywhere(files, tmp_path, kind, data):
    whole, reader = sound(files, kind)
    damaged = bytearray(whole)
    for at, bit in data.draw(
        st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 7)), min_size=1, max_size=8)
    ):
        damaged[at] ^= 1 << bit
    check(tmp_path / "file", bytes(damaged), reader)


@pytest.mark.parametrize("kind", KINDS)
@BOUNDED
@given(data=st.data())
def test_pieces_replaced_anywhere(files, tmp_path, kind, data):
    whole, reader = sound(files, kind)
    at = data.draw(st.integers(0, len(whole)))
    piece = data.draw(
        st.binary(max_size=40)
        | st.sampled_from([b"NaN", b"1e999", b"9" * 5000, b"[" * 2000, b'"', b"\xff" * 8, b"null", b"-1"])
    )
    check(tmp_path / "file", whole[:at] + piece + whole[at + data.draw(st.integers(0, 40)) :], reader)


@pytest.mark.parametrize("field", [2, 4, 9, 15, 16])
@BOUNDED
@given(data=st.data())
def test_metadata_fields_of_any_content(files, tmp_path, field, data):
    """Bits flipped at random seldom keep a message well formed; these do."""
    body = data.draw(
        st.lists(st.tuples(st.integers(1, 18), st.integers(0, (1 << 64) - 1) | st.binary(max_size=8)), max_size=8)
    )
    nested = files.message(*body)
    for _ in range(data.draw(st.integers(0, 3))):
        nested = files.message((data.draw(st.sampled_from([1, 4, 5, 6, 7, 11])), nested))
    base = files.ntff_of()
    metadata_bytes = int.from_bytes(base[1:8], "little")
    metadata = base[128 : 128 + metadata_bytes] + files.message((field, nested))
    check(
        tmp_path / "file",
        base[:1] + len(metadata).to_bytes(7, "little") + bytes(120) + metadata + base[128 + metadata_bytes :],
        read_ntff,
    )


@BOUNDED
@given(data=st.binary(max_size=300))
def test_any_bytes_can_be_described(tmp_path, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    try:
        describe(path)
    except ParseError as error:
        assert error.path == str(path)
