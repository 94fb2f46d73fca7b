"""Calibration files, and the chips that they make."""

from dataclasses import replace

import pytest

from neff_bench.chips import CHIPS
from neff_bench.chips.calibration import (
    ENVIRONMENT,
    PREAMBLE,
    Calibration,
    CalibrationError,
    Estimate,
    active,
    calibrated,
    calibration_of,
    encoded,
)

TRN2 = CHIPS["trn2"]


def estimate(name, value, model=1.0):
    return Estimate(name, value, value, value, model, samples=9, traces=4)


@pytest.fixture
def in_force(tmp_path, monkeypatch):
    def write(*estimates, target="trn2", data=None):
        path = tmp_path / "my.calibration.json"
        path.write_bytes(encoded(Calibration(target, estimates, (("a.ntff", "00"),))) if data is None else data)
        monkeypatch.setenv(ENVIRONMENT, str(path))
        return path

    return write


def test_a_calibration_is_read_as_it_was_written(in_force):
    in_force(estimate("vector_latency_ns", 150.0))
    found = active()
    assert found.estimates == (estimate("vector_latency_ns", 150.0),)
    assert (found.name, len(found.digest)) == ("my.calibration.json", 8)


def test_without_the_variable_there_is_none(monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert active() is None


def test_it_counts_for_its_own_chip_only(in_force):
    in_force(estimate("vector_latency_ns", 150.0))
    assert calibration_of("trn2") is not None
    assert calibration_of("inf2") is None


def test_the_fitted_constants_replace_the_chip_s_and_say_where_they_are_from(in_force):
    in_force(estimate("vector_latency_ns", 150.0), estimate("pe_overhead_cycles", 7.6))
    chip = calibrated(TRN2, active())
    assert (chip.vector_latency_ns, chip.pe_overhead_cycles) == (150.0, 8)
    assert "my.calibration.json" in chip.sources["vector_latency_ns"]
    assert replace(chip, vector_latency_ns=TRN2.vector_latency_ns, pe_overhead_cycles=TRN2.pe_overhead_cycles) == TRN2


@pytest.mark.parametrize("core", [0, 1])
def test_a_later_preamble_moves_every_engine_of_its_core(in_force, core):
    in_force(estimate(f"{PREAMBLE}[{core}]", TRN2.overheads.preamble_ns + 300, TRN2.overheads.preamble_ns))
    overheads = calibrated(TRN2, active()).overheads
    for engine in range(5):
        for other in (0, 1):
            later = overheads.kernel_start_ns(other, engine) - TRN2.overheads.kernel_start_ns(other, engine)
            assert later == pytest.approx(300 if other == core else 0)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "not a calibration"),
        (b"[1]", "not a calibration"),
        (b'{"format": "neff-bench calibration 0"}', "calibrate again"),
        (b'{"format": 1}', r"Expected `str`, got `int` - at `\$.format`"),
        (encoded(Calibration("trn2", (estimate("vector_latency_ns", "9"),), ())), r"at `\$.estimates\[0\].value`"),
        (encoded(Calibration("trn2", (estimate("name", 1.0),), ())), "unknown constant"),
        (encoded(Calibration("trn2", (estimate("preamble_ns[x]", 1.0),), ())), "unknown constant"),
        (encoded(Calibration("trn9", (), ())), "unknown target"),
        (encoded(Calibration("trn2", (estimate("speed_of_light", 1.0),), ())), "unknown constant"),
        (encoded(Calibration("trn2", (estimate("vector_latency_ns", -1.0),), ())), "positive"),
    ],
)
def test_a_file_that_is_no_calibration_is_refused_in_one_line(in_force, data, said):
    in_force(data=data)
    with pytest.raises(CalibrationError, match=said) as refused:
        active()
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, "/nowhere/x.json")
    with pytest.raises(CalibrationError, match=r"/nowhere/x\.json: cannot read"):
        active()
