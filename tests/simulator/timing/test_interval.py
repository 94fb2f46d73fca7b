import math

import pytest

from neff_bench.simulator.timing import interval as module
from neff_bench.simulator.timing.interval import Row, evidence, interval, pooled, sure_ratio


def row(repository, ratio):
    return Row(repository, "mlp", "trn2", 1, "profile", ratio)


def test_each_repository_weighs_the_same_however_many_rows_it_has():
    rows = [row("a/a", 1.0)] * 900 + [row(f"{name}/{name}", ratio) for name, ratio in zip("bcde", (0.8, 0.9, 1.1, 1.3))]
    low, high = pooled(rows)
    assert high == pytest.approx(1 / 0.8) and low == pytest.approx(0.8)


def test_the_range_lies_around_the_middle_of_the_ratios():
    low, high = pooled([row("a/a", 2.0), row("b/b", 2.0), row("c/c", 2.2)], 0.9)
    assert math.sqrt(low * high) == pytest.approx(2.0) and high == pytest.approx(2.2)


def test_a_program_that_the_compiler_makes_in_unknown_ways_has_the_farthest_of_all_ratios():
    ratios = [one.ratio for one in evidence()]
    assert interval(False)[:2] == (min(ratios), max(ratios))
    assert interval(False).low < interval(True).low < 1 < interval(True).high < interval(False).high


def test_the_evidence_is_of_public_rows_of_several_repositories_with_their_clocks():
    rows = evidence()
    assert all("/" in one.repository and one.ratio > 0 and one.model for one in rows)
    assert {one.clock for one in rows} == {"profile", "execution", "cycles"}
    assert len({one.repository for one in rows}) >= 10 and len(rows) > 300
    assert len({one[:5] + (one.name,) for one in rows}) == len(rows)


def test_the_rows_of_a_repository_lie_in_the_range_that_the_others_make_four_times_of_five():
    rows, shares = evidence(), []
    for repository in {one.repository for one in rows}:
        low, high = pooled([one for one in rows if one.repository != repository])
        held = [low <= one.ratio <= high for one in rows if one.repository == repository]
        shares.append(sum(held) / len(held))
    assert 0.75 <= sum(shares) / len(shares) <= 0.88


def of_kernel(repository, family, *ratios, clock="profile"):
    return [Row(repository, family, "trn2", 1, clock, ratio, str(at)) for at, ratio in enumerate(ratios)]


@pytest.mark.parametrize(
    ("rows", "ratio"),
    [
        (of_kernel("a/a", "mlp", 1.0, 1.5), 1.5),
        (of_kernel("a/a", "mlp", 1.0, 1.5) + of_kernel("a/a", "exp", 9.0), 1.5),
        (of_kernel("a/a", "mlp", 1.0) + of_kernel("b/b", "mlp", 9.0) + of_kernel("a/a", "mlp", 2.0, 1.0, clock="cycles"), 2.0),
        (of_kernel("a/a", "mlp", 1.0, 2.0, 4.0), 4.0),
        (of_kernel("a/a", "mlp", *[1.0] * 15, 2.0) + of_kernel("b/b", "mlp", 1.0, 1.0), 1.0 * 2.0),
        (of_kernel("a/a", "mlp", *[1.0] * 17, 2.0) + of_kernel("b/b", "mlp", 1.0, 1.0), 1.0),
    ],
)  # fmt: skip
def test_two_times_of_one_kernel_are_surely_ordered_where_94_of_100_pairs_lie_nearer(monkeypatch, rows, ratio):
    """Of 16 rows with an odd one 15 of 120 pairs are apart, of 18 rows 17 of 153; each repository weighs the same."""
    monkeypatch.setattr(module, "evidence", lambda: tuple(rows))
    assert sure_ratio.__wrapped__() == pytest.approx(ratio)
    assert 1.2 < sure_ratio() < 3


def test_the_range_counts_what_it_was_made_from():
    for found in (interval(True), interval(False)):
        rows = evidence()
        assert (found.rows, found.repositories) == (len(rows), len({one.repository for one in rows}))
        assert found.targets == {one.target for one in rows}


def test_there_is_no_range_of_nothing():
    with pytest.raises(ValueError, match="no rows"):
        pooled([])
