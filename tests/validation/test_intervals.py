import math

import numpy as np
import pytest

from neff_bench.simulator.timing.interval import Row, ends, evidence
from neff_bench.simulator.timing.likeness import Likeness

intervals = pytest.importorskip("validation.correlation.intervals", reason="validation is part of the repository only")

LIKE = Likeness(3, 1, False, False, 0.0)


def rows(families, spread=0.05, each=12, between=0.05, **like):
    random = np.random.default_rng(3)
    made = []
    for number in range(families):
        middle = random.normal(0, between)
        made += [
            Row(f"a/{number}", "0" * 40, f"f{number}", "trn2", LIKE._replace(**like), math.exp(random.normal(middle, spread)))
            for _ in range(each)
        ]  # fmt: skip
    return made


def half(fit, like=LIKE):
    low, high = ends(fit, like)
    return math.log(high / low) / 2


def test_the_same_rows_give_the_same_fit():
    assert intervals.fitted(rows(3)) == intervals.fitted(rows(3))


def test_few_families_make_a_wider_interval_than_many():
    assert half(intervals.fitted(rows(3))) > 1.15 * half(intervals.fitted(rows(12)))


def test_a_kind_that_no_row_has_is_less_known_than_one_that_rows_have():
    fit = intervals.fitted(rows(6))
    assert half(fit, LIKE._replace(compiled=True)) > 1.2 * half(fit)
    assert half(intervals.fitted([*rows(6), *rows(6, compiled=True)]), LIKE._replace(compiled=True)) < 1.15 * half(fit)


def test_an_effect_that_all_families_of_a_kind_have_moves_the_interval_of_that_kind():
    slow = [row._replace(ratio=row.ratio * 1.3, family=f"{row.family} slow") for row in rows(6, lnc=2)]
    fit = intervals.fitted([*rows(6), *slow])
    assert math.log(math.prod(ends(fit, LIKE._replace(lnc=2)))) / 2 == pytest.approx(math.log(1.3), abs=0.1)
    assert math.log(math.prod(ends(fit, LIKE))) / 2 == pytest.approx(0, abs=0.08)


def test_intervals_hold_the_rows_of_families_that_they_were_not_made_from():
    fit = intervals.fitted(rows(12))
    held = [low <= row.ratio <= high for row in rows(40, each=4) for low, high in [ends(fit, row.like)]]
    assert 0.7 <= sum(held) / len(held) <= 0.95


def test_rows_are_judged_by_what_the_others_say():
    far = Row("far/far", "0" * 40, "far", "trn2", LIKE, 3.0)
    judged = dict(intervals.left_out([*rows(3), far], lambda row: row.repository))
    assert len(judged) == 3 * 12 + 1
    assert judged[far] == intervals.fitted(rows(3))


def test_the_reach_holds_as_many_rows_at_first_sight_as_the_level_says():
    seen = [
        row._replace(first=row.ratio * factor) for row, factor in zip(rows(10, each=10), [0.7, 1.3] * 50, strict=True)
    ]
    fit = intervals.fitted(seen)
    for level, share in enumerate(intervals.LEVELS):
        held = [low <= row.first <= high for row in seen for low, high in [ends(fit, row.like, level)]]
        assert sum(held) / len(held) == pytest.approx(share, abs=0.011)
    assert half(fit) > 1.5 * half(intervals.fitted(rows(10, each=10)))


def test_a_family_with_many_rows_at_first_sight_weighs_as_much_as_one_with_few():
    few = [row._replace(first=2.0) for row in rows(6, each=1)[:3]]
    many = [row._replace(first=1.0, family="many", repository="m/m") for row in rows(1, each=60)]
    low, high = ends(intervals.fitted([*few, *many]), LIKE)
    assert low < 1.0 and high >= 2.0


def test_a_row_of_a_kernel_of_the_library_is_judged_by_its_other_rows():
    own = [Row("aws-neuron/nki-library", "0" * 40, "mlp", "trn2", LIKE, 1 + n / 100) for n in range(7)]
    judged = dict(intervals.without_itself([*own, *rows(2)]))
    assert len(judged) == 7
    assert judged[own[6]] == (1.0, 1.05) and judged[own[0]] == (1.01, 1.06)
    assert intervals.without_itself(own[:6]) == []


def test_a_generation_that_no_other_row_has_is_not_judged():
    alone = Row("far/far", "0" * 40, "far", "trn3", LIKE._replace(generation=4), 1.0)
    assert alone not in dict(intervals.left_out([*rows(3), alone], lambda row: row.repository))


def test_the_shipped_fit_follows_from_the_shipped_rows():
    known, fit = evidence()
    again = intervals.fitted(known)
    for like in {row.like for row in known}:
        assert ends(fit, like) == pytest.approx(ends(again, like), abs=0.02)
