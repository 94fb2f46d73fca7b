"""Simulated times of known programs on every chip. A change that is meant is written down with `python -m tests.golden`."""

from dataclasses import fields

import pytest

from neff_bench.chips import CHIPS
from neff_bench.simulator.chips import what_if
from neff_bench.simulator.costs import table
from neff_bench.simulator.costs.table import TABLES
from neff_bench.simulator.errors import SimulatorError
from tests.golden.programs import NKI_LIBRARY, OURS, of_nki_library
from tests.golden.times import moved, read, times

PINNED = read()

NO_THROTTLE = "the PE of NeuronCore-v2 does not throttle: its speed is the same in every window"
ONE_CORE = "a logical core has one physical core, which meets no other"
NO_ROW = "no copy of NeuronCore-v2 was seen to differ from others by its gaps or its memory"
NO_PAIRS = "only on NeuronCore-v2 do two tensors from SBUF take longer than one"
ZERO = "a tenth of nothing is nothing"
WITHOUT_EFFECT = {
    chip: {
        "throttle_window_ns": NO_THROTTLE,
        "throttle_utilization": NO_THROTTLE,
        **dict.fromkeys(
            (
                "vector_scattered_latency_ns",
                "scalar_scattered_latency_ns",
                "scalar_sbuf_scattered_latency_ns",
                "scalar_sbuf_copy_latency_ns",
                "scalar_sbuf_copy_overhead_ns",
            ),
            NO_ROW,
        ),
        "barrier_ns": ONE_CORE,
        "software_dma_instruction_ns": ZERO,
        "disabled_dge_read_stall": ZERO,
        "vector_minimum_cycles": ZERO,
        "pe_overhead_cycles": ZERO,
        "dma_two_cores_ns": ONE_CORE,
    }
    for chip in ("trn1", "inf2")
} | {chip: {"dma_semaphore_gap_ns": ZERO, "vector_pair_latency_ns": NO_PAIRS} for chip in ("trn2", "trn3")}
"""Constants of a chip that move no program, and why."""


def check(name, build):
    for chip, pinned in PINNED["times_us"][name].items():
        found = times(build(chip))
        assert not moved(pinned, found), f"{name} on {chip}: {found} us, pinned {pinned}"


@pytest.mark.parametrize("name", OURS)
def test_times_are_those_pinned(name):
    check(name, OURS[name])


@pytest.mark.parametrize("name", NKI_LIBRARY)
def test_times_of_nki_library_are_those_pinned(name, nki_library):
    check(name, of_nki_library(nki_library)[name])


def test_every_program_is_pinned_on_every_chip():
    assert set(PINNED["times_us"]) == {*OURS, *NKI_LIBRARY}
    assert all(set(PINNED["times_us"][name]) == set(CHIPS) for name in OURS)


def variants(chip):
    """(constant, the chip with a tenth more or less of it), for all that `--what-if` accepts."""
    for field in fields(chip):
        for factor in ("1.1x", "0.9x"):
            try:
                yield field.name, what_if(chip, f"{field.name}={factor}")
            except SimulatorError:
                continue


@pytest.mark.parametrize("chip", CHIPS)
def test_a_tenth_more_or_less_of_any_constant_moves_a_pinned_time(chip):
    programs = {name: build(chip) for name, build in OURS.items()}
    pinned = {name: PINNED["times_us"][name][chip] for name in OURS}
    without_effect = WITHOUT_EFFECT.get(chip, {})
    shown = {}
    for constant, changed in variants(CHIPS[chip]):
        if constant in without_effect:
            continue
        # What shows one direction mostly shows the other.
        order = sorted(programs, key=lambda name: name != shown.get(constant))
        shown[constant] = next(
            (name for name in order if moved(pinned[name], times(programs[name], changed))), None
        )  # fmt: skip
        assert shown[constant], f"{constant} = {getattr(changed, constant)} moves no program on {chip}"
    assert len(shown) > 30


def costs(generation):
    """(row, field) of all numbers of the cost table of a generation."""
    for row in TABLES[generation]:
        for field in ("cycles", "added_cycles", "ns", "instructions"):
            if getattr(row, field) and (field != "instructions" or row.instructions > 1):
                yield row, field


@pytest.mark.parametrize("chip", ["inf2", "trn2", "trn3"])
def test_a_tenth_more_of_any_cost_of_an_operation_moves_a_pinned_time(chip, monkeypatch):
    generation = CHIPS[chip].generation
    whole = TABLES[generation]
    programs = {name: OURS[name](chip) for name in ("every operation", "products", "gaps", "held weights")}
    unseen, known = [], list(costs(generation))
    for row, field in known:
        value = getattr(row, field)
        more = row._replace(**{field: value + 1 if field == "instructions" else 1.1 * value})
        monkeypatch.setitem(TABLES, generation, tuple(more if one is row else one for one in whole))
        table.rows_for.cache_clear()
        found = (moved(PINNED["times_us"][name][chip], times(program)) for name, program in programs.items())
        if not any(found):
            unseen.append(f"{row.named}: {field}")
    monkeypatch.undo()
    table.rows_for.cache_clear()
    assert not unseen
    assert len(known) > 60


@pytest.mark.parametrize("chip", WITHOUT_EFFECT)
def test_constants_without_effect_have_none(chip):
    programs = {name: build(chip) for name, build in OURS.items() if name in ("throttle", "meetings", "transfers")}
    for constant, changed in variants(CHIPS[chip]):
        if constant in WITHOUT_EFFECT[chip]:
            for name, program in programs.items():
                assert not moved(PINNED["times_us"][name][chip], times(program, changed)), constant


def test_time_of_a_software_dma_on_its_engine_moves_a_program_of_inf2():
    program = OURS["transfers"]("inf2")
    changed = what_if(CHIPS["inf2"], "software_dma_instruction_ns=50")
    assert moved(PINNED["times_us"]["transfers"]["inf2"], times(program, changed))
