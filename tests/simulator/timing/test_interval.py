import math

import pytest

from neff_bench.simulator.timing import interval as module
from neff_bench.simulator.timing.interval import Fit, Row, effects_of, ends, evidence, interval, span
from neff_bench.simulator.timing.likeness import Likeness

LIKE = Likeness(3, 1, False, False, 0.0)
NOTHING = ((0.0,) * 5,) * 5
FIT = Fit((0.1, 0.2, 0.3, 0.4, 0.5), NOTHING, 0.03, 0.2, (0.04, 0.02), (0.7, 1.3, 1.7))


def row(family, like=LIKE, repository="a/a", target="trn2", ratio=1.0):
    return Row(repository, "0" * 40, family, target, like, ratio)


@pytest.fixture
def known(monkeypatch):
    def put(*rows):
        monkeypatch.setattr(module, "evidence", lambda: (rows, FIT))
        module.interval.cache_clear()

    yield put
    module.interval.cache_clear()


def middle(like, fit=FIT):
    return math.log(math.prod(ends(fit, like))) / 2


def half(like, fit=FIT, reach=1):
    low, high = ends(fit, like, reach)
    return math.log(high / low) / 2


@pytest.mark.parametrize(
    ("change", "effects"),
    [
        ({}, [0]),
        ({"generation": 2}, [0, 1]),
        ({"generation": 4}, [0, 2]),
        ({"lnc": 2}, [0, 3]),
        ({"compiled": True}, [0, 4]),
    ],
)
def test_the_middle_is_the_sum_of_the_effects_that_a_row_has(change, effects):
    like = LIKE._replace(**change)
    assert effects_of(like) == effects
    assert middle(like) == pytest.approx(sum(FIT.effects[n] for n in effects))


def test_errors_that_a_new_kernel_has_of_its_own_add_up_as_squares():
    assert half(LIKE) == pytest.approx(1.3 * math.hypot(0.03, 0.04))
    assert half(LIKE, reach=2) == pytest.approx(1.7 * math.hypot(0.03, 0.04))


def test_a_row_that_the_tensor_engine_binds_is_surer():
    assert half(LIKE._replace(tensor_busy=True)) == pytest.approx(1.3 * math.hypot(0.03, 0.02))


def test_operations_that_were_never_compared_make_it_wider_by_their_share():
    assert half(LIKE._replace(uncompared=0.5)) == pytest.approx(1.3 * math.hypot(0.03, 0.04, 0.1))


def test_a_kind_of_which_little_is_known_has_a_wider_interval():
    covariance = [[0.0] * 5 for _ in range(5)]
    covariance[0][0], covariance[4][4], covariance[0][4], covariance[4][0] = 0.01, 0.02, -0.004, -0.004
    unsure = FIT._replace(covariance=tuple(map(tuple, covariance)))
    assert half(LIKE._replace(compiled=True), unsure) == pytest.approx(
        1.3 * math.sqrt(0.01 + 0.02 - 0.008 + 0.03**2 + 0.04**2)
    )


def test_it_says_how_many_rows_are_behind_it_and_how_many_of_them_are_like_the_row(known):
    known(row("one"), row("one"), row("one", repository="b/b"), row("two", LIKE._replace(compiled=True), target="trn3"))
    found = interval(LIKE._replace(tensor_busy=True, uncompared=0.25))
    assert (found.rows, found.families, found.alike, found.targets) == (4, 3, (3, 2), ("trn2", "trn3"))
    assert interval(LIKE._replace(lnc=2)).alike == (0, 0)


def test_a_kernel_of_the_library_has_the_interval_of_its_own_rows(known):
    ratios = [0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.3]
    library = [row("mlp", repository="aws-neuron/nki-library", ratio=ratio) for ratio in ratios]
    known(*library, row("mlp", ratio=3.0), row("mlp", LIKE._replace(lnc=2), "aws-neuron/nki-library", ratio=2.0))
    found = interval(LIKE, "mlp")
    assert (found.low, found.high, found.rows, found.kernel) == (0.8, 1.3, 7, "mlp")
    assert interval(LIKE._replace(lnc=2), "mlp").kernel == "" == interval(LIKE).kernel


def test_with_too_few_rows_a_kernel_of_the_library_is_like_any_other(known):
    known(*[row("mlp", repository="aws-neuron/nki-library", ratio=1.0)] * 6)
    assert interval(LIKE, "mlp") == interval(LIKE)


@pytest.mark.parametrize(("rows", "least"), [(7, 0.75), (9, 0.8), (19, 0.8), (29, 0.8), (64, 0.8)])
def test_the_next_row_of_a_kernel_lies_in_the_span_with_the_chance_that_it_says(rows, least):
    low, high = span(range(rows))
    assert least <= (high - low) / (rows + 1) < 0.9


def test_a_generation_that_nobody_measured_has_none(known):
    known(row("one"))
    assert interval(LIKE) and interval(LIKE._replace(generation=2)) is None


def test_the_evidence_is_of_public_rows_of_several_repositories():
    rows, fit = evidence()
    assert all("/" in one.repository and len(one.commit) >= 7 and one.ratio > 0 for one in rows)
    assert len({one.repository for one in rows}) >= 4 and len(rows) > 200
    assert fit.reach[0] < fit.reach[1] < fit.reach[2]


def test_the_shipped_intervals_hold_most_of_their_own_rows():
    rows, fit = evidence()
    held = [low <= one.first <= high for one in rows if one.first for low, high in [ends(fit, one.like)]]
    assert len(held) > 100 and 0.75 <= sum(held) / len(held) <= 0.9
