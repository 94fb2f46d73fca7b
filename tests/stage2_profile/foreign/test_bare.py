"""NEFFs without a bundle are captured with inputs made from their own tensors."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from neff_bench.neffs.checksums import sha256_file
from neff_bench.simulator.files.neff import write_neff
from neff_bench.stage2_profile.cli import profile
from neff_bench.stage2_profile.foreign import bare
from neff_bench.stage2_profile.foreign.search import ForeignCase
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


@pytest.fixture
def neff(tmp_path, files):
    path = tmp_path / "x.neff"
    path.write_bytes(files.neff_of(files.neff_members()))
    return path


@pytest.mark.parametrize(
    ("changes", "kept"),
    [({}, False), ({"neff": None}, True), ({"problem": "torn"}, True), ({"ntff": Path("t")}, True), ({"summary_json": Path("t")}, True), ({"detail_json": Path("t")}, True), ({"session_json": Path("t")}, True)],
)  # fmt: skip
def test_a_neff_without_a_profile_gets_a_bundle(tmp_path, neff, monkeypatch, changes, kept):
    made = []
    monkeypatch.setattr(
        bare,
        "publish_neff",
        lambda store, name, path, inputs: made.append((store.path, name, path, inputs)) or tmp_path,
    )
    monkeypatch.setattr(bare, "read_bundle", lambda path: f"bundle of {path}")
    case = ForeignCase("c", **{"neff": neff, **changes})
    (found,) = bare.with_bundles(tmp_path, [case], None, make=["neuron"])
    assert found == (case if kept else f"bundle of {tmp_path}") and made == (
        [] if kept else [(tmp_path / ".neff-bench", "c", neff, None)]
    )


@pytest.mark.parametrize(
    ("there", "inputs", "make", "found"),
    [
        (None, None, [], "case"), (None, None, ["sim"], "case"), (None, None, ["neuron"], "made"), ("there", None, ["neuron"], "there"), ("there", None, [], "there"), ("there", Path("i"), ["neuron"], "made"),
        ("there", Path("i"), [], "there"), ("there", Path("i"), ["sim"], "there"), (None, Path("i"), ["sim", "neuron"], "made"),
    ],
)  # fmt: skip
def test_a_bundle_is_made_where_a_tool_is_and_again_for_other_inputs(
    tmp_path, neff, monkeypatch, there, inputs, make, found
):
    monkeypatch.setattr(bare, "_there", lambda store, name, path: there)
    monkeypatch.setattr(bare, "publish_neff", lambda store, name, path, inputs: tmp_path)
    monkeypatch.setattr(bare, "read_bundle", lambda path: "made")
    (tmp_path / ".neff-bench").mkdir()
    case = ForeignCase("c", neff=neff)
    assert bare.with_bundles(tmp_path, [case], inputs, make=make) == [case if found == "case" else found]


def test_a_neff_that_cannot_have_a_bundle_keeps_its_entry_with_the_reason(tmp_path):
    (tmp_path / "bad.neff").write_bytes(b"x")
    (found,) = bare.with_bundles(tmp_path, [ForeignCase("c", neff=tmp_path / "bad.neff")], None, make=["sim"])
    assert found.name == "c" and "bad.neff" in found.problem and not (tmp_path / ".neff-bench").exists()


@pytest.mark.parametrize(("sha256", "same"), [(None, True), ("other", False)])
def test_a_bundle_is_there_where_it_is_of_this_very_file(neff, sha256, same):
    bundle = SimpleNamespace(manifest=SimpleNamespace(neff_sha256=sha256 or sha256_file(neff)))
    assert bare._there(SimpleNamespace(find=lambda name: bundle), "c", neff) == (bundle if same else None)
    assert bare._there(SimpleNamespace(find=lambda name: None), "c", neff) is None
