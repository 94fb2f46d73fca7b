"""Traces of a machine with other constants give these constants back, and rows say what they were simulated with."""

import json

import pytest
from click.testing import CliRunner

from neff_bench.chips import CHIPS
from neff_bench.chips.calibration import ENVIRONMENT, PREAMBLE, Calibration, Estimate, encoded
from neff_bench.simulator.commands.calibrate import answer, calibrate, write
from neff_bench.simulator.commands.cli import main
from neff_bench.simulator.commands.view import load_profile, summary_record, write_json
from neff_bench.simulator.errors import SimulatorError
from neff_bench.simulator.files.neff import write_neff
from neff_bench.simulator.timing.model import model_name, model_version
from tests.simulator.programs import matmul

TRN2 = CHIPS["trn2"]
OTHERS = {
    "vector_latency_ns": 190.0,
    "software_dma_instruction_ns": 80.0,
    "load_weights_ns": 85.0,
    "vector_overhead_ns": 90.0,
}
LATER_NS = 250.0


def calibration(**constants):
    estimates = [Estimate(name, value, value, value, getattr(TRN2, name), 9, 4) for name, value in constants.items()]
    start = TRN2.overheads.preamble_ns
    estimates.append(Estimate(f"{PREAMBLE}[1]", start + LATER_NS, start, start, start, 4, 4))
    return Calibration("trn2", tuple(estimates), (("a.ntff", "00"),))


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """The calibration that another machine is."""
    path = tmp_path_factory.mktemp("machine") / "machine.json"
    path.write_bytes(encoded(calibration(**OTHERS)))
    return path


@pytest.fixture(scope="module")
def another_machine(machine):
    """Whole profiles of four programs, taken where the constants are OTHERS and core 1 begins later."""
    profiles = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT, str(machine))
        for tiles in (2, 3, 4, 5):
            neff, profile = machine.with_name("file.neff"), machine.with_name(f"{tiles}.json")
            write_neff(matmul(tiles=tiles, lnc=2), neff)
            write_json(load_profile(str(neff), None), "file.neff", "profile.ntff", str(profile))
            profiles.append(profile)
    return profiles


def test_the_constants_of_another_machine_come_back(another_machine):
    found = calibrate(another_machine, [])
    fitted = {estimate.name: estimate.value for estimate in found.calibration.estimates}
    # Profiles hold whole nanoseconds, rounded down.
    for name in ("vector_latency_ns", "software_dma_instruction_ns", "load_weights_ns"):
        assert fitted[name] == pytest.approx(OTHERS[name], abs=1.0)
    assert fitted[f"{PREAMBLE}[1]"] - TRN2.overheads.preamble_ns == pytest.approx(LATER_NS, abs=1.0)
    assert f"{PREAMBLE}[0]" not in fitted
    assert len(found.simulated) == 4
    assert "SIMULATED: 4 of 4 traces" in answer(found, None).grids[0].notes[1]


def test_a_calibration_made_while_another_is_in_force_starts_from_the_model_s_constants(
    another_machine, machine, monkeypatch
):
    monkeypatch.setenv(ENVIRONMENT, str(machine))
    assert "vector_latency_ns" in {estimate.name for estimate in calibrate(another_machine, []).calibration.estimates}


def test_times_versions_and_the_stated_error_name_the_calibration(tmp_path, monkeypatch):
    write_neff(matmul(), tmp_path / "file.neff")
    (tmp_path / "my.json").write_bytes(encoded(calibration(vector_latency_ns=400.0)))

    def summary():
        [found] = summary_record(load_profile(str(tmp_path / "file.neff"), None)).values()
        return found

    plain, name = summary(), model_name("trn2")
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "my.json"))
    fitted = summary()
    assert fitted["total_time"] > plain["total_time"]
    assert model_name("trn2").startswith(f"{name}.cal")
    assert model_version() in fitted["profiler_version"]
    assert "my.json" in json.dumps(fitted)
    assert ".cal" not in model_name("inf2")


def test_the_command_prints_what_it_fitted_and_writes_the_file(another_machine, tmp_path):
    output = tmp_path / "out.json"
    done = CliRunner().invoke(main, ["calibrate", *map(str, another_machine), "--output", str(output)])
    assert done.exit_code == 0, done.output
    assert "vector_latency_ns" in done.output
    assert "SIMULATED" in done.output
    assert json.loads(output.read_bytes())["target"] == "trn2"


def test_nothing_to_calibrate_writes_no_file(tmp_path):
    with pytest.raises(SimulatorError, match="nothing to calibrate"):
        write(Calibration("trn2", (), ()), tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()
