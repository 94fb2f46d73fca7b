"""Pieces of the page."""

import pytest

from neff_bench.terminal.answer import Column, Grid
from neff_bench.viewer.page import html


@pytest.mark.parametrize(
    ("column", "label"),
    [
        (Column("time", meaning="how <long>"), ' title="how &lt;long&gt;"'), (Column("time"), ""), (Column("", name="kernel"), ' aria-label="kernel"'),
        (Column(""), ' aria-label="marks"'), (Column("", name="kernel", meaning="which"), ' title="which"'),
    ],
)  # fmt: skip
def test_a_column_says_what_it_means_and_one_without_a_head_its_name(column, label):
    assert html._label(column) == label


@pytest.mark.parametrize(("ns", "said"), [(0.0, "0.000"), (1.0, "0.001"), (1234.5, "1.234"), (1e6, "1000.000")])
def test_a_time_is_in_microseconds(ns, said):
    assert html.us(ns) == said


def test_a_table_has_its_numbers_to_the_right_and_lines_that_a_click_finds():
    drawn = html.table(("", "us"), [("<a>", "1"), ("b", "2")], (False, True), ["3", ""])
    assert drawn == (
        '<div class="scroll tall"><table><thead><tr><td></td><th class="n" scope=col>us</th></tr></thead><tbody>'
        '<tr data-line="3" tabindex=0><td>&lt;a&gt;</td><td class="n">1</td></tr><tr><td>b</td><td class="n">2</td></tr></tbody></table></div>'
    )
    assert html.table(("a",), []).startswith('<div class="scroll tall" tabindex=0>')


def test_a_grid_has_its_cells_and_notes_and_lines_that_open_their_case():
    shown = Grid((Column("a"), Column("b", right=True)), [("<x>", "1"), ("y", "2")], ["<note>"])
    plain, linked = html.grid(shown), html.grid(shown, [7, None])
    assert "<tr><td class=t>&lt;x&gt;</td><td>1</td></tr><tr><td class=t>y</td><td>2</td></tr>" in plain
    assert (
        '<tr data-case=7><td class=t><a href="#case=7">&lt;x&gt;</a></td><td>1</td></tr><tr><td class=t>y</td>'
        in linked
    )
    assert plain.endswith('<ul class="notes"><li>&lt;note&gt;</li></ul>')
