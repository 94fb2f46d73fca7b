"""Which constants of a chip are tried, and what a better one changes."""

from dataclasses import replace

import pytest

from neff_bench.simulator.timing import sensitivity
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.sensitivity import Sensitivity, sensitivities
from tests.simulator.programs import matmul


@pytest.fixture(scope="module")
def timed():
    return schedule(matmul())


@pytest.fixture(scope="module")
def changes(timed):
    return {name: (factor, getattr(chip, name)) for name, factor, chip in sensitivity._changes(timed)}


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("hbm_bandwidth", 2.0),
        ("pe_clock_ghz", 2.0),
        ("dma_engines", 2.0),
        ("semaphore_ns", 0.5),
        ("pe_fill_cycles", 0.5),
        ("throttle_factor", 0.5),
        ("base_clock_ghz", None),
        ("throttle_window_ns", None),
        ("sbuf_bytes", None),
    ],
)
def test_a_constant_is_better_by_a_factor_of_two_on_the_side_that_its_name_tells(name, factor):
    assert sensitivity._better(name) == factor


def test_a_changed_constant_keeps_its_type_and_a_factor_is_no_less_than_one(changes, timed):
    assert changes["hbm_bandwidth"] == (2.0, 2 * timed.chip.hbm_bandwidth)
    assert changes["dma_engines"] == (2.0, 32) and isinstance(changes["dma_engines"][1], int)
    assert changes["dma_packet_ns"] == (0.5, timed.chip.dma_packet_ns / 2)
    slow = replace(timed, chip=replace(timed.chip, dma_convert_factor=1.5, throttle_factor=1.0))
    found = {name: getattr(chip, name) for name, _, chip in sensitivity._changes(slow)}
    assert found["dma_convert_factor"] == 1.0 and "throttle_factor" not in found


def test_constants_of_an_engine_that_has_nothing_to_do_are_not_tried(changes):
    """The program loads, multiplies and copies on Vector; the runtime's work on GpSimd is in the code too."""
    prefixes = {"pe_", "load_weights_", "throttle_", "minimum_", "vector_"}
    assert all(any(name.startswith(prefix) for name in changes) for prefix in prefixes)
    assert not any(name.startswith(("scalar_", "activation_")) for name in changes)


def test_a_constant_of_nothing_is_not_tried(timed):
    without = replace(timed, chip=replace(timed.chip, barrier_ns=0.0))
    assert "barrier_ns" not in {name for name, _, _ in sensitivity._changes(without)}


def test_what_gains_nothing_is_left_out_and_the_most_comes_first(timed, monkeypatch):
    chips = {
        "a": timed.chip,
        "b": replace(timed.chip, software_dma_prepare_ns=1.0),
        "c": replace(timed.chip, software_dma_prepare_ns=700.0),
    }
    slower = replace(timed.chip, software_dma_prepare_ns=5000.0)
    monkeypatch.setattr(
        sensitivity,
        "_changes",
        lambda _: [
            ("same", 2.0, chips["a"]),
            ("some", 0.5, chips["c"]),
            ("most", 2.0, chips["b"]),
            ("worse", 0.5, slower),
        ],
    )
    most, some = (schedule(matmul(), chips[name]).total_ns / 1000 for name in "bc")
    assert most < some < timed.total_ns / 1000
    assert sensitivities(matmul(), timed) == [Sensitivity("most", "2x", most), Sensitivity("some", "0.5x", some)]
