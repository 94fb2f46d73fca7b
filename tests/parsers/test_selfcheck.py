"""Derived figures against their counters."""

import dataclasses

import pytest

from neff_bench.parsers.metadata import Metadata
from neff_bench.parsers.selfcheck import Check, check
from neff_bench.parsers.summary import Summary

METADATA = Metadata(2.4e9, 1.2e9, 128, 128, 716e9, 2, 6)
TOTAL_S = 40e-6
PEAK = 2 * 128 * 128 * 2.4e9


def disagreements(summary, metadata):
    return tuple(one for one in check(summary, metadata) if not one.agrees)


def summary(**changes):
    raw = Summary(
        total_time_s=TOTAL_S,
        neuroncore_cycle_count=48_000,
        hardware_flops=500_000_000,
        transpose_flops=100_000_000,
        model_flops=0,
        hbm_read_bytes=1_000_000,
        hbm_write_bytes=600_000,
        total_active_time_s=30e-6,
        total_active_time_fraction=0.75,
        tensor_engine_active_time_s=10e-6,
        tensor_engine_active_time_fraction=0.25,
        mfu_inst_estimated_fraction=4e8 / (TOTAL_S * 2 * PEAK),
        mfu_estimated_fraction=4e8 / (TOTAL_S * 2 * PEAK),
        mfu_hlo_estimated_fraction=0.0,
        hfu_estimated_fraction=5e8 / (TOTAL_S * 2 * PEAK),
        mm_arithmetic_intensity=250.0,
        mbu_estimated_fraction=1.6e6 / (TOTAL_S * 716e9),
        peak_flops_bandwidth_ratio=PEAK / 716e9,
        mfu_max_achievable_estimated_fraction=1.0,
        dma_active_time_s=8e-6,
        static_dma_active_time_s=2e-6,
        static_dma_active_time_fraction=0.25,
        static_dma_packet_count=3,
        software_dynamic_dma_packet_count=9,
        static_dma_packet_fraction=0.25,
    )
    return dataclasses.replace(raw, **changes)


def test_a_sound_summary_agrees():
    found = check(summary(), METADATA)
    assert len(found) == 12 and disagreements(summary(), METADATA) == ()


@pytest.mark.parametrize("field", [one.name for one in check(summary(), METADATA) if one.stated not in (0.0, 1.0)])
def test_each_figure_that_is_off_by_more_than_a_millionth_is_reported(field):
    changed = summary(**{field: getattr(summary(), field) * (1 + 3e-6)})
    assert field in {one.name for one in disagreements(changed, METADATA)}


def test_newer_tools_divide_by_the_cycles():
    longer = 48_200 / 1.2e9
    changed = {
        name: value * TOTAL_S / longer
        for name in ("total_active_time_fraction", "tensor_engine_active_time_fraction")
        if (value := getattr(summary(), name))
    }
    changed |= {
        name: getattr(summary(), name) * TOTAL_S / longer
        for name in (
            "mfu_inst_estimated_fraction",
            "mfu_estimated_fraction",
            "hfu_estimated_fraction",
            "mbu_estimated_fraction",
        )
    }
    assert disagreements(summary(neuroncore_cycle_count=48_200, **changed), METADATA) == ()


def test_newer_tools_take_dma_shares_of_the_total_time_and_adjust_flops():
    hfu = 2e9 / (TOTAL_S * 2 * PEAK)
    changed = summary(
        static_dma_active_time_fraction=0.05, adjusted_hardware_flops=2_000_000_000, hfu_estimated_fraction=hfu
    )
    assert disagreements(changed, METADATA) == ()


def test_absent_zero_counters_are_zero():
    changed = summary(
        transpose_flops=None,
        hbm_write_bytes=None,
        mm_arithmetic_intensity=500.0,
        mfu_inst_estimated_fraction=5e8 / (TOTAL_S * 2 * PEAK),
    )
    changed = dataclasses.replace(
        changed,
        mfu_estimated_fraction=changed.mfu_inst_estimated_fraction,
        mbu_estimated_fraction=1e6 / (TOTAL_S * 716e9),
    )
    assert disagreements(changed, METADATA) == ()


def test_without_a_device_only_what_needs_none_is_checked():
    nothing = Metadata(None, None, None, None, None, None, None)
    names = {one.name for one in check(summary(), nothing)}
    assert "mm_arithmetic_intensity" in names and not {"mfu_estimated_fraction", "mbu_estimated_fraction"} & names
    assert check(Summary(), nothing) == ()


@pytest.mark.parametrize(
    "moved", [{"hbm_read_bytes": 10}, {"hbm_write_bytes": 10}, {"hbm_read_bytes": 4, "hbm_write_bytes": 6}]
)
def test_bytes_that_are_not_said_are_none(moved):
    nothing = Metadata(None, None, None, None, None, None, None)
    [one] = check(Summary(hardware_flops=1000, mm_arithmetic_intensity=100.0, **moved), nothing)
    assert one.agrees
    [half] = check(Summary(hardware_flops=1000, transpose_flops=500, mm_arithmetic_intensity=50.0, **moved), nothing)
    assert half.agrees and check(Summary(hardware_flops=1000, mm_arithmetic_intensity=1.0), nothing) == ()


def test_a_figure_agrees_up_to_a_millionth_of_the_larger():
    for stated, computed, agrees in (
        (1.0, 1.000001, True),
        (1.0, 1.0000011, False),
        (0.0, 0.0, True),
        (-1.0, -1.0000005, True),
        (0.0, 1e-9, False),
    ):
        assert Check("x", stated, computed).agrees is Check("x", computed, stated).agrees is agrees
