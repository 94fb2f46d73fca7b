"""Which rows of a page have a timeline."""

from pathlib import Path

from neff_bench.stage2_profile.metrics.rows import Row
from neff_bench.stage2_profile.report.files import left_out, slowest


def test_the_twenty_slowest_that_were_profiled_are_shown():
    rows = [Row(case=f"c{at}", status="profiled", total_time_us=float(at)) for at in range(22)]
    others = [Row(case="none", status="profiled"), Row(case="failed", status="failed", total_time_us=99.0)]
    assert slowest([*others, *rows]) == {f"c{at}" for at in range(2, 22)} and slowest(others) == {"none"}


def test_a_row_that_is_left_out_says_how_to_see_it():
    said = left_out(Path("a b"), Row(case="c", status="profiled")).problem
    assert (
        said
        == "this page has those of the 20 slowest cases; profile-neffs 'a b' --only c --output page.html writes this one"
    )
    assert left_out(Path("a"), Row(case="c", status="failed")).problem == "it has no profile"
