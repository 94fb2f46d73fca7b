"""The real neuron-sim under the real command, well-behaved and misbehaving in every way it knows."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from neff_bench.neffs.bundle import LOCK, read_bundle, write_manifest
from neff_bench.neffs.checksums import sha256_file
from neff_bench.stage2_profile.capture import runs

ROOT = Path(__file__).parents[2]
FAULTS = ROOT / "tests" / "simulator" / "faults"
"""What makes neuron-sim misbehave as NEURON_SIM_FAULTS says."""
HARMLESS = ["none", "garbage", "slow_start", "flood"]
ANSWERED = {
    "dge_overflow": "captured without them",
    "oom": "captured with --single-io, so its outputs are invalid",
    "nan": "numerical error (NaN), with a trace",
}
REASONS = {
    "no_device": "no Neuron driver",
    "arch": "compiled for another target",
    "error": "NRT_FAILURE",
    "crash_after": "wrote a trace, then: killed by SIGKILL, most likely for lack of memory (2 tries)",
    "crash_before": "no trace, killed by SIGKILL",
    "hang": "no answer in 15 s, ended",
    "partial": "neuron-sim view:",
    "empty_ntff": "no trace, exit code 0",
}


def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": f"{FAULTS}{os.pathsep}{ROOT}", **environ}
    return subprocess.run([sys.executable, "-m", *words], env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A store with one small simulated matmul."""
    directory = tmp_path_factory.mktemp("built")
    shapes = directory / "shapes.yaml"
    shapes.write_text(
        "defaults: {target: trn2, lnc: 1, dtype: bfloat16}\n"
        "cases:\n  - {kernel: matmul, implementation: nki, M: 32, K: 64, N: 48}\n"
    )
    done = run(
        "neff_bench.stage1_generate.cli",
        "--shapes",
        str(shapes),
        "--out",
        str(directory / "store"),
        "--toolchain",
        "sim",
    )
    assert done.returncode == 0, done.stderr
    return directory / "store"


def copies(built: Path, store: Path, names) -> None:
    (original,) = (path for path in built.iterdir() if not path.name.startswith("."))
    for name in names:
        shutil.copytree(original, store / name)


def test_threads_that_change_at_every_moment_make_the_rows(built, tmp_path):
    """Python switches threads after each step: msgspec crashes where two of them are the first to decode a type."""
    copies(built, tmp_path / "store", "abcd")
    program = (
        "import sys; sys.setswitchinterval(1e-6); from neff_bench.stage2_profile.cli import main; sys.exit(main())"
    )
    words = [str(tmp_path / "store"), "--cores", "0-3", "--format", "json"]
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [row["status"] for row in json.loads(done.stdout)] == ["profiled"] * 4


@pytest.fixture(scope="module")
def bad_day(built, tmp_path_factory) -> tuple[Path, dict[str, dict]]:
    """A store with one case for each fault, profiled while each fault happens to its case; rows by fault."""
    directory = tmp_path_factory.mktemp("bad")
    faults = [*HARMLESS, *ANSWERED, *REASONS, "busy", "device_error"]
    copies(built, directory / "store", faults)
    rules = [{"match": f"*/{name}/*", "command": "capture", "fault": name} for name in faults if name != "none"]
    for rule in rules:
        if rule["fault"] in ("busy", "device_error"):
            rule["calls"] = [1]
        if rule["fault"] == "slow_start":
            rule["seconds"] = 0.5
    plan = {"state": str(directory / "state"), "rules": rules}
    words = ["--cores", "0-7", "--timeout", "15", "--jobs", "4", "--format", "json", "--enable-dge-notifs"]
    done = run(
        "neff_bench.stage2_profile.cli",
        str(directory / "store"),
        *words,
        NEURON_SIM_FAULTS=json.dumps(plan),
        NEFF_BENCH_LOCK_DIR=str(directory / "locks"),
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return directory, {row["case"]: row for row in json.loads(done.stdout)}


@pytest.mark.parametrize("fault", [*HARMLESS, *ANSWERED, "busy", "device_error"])
def test_a_fault_with_an_answer_gives_a_result(bad_day, fault):
    row = bad_day[1][fault]
    assert row["status"] == "profiled", row["reason"]
    assert row["source"] == "simulated"
    assert row["total_time_us"] > 0
    assert row["check"] == ("unchecked" if fault == "oom" else "passed")
    assert ANSWERED.get(fault, "") in " ".join(row["warnings"])


@pytest.mark.parametrize("fault", REASONS)
def test_a_fault_without_an_answer_gives_a_reason(bad_day, fault):
    row = bad_day[1][fault]
    assert row["status"] == "failed"
    assert REASONS[fault] in row["reason"]
    assert row["total_time_us"] is None


def test_a_log_is_bounded_and_no_lock_is_left(bad_day):
    directory, _ = bad_day
    (log,) = (directory / "store" / "flood" / "profiles").glob("*/capture.log")
    assert log.stat().st_size < 2 * 1024 * 1024
    assert list((directory / "locks").iterdir()) == []
    assert not list((directory / "store").glob("*/profiles/.*"))


def test_the_rest_is_finished_by_a_second_call(bad_day):
    directory, before = bad_day
    done = run("neff_bench.stage2_profile.cli", str(directory / "store"), "--enable-dge-notifs", "--format", "json")
    assert done.returncode == 0, done.stderr
    for row in json.loads(done.stdout):
        assert row["status"] == "profiled"
        if before[row["case"]]["status"] == "profiled":
            assert row["run"] == before[row["case"]]["run"]


def test_the_lock_of_a_killed_holder_goes_with_the_next_call(built, tmp_path):
    """It was killed when its run was whole, so nothing is captured again."""
    store = tmp_path / "store"
    copies(built, store, "a")
    assert run("neff_bench.stage2_profile.cli", str(store), "--cores", "0").returncode == 0
    lock = store / "a" / "profiles" / LOCK
    lock.touch(0o644)
    assert run("neff_bench.stage2_profile.cli", str(store), "--cores", "0").returncode == 0
    assert not lock.exists()


def test_a_view_that_crashes_once_is_tried_again(built, tmp_path):
    copies(built, tmp_path / "store", ["one"])
    plan = {"state": str(tmp_path / "state"), "rules": [{"command": "view", "calls": [1], "fault": "crash"}]}
    done = run("neff_bench.stage2_profile.cli", str(tmp_path / "store"), NEURON_SIM_FAULTS=json.dumps(plan))
    assert done.returncode == 0, done.stderr


def test_a_trace_that_the_tool_is_too_old_for_says_what_to_update(built, tmp_path):
    copies(built, tmp_path / "store", ["one"])
    plan = [{"command": "view", "fault": "ntff_version"}]
    done = run(
        "neff_bench.stage2_profile.cli", str(tmp_path / "store"), "--format", "json", NEURON_SIM_FAULTS=json.dumps(plan)
    )
    assert done.returncode == 1
    assert (
        "NTFF version 7 is newer than the tool; update package aws-neuronx-tools"
        in json.loads(done.stdout)[0]["reason"]
    )


def test_other_inputs_are_other_outputs(built, tmp_path):
    """The tool computes: a reference for other inputs does not pass."""
    copies(built, tmp_path / "store", ["one"])
    bundle = read_bundle(tmp_path / "store" / "one")
    (tensor,) = bundle.manifest.outputs
    reference = bundle.path / tensor.file
    reference.write_bytes(bytes(reversed(reference.read_bytes())))
    changed = dataclasses.replace(tensor, sha256=sha256_file(reference))
    write_manifest(bundle.path, dataclasses.replace(bundle.manifest, outputs=(changed,)))
    done = run("neff_bench.stage2_profile.cli", str(tmp_path / "store"), "--format", "json")
    assert done.returncode == 1
    assert json.loads(done.stdout)[0]["check"] == "wrong"


def test_what_was_captured_can_be_read_without_the_tool(built, tmp_path):
    copies(built, tmp_path / "store", ["one"])
    captured = run("neff_bench.stage2_profile.cli", str(tmp_path / "store"), "--capture-only", "--format", "json")
    assert captured.returncode == 0, captured.stderr
    assert json.loads(captured.stdout)[0]["total_time_us"] is None
    (read,) = json.loads(
        run("neff_bench.stage2_profile.cli", str(tmp_path / "store"), "--parse-only", "--format", "json").stdout
    )
    assert (read["status"], read["check"]) == ("captured", "passed")
    assert "read by neff-bench, with no profiler" in read["warnings"][0]
    (viewed,) = json.loads(
        run("neff_bench.stage2_profile.cli", str(tmp_path / "store"), "--view-only", "--format", "json").stdout
    )
    assert viewed["status"] == "profiled"
    for column in ("total_time_us", "tensor_active_us", "dma_active_us"):
        assert read[column] == pytest.approx(viewed[column], rel=0.02), column


@pytest.mark.parametrize(("earlier", "again"), [("0.1+sim.1.00000000", True), (None, False)])
def test_a_run_of_another_model_is_captured_again(built, tmp_path, earlier, again):
    copies(built, tmp_path / "store", ["one"])
    words = ("neff_bench.stage2_profile.cli", str(tmp_path / "store"), "--format", "json")
    (first,) = json.loads(run(*words).stdout)
    (directory,) = runs.run_directories(tmp_path / "store" / "one")
    if earlier:
        runs.write_run(directory, msgspec.structs.replace(runs.read_run(directory), tool_version=earlier))
        (kept,) = json.loads(run(*words, "--view-only").stdout)
        assert kept["reason"].startswith(f"captured by neuron-sim {earlier}, this is neuron-sim ")
    (second,) = json.loads(run(*words).stdout)
    assert (second["run"] != first["run"]) is again


def test_compiled_captured_and_read_on_three_machines_is_the_table_of_one(built, tmp_path):
    """Three directories and three environments; the second and third machine see nothing of the first."""
    here = run("neff_bench.stage2_profile.cli", str(shutil.copytree(built, tmp_path / "one")), "--format", "json")
    places = [tmp_path / "build host/neffs", tmp_path / "trn2/my neffs", tmp_path / "laptop/neffs"]
    shutil.copytree(built, places[0])
    for before, after, step in zip(places, places[1:], ["--capture-only", "--view-only"]):
        after.parent.mkdir()
        before.rename(after)
        home = {"HOME": str(after.parent), "LANG": "C", "TMPDIR": str(after.parent)}
        done = run("neff_bench.stage2_profile.cli", str(after), step, **home)
        assert done.returncode == 0, done.stderr
    read = run("neff_bench.stage2_profile.cli", str(places[2]), "--parse-only", "--format", "json", PATH="")
    (one,), (other,) = json.loads(here.stdout), json.loads(read.stdout)
    assert one["status"] == "profiled"
    assert {key for key in one if one[key] != other[key]} <= {"command"}


def test_an_unchanged_case_has_no_difference_on_the_page_whatever_was_viewed_before(built, tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    shutil.copytree(built, before)
    assert run("neff_bench.stage2_profile.cli", str(before)).returncode == 0
    shutil.copytree(before, after)
    assert run("neff_bench.stage2_profile.cli", str(before), "--output", str(tmp_path / "a.html")).returncode == 0
    done = run("neff_bench", "compare", str(before), str(after), "--output", str(tmp_path / "diff.html"))
    page = (tmp_path / "diff.html").read_text()
    assert done.returncode == 0, done.stderr
    by_line = page[page.index("Difference by source line") :]
    assert "matmul_nki.py:" in by_line and "The summaries say the same." in by_line
    differences = page[page.index("Difference by engine") : page.index("Difference by counter")]
    assert set(re.findall(r"[-+][0-9]+\.[0-9]{3}\b", differences)) == {"+0.000"}
