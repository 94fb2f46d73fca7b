"""Which measurement of a case counts, and by which clock."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("validation")


@pytest.fixture
def compared():
    from validation.correlation.measured import Measured
    from validation.correlation.modelled import Modelled
    from validation.correlation.report import Compared

    def compared(repository, name, measured_us):
        row = Measured(repository, "0" * 40, "rmsnorm_quant", "t", name, "trn2", 2, "nki", measured_us, lambda: None)
        return Compared(row, Modelled(10.0, {"dma": 10.0}, 10.0, True, {"simulator_execution_time": 4e-6}))

    return compared


def test_a_superseded_row_is_shown_and_counts_in_no_figure(compared):
    from validation.correlation.report import report

    old = compared("aws-neuron/nki-library", "s2 h16384 quant 0.0 LNC 2", 20.0)
    new = compared("awslabs/nki-autotune", "s2 h16384 quant 0.0 LNC 2", 4.0)
    lines = list(report([old, new]))
    assert [line for line in lines if line.startswith("| all | 1 | model | +0.0 |")]
    [shown] = [line for line in lines if "(superseded)" in line]
    assert "| cycles | 2.28 and later | 10.0 | 20.0 |" in shown


def test_a_row_is_compared_by_the_clock_that_it_was_measured_with(compared):
    assert compared("aws-neuron/nki-library", "other", 9.0).simulated_us == 10.0
    assert compared("awslabs/nki-autotune", "other", 9.0).simulated_us == 4.0


def test_each_superseded_case_was_measured_again():
    from validation.correlation.labels import SUPERSEDED
    from validation.correlation.nkilib import rmsnorm_quant_again

    assert {name for _, _, name in SUPERSEDED} == {row.name for row in rmsnorm_quant_again(Path())}
