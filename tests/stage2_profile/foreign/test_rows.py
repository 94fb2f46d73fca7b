from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from neff_bench.stage2_profile.cli import profile

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
