import math

import pytest

from neff_bench.simulator.timing import interval as module
from neff_bench.simulator.timing.interval import Group, evidence, interval, widening, without
from neff_bench.simulator.timing.likeness import Likeness

LIKE = Likeness("NC-v3", 1, False, True)


@pytest.fixture
def known(monkeypatch):
    def put(*groups):
        monkeypatch.setattr(module, "evidence", lambda: groups)
        module.widening.cache_clear()

    yield put
    module.widening.cache_clear()


def group(family, ratios, like=LIKE, target="trn2"):
    return Group("a/a", "0" * 40, family, target, like, tuple(ratios))


def around(middle, count=4, spread=1.1):
    return [middle / spread, middle * spread] * (count // 2)


def half_width(found):
    return math.log(found.high / found.low) / 2


def test_the_interval_is_a_prediction_for_a_family_that_was_not_seen(known):
    # Means 0 and +-0.2: variance between 0.04 (1 + 1/3), none within; the quantile of t at 0.9 with 2 degrees of freedom is 1.886.
    known(*(group(name, [math.exp(mean)] * 4) for name, mean in (("one", -0.2), ("two", 0.0), ("three", 0.2))))
    found = module._predicted(LIKE, module.evidence())
    assert math.log(found.low) == pytest.approx(-1.886 * 0.2 * math.sqrt(4 / 3), rel=0.01)
    assert (found.rows, found.low * found.high) == (12, pytest.approx(1.0))


def test_few_families_make_a_wider_interval_than_many_with_the_same_spread(known):
    few = [group(f"f{n}", around(1.0 + 0.1 * (n % 2))) for n in range(3)]
    many = [group(f"f{n}", around(1.0 + 0.1 * (n % 2))) for n in range(12)]
    known(*many)
    narrow = interval(LIKE)
    known(*few)
    assert half_width(interval(LIKE)) > 1.1 * half_width(narrow)


def test_each_family_weighs_the_same(known):
    known(group("one", [1.0] * 1000), group("two", [1.0] * 2), group("three", [2.0] * 2))
    found = interval(LIKE)
    assert math.sqrt(found.low * found.high) == pytest.approx(2 ** (1 / 3))


def test_features_are_dropped_until_three_families_of_two_rows_are_left(known):
    short = LIKE._replace(long=False)
    others = [group("one", [1.0] * 9), group("two", [1.0, 1.2])]
    known(*others, group("three", [1.2] * 2, like=short))
    assert (interval(LIKE).shared, interval(LIKE).families) == (3, ("one", "three", "two"))
    known(*others, group("three", [1.2]))
    assert interval(LIKE) is None
    known(*others, group("three", [1.2] * 2), group("four", [5.0], like=short))
    assert (interval(LIKE).shared, interval(LIKE).families) == (4, ("one", "three", "two"))


def test_another_generation_and_too_few_rows_tell_nothing(known):
    known(*(group(name, [1.0] * 4) for name in ("one", "two", "three")))
    assert interval(LIKE) and interval(LIKE._replace(engines="NC-v2")) is None
    known(*(group(name, [1.0] * 3) for name in ("one", "two", "three")))
    assert interval(LIKE) is None


def test_it_is_widened_until_it_holds_80_percent_of_the_classes_that_were_left_out(known):
    far = group("four", around(1.6, 8, spread=1.01), like=LIKE._replace(lnc=2))
    near = [group(name, around(1.0, 8)) for name in ("one", "two", "three")]
    known(*near)
    assert widening() < 1.5
    known(*near, far)  # Three of four classes are not 80 %.
    assert widening() > 1.5
    known(*near, group("five", around(1.0, 8)), group("six", around(1.0, 8)), far)
    assert widening() < 1.5


def test_the_evidence_is_of_public_rows_and_intervals_of_the_other_families_hold_80_percent_of_them():
    held = {}
    for each in evidence():
        found = without(each.family, each.like)
        if found:
            hits = (found.low <= ratio <= found.high for ratio in each.ratios)
            held.setdefault((each.family, each.like.lnc), []).extend(hits)
    shares = {key: sum(hits) / len(hits) for key, hits in held.items()}
    assert len(shares) == 10 and min(shares.values()) >= 0.6
    assert 0.75 <= sum(shares.values()) / len(shares) <= 0.88
    rows = [hit for hits in held.values() for hit in hits]
    assert 0.75 <= sum(rows) / len(rows) <= 0.88
    assert all("/" in each.repository and len(each.commit) >= 7 for each in evidence())
