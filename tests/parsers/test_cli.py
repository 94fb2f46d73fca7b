"""`neff-bench inspect`, run as its user runs it."""

import csv
import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from neff_bench.parsers.cli import inspect

SUMMARY = {
    "total_time": 4e-05,
    "total_active_time": 3e-05,
    "total_active_time_percent": 0.75,
    "instance_type": "trn2.3xlarge",
}


def run(*arguments):
    return CliRunner().invoke(inspect, [str(argument) for argument in arguments])


@pytest.fixture
def neff(files, write):
    return write("file.neff", files.neff_of(files.neff_members()))


@pytest.fixture
def ntff(files, write):
    rows = [*files.instruction(0, 0, 100, 200), *files.instruction(1, 1, 0, 10)]
    return write("profile_exec_2.ntff", files.ntff_of(rows, files.packet(3, 1, 4096, 10, 30)))


def test_the_keys_of_a_neff(neff, files):
    shown = json.loads(run(neff, "--format", "json").stdout)
    assert shown["compiler_version"] == "2.23.6484.0+3b612583"
    assert (shown["target"], shown["lnc"], shown["uuid"]) == ("trn2", 2, files.UUID.hex())
    assert shown["inputs"][0] == {"name": "x", "shape": [4, 8], "dtype": "bfloat16", "bytes": 64}
    assert shown["outputs"] == [{"name": "out", "shape": [4, 2], "dtype": "bfloat16", "bytes": 16}]
    assert shown["engines"] == {"tensor": {"instruction_count": 10}, "scalar": {"instruction_count": 6}}


def test_no_two_lines_of_a_profile_have_one_name(tmp_path):
    profile = tmp_path / "ntff.json"
    profile.write_text(json.dumps({"summary": [SUMMARY], "metadata": [{}]}))
    shown = run(profile).stdout
    assert "total_active_time (us)" in shown and "total_active_time_percent " in shown


def test_the_keys_of_an_ntff(ntff):
    shown = json.loads(run(ntff, "--format", "json").stdout)
    assert (shown["version"], shown["certainty"], shown["total_time_s"], shown["neuroncore_cycle_count"]) == (
        6,
        "exact",
        5e-6,
        6000,
    )
    assert (shown["event_count"], shown["matmul_instruction_count"]) == (0, 1)
    assert set(shown["engines"]) == {"tensor", "scalar", "vector", "gpsimd", "sync"}
    assert shown["engines"]["tensor"] == {"instruction_count": 1, "instruction_time_s": 1e-10, "active_time_s": 1e-10}
    assert {"packets": 1, "bytes": 4096, "active_time_s": 2e-11}.items() <= shown["dma"].items()
    assert shown["neff"] is None


def test_a_neff_in_a_directory_above_is_found_and_no_other_is_held_against_the_trace(neff, ntff, files, write):
    trace = write("profiles/run/a.ntff", ntff.read_bytes())
    assert json.loads(run(trace, "--format", "json").stdout)["neff"] == {"path": str(neff), "same_program": True}
    neff.write_bytes(files.neff_of(files.neff_members(), uuid=bytes(range(16))))
    done = run(trace, "--format", "json")
    assert done.exit_code == 0 and json.loads(done.stdout)["neff"] is None


def test_a_profile_is_shown_with_its_self_check(write):
    sound, wrong = (
        write("a.json", json.dumps(SUMMARY).encode()),
        write("b.json", json.dumps({**SUMMARY, "total_active_time_percent": 0.8}).encode()),
    )
    shown = json.loads(run(sound, "--format", "json").stdout)
    assert shown["summary"]["total_time_s"] == 4e-05 and shown["self_check"] == {"checked": 1, "disagreements": []}
    assert json.loads(run(wrong, "--format", "json").stdout)["self_check"]["disagreements"] == [
        {"name": "total_active_time_fraction", "stated": 0.8, "computed": 0.75}
    ]
    assert "1 disagree" in run(wrong).stdout


def test_a_trace_is_checked_against_the_neff_beside_it(neff, ntff, files, write):
    shown = json.loads(run(ntff, "--format", "json").stdout)
    assert shown["neff"] == {"path": str(neff), "same_program": True}
    other = write("a/b/c/other/file.neff", files.neff_of(files.neff_members(), uuid=bytes(range(16))))
    trace = write("a/b/c/other/a.ntff", ntff.read_bytes())
    done = run(trace)
    assert done.exit_code == 1 and "the uuids differ" in done.stderr and "ANOTHER program" in done.stdout
    assert run(trace, neff).exit_code == 0
    other.unlink()


def test_a_directory_becomes_lists_and_one_bad_file_does_not_hide_the_others(neff, ntff, write):
    write("deep/broken.neff", b"x" * 2000)
    write("deep/settings.json", b"{}")
    done = run(neff.parent, "--format", "json")
    shown = json.loads(done.stdout)
    assert sorted(one.get("kind", "error") for one in shown) == ["error", "neff", "ntff"]
    assert done.exit_code == 1 and "broken.neff: offset 0: not a NEFF" in done.stderr
    table = run(neff.parent).stdout
    assert "x[4,8]:bfloat16" in table and "out[4,2]:bfloat16" in table and "same program" in table


def test_a_session_is_shown(write):
    graphs = {"NeffNodes": [{"NodeInfo": {"Graphs": [{"NC": 0, "CycleCount": 5_000_000}]}}]}
    assert (
        json.loads(run(write("s.json", json.dumps(graphs).encode()), "--format", "json").stdout)["total_time_s"] == 5e-6
    )


def test_names_in_a_file_cannot_drive_the_terminal(files, write):
    members = files.neff_members()
    members["info.json"] = json.dumps({"tool_version": "\x1b[31mred[bold]"}).encode()
    shown = run(write("a.neff", files.neff_of(members))).stdout
    assert "\x1b" not in shown and "red[bold]" in shown


@pytest.mark.parametrize(("arguments", "code"), [([], 2), (["absent.neff"], 1), (["--format", "xml", "x"], 2)])
def test_exit_codes(arguments, code):
    done = run(*arguments)
    assert done.exit_code == code and not done.stdout and "Traceback" not in done.stderr


def test_the_instance_id_is_not_printed(ntff):
    assert "i-0123456789" not in run(ntff).stdout + run(ntff, "--format", "json").stdout


def test_a_neff_is_inspected_without_numpy(neff):
    script = f"import sys\nfrom neff_bench.parsers.neff import read_neff\nread_neff({str(neff)!r})\nassert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("width", ["40", "80", "120"])
def test_a_list_keeps_its_width_and_the_names_of_files_whole(neff, ntff, files, width, monkeypatch):
    name = "mlp_nkilib_b1_s128_h1024_i512_bfloat16_trn2_lnc2.neff"
    neff.rename(neff.with_name(name))
    monkeypatch.setenv("COLUMNS", width)
    shown = run(neff.parent).stdout
    titles = [line for line in shown.splitlines() if line.startswith(("NEFF in ", "NTFF"))]
    assert all(len(line) <= int(width) for line in shown.splitlines() if line not in titles)
    assert name in (shown if int(width) > len(name) else shown.replace("\n", ""))


def test_a_description_is_flat_in_csv(neff):
    (record,) = csv.DictReader(run(neff, "--format", "csv").stdout.splitlines())
    assert record["target"] == "trn2" and record["engines.tensor.instruction_count"] == "10"
    assert json.loads(record["outputs"])[0]["name"] == "out"
