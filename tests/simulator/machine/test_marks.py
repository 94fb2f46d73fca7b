"""Flags of granules against one flag for each byte."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.machine.marks import Marks, granule
from neff_bench.simulator.program import Access

SIZE = 1 << 10


@st.composite
def accesses(draw):
    """An access inside a buffer of SIZE bytes, negative steps and overlapping runs included."""
    dtype = draw(st.sampled_from(["uint8", "bfloat16", "float32"]))
    elements = SIZE // SIZE_BYTES[dtype]
    pattern = draw(st.lists(st.tuples(st.integers(-40, 40), st.integers(1, 6)), min_size=1, max_size=3))
    pattern.append((1, draw(st.integers(1, 8))))
    low = sum(step * (size - 1) for step, size in pattern if step < 0)
    high = sum(step * (size - 1) for step, size in pattern if step > 0)
    if high - low >= elements:
        pattern, low, high = [(1, 4)], 0, 3
    return Access(0, draw(st.integers(-low, elements - high - 1)), tuple(pattern), dtype)


def flat(access):
    at = np.array([access.offset])
    for step, size in access.pattern:
        at = (at[:, None] + step * np.arange(size)).ravel()
    return at


def taken(access):
    item = SIZE_BYTES[access.dtype]
    return np.unique(flat(access)[:, None] * item + np.arange(item))


@example([Access(0, 0, ((1, 1),), "uint8"), Access(0, 0, ((1, 1),), "float32")])
@given(st.lists(accesses(), min_size=2, max_size=5))
def test_granules_tell_what_bytes_tell(some):
    *written, asked = some
    marks = Marks(SIZE, granule(SIZE, some))
    every = np.zeros(SIZE, bool)
    for access in written:
        marks.of(access, access.offset).fill(True)
        every[taken(access)] = True
    np.testing.assert_array_equal(np.repeat(marks.flags, marks.granule_bytes), every)
    assert marks.of(asked, asked.offset).all() == every[taken(asked)].all()
    assert marks.of(asked, asked.offset).any() == every[taken(asked)].any()
    assert marks.flags[marks.at(asked, flat(asked))].all() == every[taken(asked)].all()


def test_rows_of_a_large_tensor_need_one_flag_each():
    rows = [Access(0, row * 512, ((2048, 1), (1, 512)), "bfloat16") for row in (0, 1, 6)]
    assert granule(1 << 30, rows) == 1024
    assert granule(1 << 30, [*rows, Access(0, 3, ((512, 4),), "bfloat16")]) == 2
