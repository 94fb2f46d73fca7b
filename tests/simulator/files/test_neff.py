import json

import pytest

from neff_bench.parsers.neff import read_members, read_neff
from neff_bench.simulator.errors import CaptureError
from neff_bench.simulator.files.neff import PROGRAM_MEMBER, neff_bytes, read_neff_content, write_neff
from neff_bench.simulator.program import decode
from tests.simulator.programs import matmul


@pytest.fixture
def neff(tmp_path):
    path = tmp_path / "file.neff"
    write_neff(matmul(lnc=2), str(path))
    return path


def test_same_program_same_bytes_other_program_other_uuid():
    assert neff_bytes(matmul()) == neff_bytes(matmul())
    assert neff_bytes(matmul())[204:220] != neff_bytes(matmul(n=256))[204:220]


def test_program_survives_the_container(neff):
    assert read_neff_content(str(neff)).program == matmul(lnc=2)
    assert decode(read_members(neff, {PROGRAM_MEMBER})[PROGRAM_MEMBER]) == matmul(lnc=2)


def test_the_common_reader_understands_it(neff):
    read = read_neff(neff)
    assert (read.target, read.lnc) == ("trn2", 2)
    assert [(t.name, t.shape, t.dtype, t.bytes) for t in read.inputs] == [
        ("lhsT", (128, 128), "bfloat16", 32768),
        ("rhs", (128, 512), "bfloat16", 131072),
    ]
    assert [t.name for t in read.outputs] == ["out"]
    assert "+sim" in read.compiler_version


def test_data_area_is_padded_and_hlo_stats_only_come_with_model_flops(neff):
    data = neff.read_bytes()
    assert int.from_bytes(data[16:24], "little") == len(data) - 1024
    assert (len(data) - 1024) % 10240 == 0
    names = [member.name for member in read_neff(neff).members]
    assert "hlo_stats.json" not in names and "sg01/def.json" in names and names[-1] == "neff.json"


def test_definition_names_sizes_of_inputs_and_outputs(neff):
    variables = json.loads(read_members(neff, {"sg00/def.json"})["sg00/def.json"])["var"]
    assert {name: v["size"] for name, v in variables.items() if v["type"] in ("input", "output")} == {
        "lhsT": 32768,
        "rhs": 131072,
        "out": 262144,
    }


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda data: data[:500], "not a NEFF"),
        (lambda data: data[:-1000], "truncated"),
        (lambda data: b"\0" * len(data), "not a NEFF"),
        (lambda data: data[:1100] + b"\xff" * 3000 + data[4100:], "damaged"),
    ],
)
def test_damage_is_one_line(neff, damage, says):
    neff.write_bytes(damage(neff.read_bytes()))
    with pytest.raises(CaptureError, match=says) as raised:
        read_neff_content(str(neff))
    assert "\n" not in str(raised.value)
