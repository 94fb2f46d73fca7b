"""Two sweeps over the tensors of one memory, in the order in which they come to life: the largest use, and whether two share bytes."""

from __future__ import annotations

from neff_bench.simulator.native import cython

# The `count` tensors. first, last: instructions. by_end: their numbers, by last instruction. low, high: where the bytes that the kernel gave it
# begin and end among `ends`, which are in order; -1 where it gave none. packed: what it counts then. covers: by how many tensors the bytes
# from one end to the next are covered. found: the largest use in bytes, and the tensor with which it was reached.
Peaks = cython.struct(
    count=cython.longlong, capacity=cython.longlong, first=cython.p_const_longlong, last=cython.p_const_longlong,
    by_end=cython.p_const_longlong, low=cython.p_const_longlong, high=cython.p_const_longlong,
    packed=cython.p_const_longlong, ends=cython.p_const_longlong, covers=cython.p_longlong, found=cython.p_longlong,
)  # fmt: skip

# Half-open: partitions [r0, r1), bytes [c0, c1). alive: room for the tensors that are.
Boxes = cython.struct(
    count=cython.longlong, first=cython.p_const_longlong, last=cython.p_const_longlong, r0=cython.p_const_longlong,
    r1=cython.p_const_longlong, c0=cython.p_const_longlong, c1=cython.p_const_longlong, alive=cython.p_longlong,
)  # fmt: skip


def peak_of(peaks: cython.size_t) -> cython.longlong:
    """Return the largest use; stop above `capacity`."""
    with cython.nogil:
        _peak_of(cython.cast(cython.pointer[Peaks], peaks))
    return 0


@cython.inner
def _peak_of(s: cython.pointer[Peaks]) -> cython.void:
    used: cython.longlong = 0
    gone: cython.longlong = 0
    for i in range(s.count):
        while s.last[s.by_end[gone]] < s.first[i]:
            used -= _changed(s, s.by_end[gone], -1)
            gone += 1
        used += _changed(s, i, 1)
        if used > s.found[0]:
            s.found[0] = used
            s.found[1] = i
            if used > s.capacity:
                break


@cython.inner
def _changed(s: cython.pointer[Peaks], i: cython.longlong, by: cython.longlong) -> cython.longlong:
    """Return the bytes that come into use with a tensor (`by` 1), or are freed with it (-1)."""
    if s.low[i] < 0:
        return s.packed[i]
    change: cython.longlong = 0
    for at in range(s.low[i], s.high[i]):
        if s.covers[at] == (0 if by > 0 else 1):
            change += s.ends[at + 1] - s.ends[at]
        s.covers[at] += by
    return change


def any_rivals(boxes: cython.size_t) -> cython.longlong:
    """Return whether two tensors share bytes and are in use at one time."""
    with cython.nogil:
        found = _any_rivals(cython.cast(cython.pointer[Boxes], boxes))
    return found  # noqa: RET504  (a block without the GIL returns nothing)


@cython.inner
def _any_rivals(s: cython.pointer[Boxes]) -> cython.longlong:
    living: cython.longlong = 0
    for i in range(s.count):
        kept: cython.longlong = 0
        for n in range(living):
            other = s.alive[n]
            if s.last[other] > s.first[i]:
                s.alive[kept] = other
                kept += 1
                if s.r0[other] < s.r1[i] and s.r0[i] < s.r1[other] and s.c0[other] < s.c1[i] and s.c0[i] < s.c1[other]:
                    return 1
        s.alive[kept] = i
        living = kept + 1
    return 0
