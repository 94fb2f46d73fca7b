"""What comes first, comes out first: a binary heap by `at`, then by `number`, in two columns from `first` on. The caller counts the items."""

from __future__ import annotations

from neff_bench.simulator.native import cython


@cython.inner
def push(
    ats: cython.p_double, numbers: cython.p_longlong, first: cython.longlong, count: cython.longlong,
    at: cython.double, number: cython.longlong,
) -> cython.void:  # fmt: skip
    """Add an item to the `count` items of the heap."""
    place = count
    while place > 0:
        above = first + (place - 1) // 2
        if at > ats[above] or (at == ats[above] and number >= numbers[above]):
            break
        ats[first + place] = ats[above]
        numbers[first + place] = numbers[above]
        place = (place - 1) // 2
    ats[first + place] = at
    numbers[first + place] = number


@cython.inner
def pop(
    ats: cython.p_double, numbers: cython.p_longlong, first: cython.longlong, count: cython.longlong
) -> cython.longlong:
    """Take the first of the `count` items from the heap; return its number."""
    found = numbers[first]
    at = ats[first + count - 1]
    number = numbers[first + count - 1]
    place: cython.longlong = 0
    while 2 * place + 1 < count - 1:
        child = first + 2 * place + 1
        if child + 1 < first + count - 1:
            if ats[child + 1] < ats[child] or (ats[child + 1] == ats[child] and numbers[child + 1] < numbers[child]):
                child += 1
        if ats[child] > at or (ats[child] == at and numbers[child] >= number):
            break
        ats[first + place] = ats[child]
        numbers[first + place] = numbers[child]
        place = child - first
    ats[first + place] = at
    numbers[first + place] = number
    return found
