import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from neff_bench.simulator.commands.cli import main
from neff_bench.simulator.files.neff import write_neff
from tests.simulator.programs import matmul

FAULTS = Path(__file__).parents[1] / "faults"
"""What makes neuron-sim misbehave as NEURON_SIM_FAULTS says."""


def run(*arguments, cwd, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NEURON")}
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, [str(FAULTS), kept.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-m", "neff_bench.simulator", *arguments], cwd=cwd, env=kept | environment, capture_output=True, text=True, timeout=120
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    write_neff(matmul(), str(tmp_path / "file.neff"))
    rng = np.random.default_rng(0)
    for name, shape in (("lhsT", (128, 128)), ("rhs", (128, 512))):
        values = (rng.integers(-3, 4, shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        values.tofile(tmp_path / f"inp-{name}-000.bin")
    return tmp_path


INPUTS = ("lhsT", "inp-lhsT-000.bin", "rhs", "inp-rhs-000.bin")


def as_float(path):
    return (np.fromfile(path, np.uint16).astype(np.uint32) << 16).view(np.float32)


def test_show_session_reads_a_header_without_numpy(folder):
    run("capture", "-n", "file.neff", "-s", "light.ntff", *INPUTS, cwd=folder)
    light = "import sys; sys.modules['numpy'] = None; from neff_bench.simulator.__main__ import main; main()"
    words = ["show-session", "-s", "light.ntff", "-j"]
    done = subprocess.run(
        [sys.executable, "-c", light, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert '"IsSimulation":true' in done.stdout


def test_the_version_is_said_without_the_commands(tmp_path):
    light = "import sys; sys.modules['click'] = None; from neff_bench.simulator.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", light, "--version"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == run("-v", cwd=tmp_path).stdout


def test_the_version_needs_a_standard_output(tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "neff_bench.simulator", "--version"], stdout=full, stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "error: standard output: No space left on device\n"


def test_capture_view_and_show_session(folder):
    done = run(
        "capture",
        "-n",
        "file.neff",
        "-s",
        "p.ntff",
        "--num-exec",
        "2",
        "--profile-nth-exec=2",
        "--save-output",
        *INPUTS,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ['saved output "out" as "out"', 'saved output "out" as "out.2"']
    assert not (folder / "p.ntff").exists()
    product = as_float(folder / "inp-lhsT-000.bin").reshape(128, 128).T @ as_float(folder / "inp-rhs-000.bin").reshape(
        128, 512
    )
    np.testing.assert_allclose(as_float(folder / "out").reshape(128, 512), product, rtol=1e-2)

    viewed = run("view", "-n", "file.neff", "-s", "p_exec_2.ntff", "--output-format", "summary-json", cwd=folder)
    assert viewed.returncode == 0, viewed.stderr
    [(key, summary)] = json.loads(viewed.stdout).items()
    assert key.startswith("n_") and len(key) == 42
    assert summary["is_simulation"] is True and summary["matmul_instruction_count"] == 1

    session = run("show-session", "-s", "p_exec_2.ntff", "-j", "--show-errors", cwd=folder)
    [graph] = json.loads(session.stdout)["NeffNodes"][0]["NodeInfo"]["Graphs"]
    assert graph["CycleCount"] == round(summary["total_time"] * 1e12)

    written = run(
        "view", "-n", "file.neff", "-s", "p_exec_2.ntff", "--output-format=json", "--output-file=full.json", cwd=folder
    )
    assert written.returncode == 0 and written.stdout == ""
    tables = json.loads((folder / "full.json").read_bytes())
    assert all(isinstance(rows, list) for rows in tables.values())
    assert tables["summary"] == [summary]
    [matmul_row] = [row for row in tables["instruction"] if row["opcode"] == "MATMUL"]
    assert matmul_row["nki_source_location"] == "mm.py:2" and matmul_row["elements"] == 128 * 128 * 512


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ((), {"p.ntff"}),
        (("--num-exec", "3"), {"p.ntff", "p_exec_2.ntff", "p_exec_3.ntff"}),
        (("--profile-nth-exec", "2"), {"p_exec_2.ntff"}),
        (("--num-exec", "4", "--profile-nth-exec", "2"), {"p_exec_2.ntff", "p_exec_4.ntff"}),
        (("--profile-nth-exec", "0"), set()),
        (("--disable-profile",), set()),
    ],
)
def test_names_of_traces(folder, arguments, files):
    assert run("capture", "-n", "file.neff", "-s", "p.ntff", *arguments, cwd=folder).returncode == 0
    assert {path.name for path in folder.glob("*.ntff")} == files


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("capture", "-n", "none.neff"), 1, "none.neff"),
        (("capture", "-n", "inp-rhs-000.bin"), 1, "not a NEFF"),
        (("capture", "-n", "file.neff", "what", "inp-rhs-000.bin"), 1, "no input 'what'"),
        (("capture", "-n", "file.neff", "lhsT", "inp-rhs-000.bin"), 1, "131072 bytes, expected 32768"),
        (("capture", "-n", "file.neff", "lhsT"), 2, "has no file"),
        (("view", "-n", "file.neff", "-s", "none.ntff", "--output-format", "json"), 1, "none.ntff"),
        (("view", "-n", "file.neff", "-s", "none.ntff"), 2, "--output-format"),
        (("analyze",), 2, "Unknown command `analyze'"),
        (("compile", "--framework", "XLA", "none.hlo", "--target", "trn9"), 1, "trn9"),
    ],
)
def test_mistakes_are_one_clear_line(folder, arguments, status, says):
    done = run(*arguments, cwd=folder)
    assert done.returncode == status
    assert says in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_trace_of_another_program_is_refused(folder):
    write_neff(matmul(n=256), str(folder / "other.neff"))
    run("capture", "-n", "file.neff", "-s", "p.ntff", cwd=folder)
    done = run("view", "-n", "other.neff", "-s", "p.ntff", "--output-format", "summary-json", cwd=folder)
    assert done.returncode == 1 and "another NEFF" in done.stderr


def test_view_reads_the_times_of_the_trace(folder, monkeypatch):
    from neff_bench.simulator.commands import view
    from neff_bench.simulator.timing.schedule import schedule
    from neff_bench.simulator.timing.timeline import timeline_of

    run("capture", "-n", "file.neff", "-s", "p.ntff", "--num-exec", "2", cwd=folder)
    neff = str(folder / "file.neff")
    monkeypatch.setattr(view, "schedule", lambda *_, **__: pytest.fail("simulated again"))
    for trace, first in (("p.ntff", True), ("p_exec_2.ntff", False)):
        profile = view.load_profile(neff, str(folder / trace))
        timed = schedule(profile.neff.program, codes=profile.neff.codes, first_execution=first)
        computed = view.Profile(profile.neff, timed, timeline_of(timed), profile.core_ids)
        assert view.tables_of(profile, neff, trace) == view.tables_of(computed, neff, trace)


def test_the_wait_of_a_first_execution_is_that_of_its_chip_and_view_tells_of_it(tmp_path, monkeypatch):
    """Document 002 profiles the first of ten executions on trn2 and has 45.26 us; on inf2 traces show the wait."""
    monkeypatch.chdir(tmp_path)
    for target, wait_us in (("trn2", 0), ("inf2", 1859.8)):
        write_neff(msgspec.structs.replace(matmul(), target=target), "file.neff")
        done = CliRunner().invoke(main, ["capture", "-n", "file.neff", "-s", "profile.ntff", "--num-exec=10"])
        assert done.exit_code == 0, done.output
        total_us = []
        for trace in ("profile.ntff", "profile_exec_2.ntff"):
            done = CliRunner().invoke(main, ["view", "-n", "file.neff", "-s", trace, "--output-format", "summary-json"])
            [summary] = json.loads(done.stdout).values()
            total_us.append(summary["total_time"] * 1e6)
            assert ("first execution" in done.stderr) == (wait_us > 0 and trace == "profile.ntff")
        assert total_us[0] - total_us[1] == pytest.approx(wait_us, abs=10)


def test_a_trace_of_another_model_is_refused(folder, monkeypatch):
    from neff_bench.simulator.commands import view
    from neff_bench.simulator.errors import ViewError

    assert run("capture", "-n", "file.neff", "-s", "p.ntff", *INPUTS, cwd=folder).returncode == 0
    neff, trace = str(folder / "file.neff"), str(folder / "p.ntff")
    assert view.load_profile(neff, trace).schedule.total_ns > 0
    monkeypatch.setattr(view, "model_name", lambda target: f"{target}-1.00000000")
    with pytest.raises(ViewError, match="capture again"):
        view.load_profile(neff, trace)


def test_logical_core_must_match(folder):
    done = run("capture", "-n", "file.neff", "-s", "p.ntff", cwd=folder, NEURON_LOGICAL_NC_CONFIG="2")
    assert done.returncode == 1 and "Logical NC not available" in done.stderr


def faulty(folder, fault, **rule):
    return {"NEURON_SIM_FAULTS": json.dumps([{"command": "capture", "fault": fault} | rule])}


@pytest.mark.parametrize(
    ("fault", "status", "says", "trace"),
    [
        ("busy", 1, "NeuronCore(s) not available", False),
        ("device_error", 1, "NRT_EXEC_UNIT_UNRECOVERABLE (101)", False),
        ("nan", 1, "NUM_ERR (1003)", True),
        ("crash_before", -9, "", False),
        ("crash_after", -9, "", True),
        ("empty_ntff", 0, "", True),
    ],
)
def test_planned_faults(folder, fault, status, says, trace):
    done = run("capture", "-n", "file.neff", "-s", "p.ntff", cwd=folder, **faulty(folder, fault))
    assert done.returncode == status
    assert says in done.stderr
    assert (folder / "p.ntff").exists() is trace


def test_faults_are_counted_over_processes(folder):
    plan = json.dumps(
        {"state": str(folder / "state"), "rules": [{"command": "capture", "calls": [1], "fault": "busy"}]}
    )
    first, second = (
        run("capture", "-n", "file.neff", "-s", "p.ntff", cwd=folder, NEURON_SIM_FAULTS=plan) for _ in range(2)
    )
    assert (first.returncode, second.returncode) == (1, 0)


def test_dge_overflow_needs_notifications_and_single_io_cures_memory(folder):
    for fault, cure in (("dge_overflow", ()), ("oom", ("--single-io",))):
        assert (
            run("capture", "-n", "file.neff", "-s", "p.ntff", *cure, cwd=folder, **faulty(folder, fault)).returncode
            == 0
        )
    failed = run(
        "capture",
        "-n",
        "file.neff",
        "-s",
        "p.ntff",
        "--enable-dge-notifs",
        cwd=folder,
        **faulty(folder, "dge_overflow"),
    )
    assert failed.returncode == 1 and "1204" in failed.stderr


def test_outputs_as_npy(tmp_path):
    write_neff(matmul(dtype="float32"), str(tmp_path / "file.neff"))
    write_neff(matmul(), str(tmp_path / "half.neff"))
    done = run("capture", "-n", "file.neff", "--save-output-npy", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "out.npy").shape == (128, 512)
    refused = run("capture", "-n", "half.neff", "--save-output-npy", cwd=tmp_path)
    assert refused.returncode == 1 and "unsupported type for npy output: bfloat16" in refused.stderr


def test_only_the_asked_output_is_saved(folder):
    done = run("capture", "-n", "file.neff", "--num-exec", "3", "--save-output", "--save-nth-output", "3", cwd=folder)
    assert done.stdout == 'saved output "out" as "out.3"\n'
    assert not (folder / "out").exists()


@pytest.mark.parametrize(("name", "told"), [("profile.ntff", "takes its NEFF"), (".", "CASE/file.neff")])
def test_explain_says_what_it_takes_instead(folder, name, told):
    wrong = run("explain", name, cwd=folder)
    assert wrong.returncode == 2 and told in wrong.stderr


def test_explain_prints_text_and_json(folder):
    text = run("explain", "file.neff", "--what-if", "hbm_bandwidth=2x", cwd=folder)
    assert text.returncode == 0 and "bound by" in text.stdout and "hbm_bandwidth=2x" in text.stdout
    record = json.loads(run("explain", "file.neff", "--format", "json", cwd=folder).stdout)
    assert record["total_time_us"] > record["fixed_overhead_us"] > 0
    wrong = run("explain", "file.neff", "--what-if", "luck=2x", cwd=folder)
    assert wrong.returncode == 1 and "unknown constant 'luck'" in wrong.stderr


def test_parquet_has_a_table_for_each_kind(folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    run("capture", "-n", "file.neff", "-s", "p.ntff", cwd=folder)
    done = run(
        "view", "-n", "file.neff", "-s", "p.ntff", "--output-format", "parquet", "--output-file", "tables", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    [summary] = parquet.read_table(folder / "tables" / "Summary.parquet").to_pylist()
    assert summary["is_simulation"] is True
    assert "start_ts" in parquet.read_table(folder / "tables" / "Instruction.parquet").column_names


@pytest.mark.parametrize(
    ("command", "fault", "status", "says"),
    [
        ("view", "crash", -9, ""),
        ("view", "ntff_version", 1, "NTFF version 7 is not supported"),
        ("view", "garbage", 0, ""),
        ("show-session", "error", 1, "NRT_FAILURE"),
    ],
)
def test_faults_of_other_commands(folder, command, fault, status, says):
    run("capture", "-n", "file.neff", "-s", "p.ntff", cwd=folder)
    arguments = ("view", "-n", "file.neff", "-s", "p.ntff", "--output-format", "summary-json")
    if command == "show-session":
        arguments = ("show-session", "-s", "p.ntff", "-j")
    done = run(*arguments, cwd=folder, NEURON_SIM_FAULTS=json.dumps([{"command": command, "fault": fault}]))
    assert done.returncode == status and says in done.stderr
    if fault == "garbage":
        with pytest.raises(ValueError):
            json.loads(done.stdout)


def test_a_hang_ends_when_its_seconds_are_over(folder):
    plan = json.dumps([{"command": "capture", "match": "*/file.neff", "fault": "hang", "seconds": 0.01}])
    assert run("capture", "-n", "file.neff", "-s", "p.ntff", cwd=folder, NEURON_SIM_FAULTS=plan).returncode == 0


def test_a_bad_plan_is_one_line(folder):
    for plan in ("{", "nowhere.json", '[{"fault": "rain"}]', '{"rules": 3}', '[{"fault": "busy", "every": 0}]'):
        done = run("capture", "-n", "file.neff", cwd=folder, NEURON_SIM_FAULTS=plan)
        assert done.returncode == 1 and "NEURON_SIM_FAULTS" in done.stderr and "Traceback" not in done.stderr


def test_visible_cores_number_the_graphs(tmp_path):
    write_neff(matmul(lnc=2), str(tmp_path / "file.neff"))
    assert run("capture", "-n", "file.neff", "-s", "p.ntff", cwd=tmp_path, NEURON_RT_VISIBLE_CORES="2").returncode == 0
    session = json.loads(run("show-session", "-s", "p.ntff", "-j", cwd=tmp_path).stdout)
    assert [graph["NC"] for graph in session["NeffNodes"][0]["NodeInfo"]["Graphs"]] == [4, 5]
    viewed = run("view", "-n", "file.neff", "-s", "p.ntff", "--output-format", "summary-json", cwd=tmp_path)
    assert next(iter(json.loads(viewed.stdout).values()))["nc_idx"] == 9
    wrong = run("capture", "-n", "file.neff", cwd=tmp_path, NEURON_RT_VISIBLE_CORES="all")
    assert wrong.returncode == 1 and "Could not find VNC id" in wrong.stderr
