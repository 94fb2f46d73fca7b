"""Pairs of rows: what is compared with what, under which name, and by how much it differs."""

import pytest

from neff_bench.stage2_profile.compare.comparison import (
    differences,
    geometric_mean,
    label,
    label_of,
    pair_cases,
    what_is_mixed,
)
from neff_bench.stage2_profile.compare.verdict import Pair
from tests.stage2_profile.compare.test_comparison import row


@pytest.mark.parametrize(
    ("a", "b", "mixed"),
    [
        ({}, {}, ""), ({"lnc": 1}, {"lnc": 2}, "lnc 1 against 2"), ({"lnc": None}, {"lnc": 2}, ""), ({"lnc": 1}, {"lnc": None}, ""), ({"lnc": 1, "target": "a"}, {"lnc": 2, "target": "b"}, "target a against b, lnc 1 against 2"),
        ({"dtype": "a"}, {"dtype": "b"}, ""),
    ],
)  # fmt: skip
def test_what_must_agree_is_mixed_where_both_sides_say_another(a, b, mixed):
    assert what_is_mixed(a, b) == mixed


def test_names_for_people_say_what_both_sides_have():
    one = row()
    assert (
        label(one, row()) == "matmul nki M128 K64 bfloat16 trn2/2"
        and label(one, row("xla")) == "matmul M128 K64 bfloat16 trn2/2"
    )
    assert (
        label(one, row(size=256)) == f"{one['case']} / matmul_nki_M256_K64_lnc2"
        and label(one, row(kernel="other", case=one["case"])) == one["case"]
    )
    assert (
        label({"case": "a"}, {"case": "a"}) == "a" == label_of({"case": "a"})
        and label({"case": "a"}, {"case": "b"}) == "a / b"
    )
    assert label_of(row(ranks=4)) == "matmul nki M128 K64 bfloat16 trn2/2 4 ranks" and label_of(
        row(ranks=4, rank=0)
    ).endswith("trn2/2 rank 0 of 4")
    assert label_of(row(case="matmul_nki_M128_K64_lnc2_flags9a_x_seed3")).endswith("trn2/2 flags9a seed3")
    assert label_of(row(dims=(), shapes="8x8")) == "matmul nki 8x8 bfloat16 trn2/2"


def test_metrics_that_neither_side_has_are_no_difference():
    one = Pair(
        "l",
        {"total_time_us": 0.0, "dma_packet_count": 4},
        {"total_time_us": 2.0, "dma_packet_count": None, "hbm_read_bytes": 5},
    )
    found = {each.metric: each for each in differences(one)}
    assert set(found) == {"total_time_us", "dma_packet_count", "hbm_read_bytes"}
    assert [found[name].ratio for name in ("total_time_us", "dma_packet_count", "hbm_read_bytes")] == [None, None, None]
    assert (found["dma_packet_count"].a, found["dma_packet_count"].b, found["hbm_read_bytes"].a) == (4, None, None)
    wide = {"source": "measured", "total_time_us": 100.0, "total_time_ci_low_us": 0.0, "total_time_ci_high_us": 200.0}
    (total,) = differences(
        Pair("l", wide, {**wide, "total_time_us": 50.0, "total_time_ci_low_us": 40.0, "total_time_ci_high_us": 60.0})
    )
    assert (total.ratio, total.ratio_interval) == (0.5, (0.2, float("inf")))


@pytest.mark.parametrize(("ratios", "mean"), [([], None), ([4.0], 4.0), ([2.0, 8.0], 4.0)])
def test_the_geometric_mean_of_ratios(ratios, mean):
    assert geometric_mean(ratios) == (mean and pytest.approx(mean))


def test_the_same_case_is_paired_before_one_that_is_alike():
    a, b = [row(case="x"), row(case="y")], [row(case="y"), row(case="z"), row(case="w", dtype="float32")]
    pairing = pair_cases(a, b, False)
    assert [(pair.a["case"], pair.b["case"]) for pair in pairing.pairs] == [("y", "y"), ("x", "z")]
    assert [only["case"] for only in pairing.only_b] == ["w"] and pairing.only_a == []
    apart = pair_cases([row(case="x", ranks=2, rank=0)], [row(case="z", ranks=2, rank=1)], False)
    assert (len(apart.pairs), len(apart.only_a), len(apart.only_b)) == (0, 1, 1)
