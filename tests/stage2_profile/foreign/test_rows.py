from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from neff_bench.stage2_profile.cli import profile
from neff_bench.stage2_profile.foreign.rows import _warnings, foreign_row, matmul_dims
from neff_bench.stage2_profile.foreign.search import ForeignCase

REAL = Path(__file__).parents[4] / "shared" / "data" / "real"


def rows(directory, *words):
    result = CliRunner().invoke(profile, [str(directory), "--format", "json", *words])
    return result.exit_code, json.loads(result.stdout)


def test_a_profile_from_elsewhere_is_a_row(tmp_path):
    summary = {
        "total_time": 5e-5,
        "tensor_engine_active_time": 1e-5,
        "matmul_instruction_count": 3,
        "instance_type": "inf2.xlarge",
    }
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "ntff.json").write_text(json.dumps({"summary": [summary], "metadata": [{}]}))
    code, (row,) = rows(tmp_path)
    assert code == 0
    assert row["case"].startswith("mine/")
    assert row["total_time_us"] == pytest.approx(50)
    assert (row["matmul_instruction_count"], row["target"]) == (3, "inf2")
    assert (row["status"], row["check"], row["source"]) == ("profiled", "unchecked", "measured")


def test_a_profile_from_elsewhere_is_read_and_not_captured(tmp_path):
    summary = {"total_time": 5e-5, "instance_type": "inf2.xlarge"}
    (tmp_path / "ntff.json").write_text(json.dumps({"summary": [summary], "metadata": [{}]}))
    assert ": read" in CliRunner().invoke(profile, [str(tmp_path)]).stderr


def test_a_profile_from_elsewhere_that_cannot_be_is_suspect(tmp_path):
    (tmp_path / "ntff.json").write_text(json.dumps({"summary": [{"total_time": 5e-5, "total_active_time": 9e-5}]}))
    code, (row,) = rows(tmp_path)
    assert (code, row["check"]) == (1, "suspect")
    assert "longer than the total_time" in row["reason"]


def test_a_simulated_one_says_so(tmp_path):
    metadata = {"is_simulation": True, "simulator_name": "some simulator"}
    (tmp_path / "ntff.json").write_text(json.dumps({"summary": [{"total_time": 5e-5}], "metadata": [metadata]}))
    assert rows(tmp_path)[1][0]["source"] == "simulated"


def test_a_damaged_one_is_a_reason(tmp_path):
    (tmp_path / "good.ntff.json").write_text(json.dumps({"summary": [{"total_time": 5e-5}]}))
    (tmp_path / "bad_ntff.json").write_text('{"summary": [{"total_time"')
    code, found = rows(tmp_path)
    assert code == 1
    assert sorted(row["status"] for row in found) == ["failed", "profiled"]


@pytest.mark.skipif(not REAL.is_dir(), reason="no measured profiles here")
def test_measured_profiles_are_rows():
    code, found = rows(REAL, "--only", "trn2_attention/fused_bf16*")
    assert code == 0
    (row,) = found
    assert (row["source"], row["target"], row["lnc"], row["dtype"]) == ("measured", "trn2", 2, "bfloat16")
    assert row["total_time_us"] == pytest.approx(36.35, abs=0.01)
    assert row["dma_packet_count"] == 977


@pytest.mark.skipif(not REAL.is_dir(), reason="no measured profiles here")
def test_a_neff_without_a_profile_is_listed_with_its_shapes():
    code, found = rows(REAL, "--parse-only", "--only", "trn2_matmul_neff/*")
    assert code == 0
    assert {row["status"] for row in found} == {"unprofiled"}
    small = next(row for row in found if row["case"].endswith("matmul_small"))
    assert [small["dims"][name] for name in "MKN"] == [128, 256, 128]


@pytest.mark.skipif(not REAL.is_dir(), reason="no measured profiles here")
def test_equal_input_shapes_are_counted():
    _, (row,) = rows(REAL, "--only", "trn2_attention/fused_bf16*")
    assert row["shapes"] == "3*128x512"
    assert row["arithmetic_intensity"] > 0


def test_a_damaged_neff_costs_its_own_row_or_a_warning_and_not_the_trace(tmp_path, files):
    """One whose header cannot be read is a row; one whose archive cannot be read is a warning beside the numbers."""
    uuid = bytes([7]) * 16
    neff = files.neff_of(files.neff_members(), uuid=uuid)
    (tmp_path / "profile.ntff").write_bytes(files.ntff_of(files.instruction(0, 0, 10, 20), uuid=uuid))
    (tmp_path / "file.neff").write_bytes(b"x" * 3000)
    code, found = rows(tmp_path, "--parse-only")
    assert code == 1 and {row["case"]: row["status"] for row in found} == {"file": "failed", "profile": "profiled"}
    (tmp_path / "file.neff").write_bytes(neff[:1200] + bytes(200) + neff[1400:])
    code, (row,) = rows(tmp_path, "--parse-only")
    assert (code, row["status"], row["total_time_us"]) == (0, "profiled", 5)
    assert any("its NEFF cannot be read" in warning for warning in row["warnings"])


def neff(inputs, outputs):
    return SimpleNamespace(
        inputs=[SimpleNamespace(shape=shape) for shape in inputs],
        outputs=[SimpleNamespace(shape=shape) for shape in outputs],
    )


@pytest.mark.parametrize(
    ("inputs", "outputs", "dims"),
    [
        ([(2, 3), (3, 4)], [(2, 4)], (("M", 2), ("K", 3), ("N", 4))), ([(3, 2), (3, 4)], [(2, 4)], (("M", 2), ("K", 3), ("N", 4))), ([(2, 3), (5, 4)], [(2, 4)], ()), ([(2, 3), (3, 4)], [(4, 2)], ()),
        ([(2, 3)], [(2, 3)], ()), ([(2, 3)], [(2, 3), (3, 3)], ()), ([(2, 3), (3, 4), (1, 1)], [(2, 4)], ()), ([(2, 3), (3, 4, 1)], [(2, 4)], ()), ([], [], ()),
    ],
)  # fmt: skip
def test_two_matrices_and_their_product_have_dimensions(inputs, outputs, dims):
    assert matmul_dims(neff(inputs, outputs)) == dims


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ()), ({"paired_by": "uuid"}, ()), ({"paired_by": "name"}, ("paired with its NEFF by name, not by uuid",)), ({"copies": (Path("a"),)}, ("counted once: a says the same of this execution",)),
        ({"copies": (Path("a"), Path("b"), Path("c"))}, ("counted once: a and 2 more says the same of this execution",)),
    ],
)  # fmt: skip
def test_what_must_be_said_of_how_a_profile_was_found(changes, said):
    assert _warnings(ForeignCase("c", **changes)) == said


def test_a_neff_in_a_system_trace_has_its_calls():
    calls = SimpleNamespace(durations_us=(1.0, 3.0, 2.0), gap_us=0.5)
    row = foreign_row(ForeignCase("c", calls=calls, remarks=("r",)))
    assert (row.status, row.clock, row.executions, row.total_time_us, row.execution_time_us, row.gap_us) == (
        "profiled",
        "execution",
        3,
        2.0,
        2.0,
        0.5,
    )
    assert row.total_time_iqr_us == 1.0 and (row.check, row.source, row.tool, row.warnings) == (
        "unchecked",
        "measured",
        "system trace",
        ("r",),
    )
    assert (
        foreign_row(ForeignCase("c", calls=SimpleNamespace(durations_us=(1.0,), gap_us=None))).total_time_iqr_us is None
    )


@pytest.fixture
def json_file(tmp_path):
    def write(name="ntff.json", **keys):
        (tmp_path / name).write_text(json.dumps({"summary": [keys]}))
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    ("keys", "tool"),
    [
        ({}, "profiler of unknown version"),
        ({"profiler_version": "2.29%kaena"}, "profiler 2.29"),
        ({"simulator_name": "sim 1", "is_simulation": True}, "sim 1"),
    ],
)
def test_a_summary_says_by_what_it_was_made(json_file, keys, tool):
    row = foreign_row(ForeignCase("c", summary_json=json_file(total_time=1e-4, **keys)))
    assert (row.tool, row.source) == (tool, "simulated" if "is_simulation" in keys else "measured")
    assert (row.status, row.check, row.reason, row.target) == ("profiled", "unchecked", None, None)


def test_a_neff_that_cannot_be_read_costs_a_warning_beside_any_profile(tmp_path, json_file, files):
    (tmp_path / "bad.neff").write_bytes(b"x" * 3000)
    bad, good = tmp_path / "bad.neff", json_file(total_time=1e-4)
    for field in ("summary_json", "detail_json"):
        row = foreign_row(ForeignCase("c", neff=bad, **{field: good}))
        assert row.total_time_us == 100.0 and row.warnings[0].startswith("its NEFF cannot be read: ")
    (tmp_path / "t.ntff").write_bytes(files.ntff_of(files.instruction(0, 0, 10, 20)))
    assert foreign_row(ForeignCase("c", neff=bad, ntff=tmp_path / "t.ntff")).status == "profiled"
    assert foreign_row(ForeignCase("c", neff=bad)).status == "failed"


def test_what_has_no_time_says_so(tmp_path, json_file, files):
    assert foreign_row(ForeignCase("c", summary_json=json_file(x=1))).reason == "its summary states no time"
    (tmp_path / "a.neff").write_bytes(files.neff_of(files.neff_members()))
    row = foreign_row(ForeignCase("c", neff=tmp_path / "a.neff"))
    assert (row.status, row.reason) == (
        "unprofiled",
        "a NEFF without a profile; profile-neffs captures it where a tool for it is",
    )
    assert foreign_row(ForeignCase("c", problem="torn")).reason == "torn"


def test_a_trace_tells_its_own_numbers(tmp_path, files):
    (tmp_path / "t.ntff").write_bytes(files.ntff_of(files.instruction(0, 0, 10, 20)))
    row = foreign_row(ForeignCase("c", ntff=tmp_path / "t.ntff"))
    assert (row.status, row.check, row.total_time_us, row.source) == (
        "profiled",
        "unchecked",
        5.0,
        "measured",
    ) and row.tool.startswith("NTFF version ")
