"""A shape that fails costs its row; only a lost device ends the run."""

import csv

import pytest
from click.testing import CliRunner

from neff_bench.experiments.latency_cli import latency


def rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.mark.parametrize("error", [RuntimeError("neuronx-cc: exit code 70"), ValueError("no lowering"), KeyError()])
def test_a_shape_that_does_not_compile_costs_its_row(neuron, tmp_path, error):
    neuron[256] = error
    result = CliRunner().invoke(latency, [])
    assert result.exit_code == 1
    found = rows(tmp_path / "results" / "quick.csv")
    assert [bool(row["latency_ms"]) for row in found] == [True, True, True, False]
    assert [bool(row["reason"]) for row in found] == [False, False, False, True]
    assert f"256x512x512 float32: neuron on xla:0 failed: {error or 'KeyError'}" in found[3]["reason"]
    assert "failed: 256x512x512" in " ".join(result.stdout.split())


def test_a_lost_device_ends_the_run_and_leaves_an_older_file(neuron, tmp_path):
    neuron[128] = RuntimeError("nrt_execute: NRT_EXEC_HW_ERR")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "quick.csv").write_text("old")
    result = CliRunner().invoke(latency, [])
    assert result.exit_code == 1 and "3 of 4 not timed" in result.stderr
    assert (tmp_path / "results" / "quick.csv").read_text() == "old"
    reasons = [row["reason"] for row in rows(tmp_path / "results" / "quick.partial.csv")]
    assert reasons[0] == "" and "NRT_EXEC_HW_ERR" in reasons[1]
    assert reasons[2:] == ["not timed: the device was lost"] * 2


def test_without_arguments_the_quick_suite_is_timed_saved_and_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(latency, ["--backend", "sim"])
    assert result.exit_code == 0, result.output
    assert "256x512x512" in result.stdout and "SIMULATED" in result.stdout
    assert [row["M"] for row in rows(tmp_path / "results" / "quick.csv")] == ["64", "128", "128", "256"]
