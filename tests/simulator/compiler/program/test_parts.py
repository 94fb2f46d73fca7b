"""Rectangles share bytes exactly where they share a part."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neff_bench.simulator.compiler.program.parts import cut


def parts_of(rectangles):
    parts = cut(np.array(rectangles, np.int64).reshape(-1, 5))
    return [set(parts.part[a:b].tolist()) for a, b in zip(parts.first, parts.first[1:])]


@st.composite
def boxes(draw):
    row, column = draw(st.integers(0, 12)), draw(st.integers(0, 40))
    return row, row + draw(st.integers(1, 8)), column, column + draw(st.integers(1, 30))


@given(st.lists(st.tuples(st.integers(0, 3), boxes()), min_size=1, max_size=20, unique=True))
def test_parts_are_shared_where_bytes_are(found):
    sets = parts_of([(storage, *box) for storage, box in found])
    for i, (storage, (r0, r1, c0, c1)) in enumerate(found):
        assert sets[i]
        for j, (other, (s0, s1, d0, d1)) in enumerate(found):
            overlaps = storage == other and r0 < s1 and s0 < r1 and c0 < d1 and d0 < c1
            assert bool(sets[i] & sets[j]) == overlaps


def test_a_rectangle_that_is_inside_another_is_one_part():
    assert len(parts_of([(0, 0, 8, 0, 64), (0, 2, 4, 16, 32)])[1]) == 1


def test_no_rectangles_have_no_parts():
    assert parts_of([]) == []
