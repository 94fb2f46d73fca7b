"""From samples to constants with intervals."""

import random

import pytest

from neff_bench.chips import CHIPS
from neff_bench.simulator.calibration.fit import AGREES, FEW, FITTED, WIDE, fit

TRN2 = CHIPS["trn2"]


def one(samples, spacings=()):
    [finding] = fit([{"vector_latency_ns": values} for values in samples], spacings, TRN2)
    return finding


@pytest.mark.parametrize(
    ("samples", "verdict"),
    [
        ([[149.0, 151.0] * 10], FITTED),
        ([[TRN2.vector_latency_ns - 1, TRN2.vector_latency_ns + 1] * 10], AGREES),
        ([[150.0] * 3], FEW),
        ([[50.0], [100.0], [200.0], [400.0]], WIDE),
        ([[150.0]] * 4, FITTED),
    ],
)
def test_a_constant_is_replaced_only_where_the_traces_say_so(samples, verdict):
    assert one(samples).verdict == verdict


def test_a_long_trace_does_not_outvote_the_others():
    assert one([[150.0] * 3, [150.0] * 3, [150.0] * 3, [300.0] * 900]).estimate.value == 150.0


def test_the_interval_holds_the_true_value_in_most_draws():
    chance = random.Random(3)
    held = 0
    for _ in range(40):
        traces = [[chance.gauss(140, 5) for _ in range(20)] for _ in range(6)]
        estimate = one(traces).estimate
        held += estimate.low <= 140 <= estimate.high
    assert held >= 30


def test_what_a_pointer_adds_is_told_apart_from_the_latency():
    model = TRN2.vector_latency_ns, TRN2.vector_pointer_ns
    samples = {"vector_latency_ns": [model[0] - 10] * 9, "vector_pointer_ns": [model[1] - 10 + 5] * 9}
    found = {finding.estimate.name: finding.estimate.value for finding in fit([samples], [], TRN2)}
    assert found == {"vector_latency_ns": model[0] - 10, "vector_pointer_ns": model[1] + 5}


def test_packets_of_two_sizes_tell_the_fixed_cost_and_the_bandwidth_together():
    spacings = [(size, 8.0 + size / 20.0) for size in (64, 4096) for _ in range(20)]
    found = {finding.estimate.name: finding for finding in fit([], [spacings], TRN2)}
    assert found["dma_packet_ns"].estimate.value == pytest.approx(8.0)
    assert found["dma_engine_bandwidth"].estimate.value == pytest.approx(20.0)
    assert {finding.verdict for finding in found.values()} == {FITTED}


def test_packets_of_one_size_tell_neither():
    assert fit([], [[(512, 23.0)] * 50], TRN2) == []
