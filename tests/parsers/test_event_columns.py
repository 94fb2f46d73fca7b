"""Columns of events."""

import numpy as np

from neff_bench.parsers.event_columns import IdIndex
from neff_bench.parsers.event_rows import LinkedInstructionRow


def test_an_id_is_found_where_its_row_lies_of_several_the_last_and_none_below_zero():
    rows = [LinkedInstructionRow(0, 1, 0, "Tensor", "", "NOP", id=number) for number in (9, 5, -1, 5)]
    assert IdIndex(rows).find(np.array([5, 7, 9, 4, -1, 10])).tolist() == [3, -1, 0, -1, -1, -1]
    only = [LinkedInstructionRow(0, 1, 0, "Tensor", "", "NOP", id=0)]
    assert IdIndex(only).find(np.array([0, -1])).tolist() == [0, -1]
    assert IdIndex([]).find(np.array([5])).tolist() == [-1]
