import math

import pytest

from neff_bench.simulator.timing import interval as module
from neff_bench.simulator.timing.interval import Group, evidence, interval, widening, without
from neff_bench.simulator.timing.likeness import Likeness

LIKE = Likeness("NC-v3", 1, False, True)
TENS = tuple(n / 10 for n in range(1, 11))


@pytest.fixture
def known(monkeypatch):
    def put(*groups):
        monkeypatch.setattr(module, "evidence", lambda: groups)
        module.widening.cache_clear()

    yield put
    module.widening.cache_clear()


def group(family, ratios, repository="a/a", like=LIKE, target="trn2"):
    return Group(repository, "0" * 40, family, target, like, tuple(ratios))


def test_the_ends_are_the_10th_and_90th_percentile(known):
    known(group("one", TENS), group("two", TENS))
    found = interval(LIKE)
    assert (found.low, found.high, found.rows) == (pytest.approx(0.1), pytest.approx(0.9), 20)


def test_each_family_weighs_the_same(known):
    known(group("one", [1.0] * 1000), group("two", [2.0]))
    assert interval(LIKE).high == pytest.approx(2.0)


def test_features_are_dropped_until_two_families_are_left(known):
    short = LIKE._replace(long=False)
    known(group("one", [1.0] * 9), group("two", [1.2], like=short))
    assert interval(LIKE).shared == 3
    known(group("one", [1.0] * 9), group("two", [1.2]), group("three", [5.0], like=short))
    assert (interval(LIKE).shared, interval(LIKE).families) == (4, ("one", "two"))


def test_another_generation_and_too_few_rows_tell_nothing(known):
    known(group("one", TENS), group("two", TENS))
    assert interval(LIKE._replace(engines="NC-v2")) is None
    known(group("one", [1.0] * 8), group("two", [1.2]))
    assert interval(LIKE) is None


def test_the_spread_is_widened_until_it_holds_the_rows_of_a_repository_that_was_left_out(known):
    known(
        group("one", [0.9, 1.1] * 3), group("two", [0.9, 1.1] * 3),
        group("three", [1.5] * 5, repository="b/b"), group("four", [1.5] * 5, repository="b/b"),
    )  # fmt: skip
    held = without("b/b", LIKE)
    assert held.low <= 1.5 <= held.high
    assert widening() > math.log(1.5 / math.sqrt(0.99)) / math.log(math.sqrt(1.1 / 0.9)) - 1e-6


def test_the_evidence_is_that_of_public_rows_and_holds_80_percent_of_them_when_they_are_left_out():
    held = {}
    for each in evidence():
        found = without(each.repository, each.like)
        if found:
            held.setdefault(each.family, []).extend(found.low <= ratio <= found.high for ratio in each.ratios)
    assert sum(map(len, held.values())) > 200
    shares = [sum(hits) / len(hits) for hits in held.values()]
    assert 0.75 <= sum(shares) / len(shares) <= 0.88
    assert all("/" in each.repository and len(each.commit) >= 7 for each in evidence())
