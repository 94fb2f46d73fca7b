"""NEFFs without a bundle are captured with inputs made from their own tensors."""

import json

import pytest
from click.testing import CliRunner

from neff_bench.simulator.files.neff import write_neff
from neff_bench.stage2_profile.cli import profile
from tests.simulator.programs import matmul


def rows(directory, *words):
    result = CliRunner().invoke(profile, [str(directory), "--format", "json", *words])
    return result.exit_code, json.loads(result.stdout)


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "dump").mkdir()
    write_neff(matmul(), str(tmp_path / "dump" / "graph.neff"))
    return tmp_path


def test_a_simulated_neff_is_captured_once(tree):
    code, (row,) = rows(tree)
    assert code == 0
    assert (row["status"], row["source"], row["check"]) == ("profiled", "simulated", "unchecked")
    assert row["case"].startswith("dump-graph") and row["total_time_us"] > 0
    (bundle,) = (tree / ".neff-bench").glob("dump-graph*")
    assert {path.name for path in bundle.glob("inp-*")} == {"inp-lhsT-000.bin", "inp-rhs-000.bin"}
    again = rows(tree)[1][0]
    assert (again["run"], again["total_time_us"]) == (row["run"], row["total_time_us"])
    assert rows(tree, "--parse-only")[1][0]["total_time_us"] == row["total_time_us"]


def test_another_neff_under_the_same_name_is_captured_anew(tree):
    first = rows(tree)[1][0]
    write_neff(matmul(n=256), str(tree / "dump" / "graph.neff"))
    assert rows(tree, "--parse-only")[1][0]["status"] == "unprofiled"
    assert rows(tree)[1][0]["total_time_us"] < first["total_time_us"]


def test_reading_alone_makes_nothing(tree):
    code, (row,) = rows(tree, "--parse-only")
    assert (code, row["status"]) == (0, "unprofiled")
    assert not (tree / ".neff-bench").exists()


def test_inputs_of_the_user_are_taken_and_checked(tree, tmp_path):
    given = tree / "given"
    given.mkdir()
    (given / "inp-lhsT-000.bin").write_bytes(b"\1\0" * (128 * 128))
    code, (row,) = rows(tree, "--inputs", str(given))
    assert (code, row["status"]) == (1, "failed") and "no file for rhs" in row["reason"]
    (given / "rhs.bin").write_bytes(bytes(128 * 512 * 2))
    assert rows(tree, "--inputs", str(given))[0] == 0
    (bundle,) = (tree / ".neff-bench").glob("dump-graph*")
    assert (bundle / "inp-lhsT-000.bin").read_bytes() == (given / "inp-lhsT-000.bin").read_bytes()
    assert CliRunner().invoke(profile, [str(tree), "--inputs", str(tree / "none")]).exit_code == 2
