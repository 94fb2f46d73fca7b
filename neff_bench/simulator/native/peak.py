"""Sweeps over tensors in order of their first use: finds the largest use of each memory, and whether two tensors that live at once share bytes."""

from __future__ import annotations

from neff_bench.simulator.native import cython

# `count`: how many tensors there are. Of each tensor: `memory`; `first`, `last`: the instructions that use it; `low`, `high`: where the bytes that the
# kernel gave it begin and end, as indices into the sorted `ends`, or -1 where it gave none; `packed`: the bytes that it counts in that case.
# `by_end`: tensors by their last instruction. `covers`: how many tensors cover the bytes from one of the `ends` to the next.
# Of each memory: `capacity`: its bytes; `used`: those in use now; `most`, `at`: its largest use, and the tensor that reached it.
Peaks = cython.struct(
    count=cython.longlong, memory=cython.p_const_longlong, first=cython.p_const_longlong, last=cython.p_const_longlong,
    by_end=cython.p_const_longlong, low=cython.p_const_longlong, high=cython.p_const_longlong,
    packed=cython.p_const_longlong, ends=cython.p_const_longlong, covers=cython.p_longlong,
    capacity=cython.p_const_longlong, used=cython.p_longlong, most=cython.p_longlong, at=cython.p_longlong,
)  # fmt: skip

# Half-open: partitions [r0, r1), bytes [c0, c1). alive: room for the tensors that are.
Boxes = cython.struct(
    count=cython.longlong, first=cython.p_const_longlong, last=cython.p_const_longlong, r0=cython.p_const_longlong,
    r1=cython.p_const_longlong, c0=cython.p_const_longlong, c1=cython.p_const_longlong, alive=cython.p_longlong,
)  # fmt: skip


def peak_of(peaks: cython.size_t) -> cython.longlong:
    """Find the largest use of each memory."""
    with cython.nogil:
        _peak_of(cython.cast(cython.pointer[Peaks], peaks))
    return 0


@cython.inner
def _peak_of(s: cython.pointer[Peaks]) -> cython.void:
    gone: cython.longlong = 0
    for i in range(s.count):
        while s.last[s.by_end[gone]] < s.first[i]:
            _change(s, s.by_end[gone], -1)
            gone += 1
        _change(s, i, 1)


@cython.inner
def _change(s: cython.pointer[Peaks], i: cython.longlong, by: cython.longlong) -> cython.void:
    """Take in a tensor (`by` 1), or let one go (-1). A memory that overflowed stays as it is."""
    memory = s.memory[i]
    if s.most[memory] > s.capacity[memory]:
        return
    change: cython.longlong = s.packed[i] if s.low[i] < 0 else 0
    for at in range(s.low[i], s.high[i]):
        if s.covers[at] == (0 if by > 0 else 1):
            change += s.ends[at + 1] - s.ends[at]
        s.covers[at] += by
    s.used[memory] += by * change
    if s.used[memory] > s.most[memory]:
        s.most[memory] = s.used[memory]
        s.at[memory] = i


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
