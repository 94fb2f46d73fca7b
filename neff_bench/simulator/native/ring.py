"""Where tensors lie that the kernel left to the compiler: a ring through one memory. Times are indices of instructions, bytes are those of
a partition."""

from __future__ import annotations

from neff_bench.simulator.native import cython
from neff_bench.simulator.native.heap import pop, push

# The `count` tensors in order of first use: first and last instruction, bytes, and `address`, which the kernel gave or is -1.
# size: of the memory; no tensor of at most `bank` bytes crosses a multiple of it.
# starts, stops: the spans that are taken, in order, at first those of the kernel, which may touch; `spans` says how many. next: where the
# last tensor ends. end_*: a heap of the tensors that the ring placed, by last instruction, and how many are in it.
Ring = cython.struct(
    count=cython.longlong, size=cython.longlong, bank=cython.longlong, first=cython.p_const_longlong,
    last=cython.p_const_longlong, bytes=cython.p_const_longlong, address=cython.p_longlong, starts=cython.p_longlong,
    stops=cython.p_longlong, spans=cython.p_longlong, next=cython.p_longlong, end_at=cython.p_double,
    end_start=cython.p_longlong, ends=cython.p_longlong,
)  # fmt: skip


def allocate_all(ring: cython.size_t) -> cython.longlong:
    """Fill in the addresses that were left open; one stays -1 where its tensor is larger than the memory."""
    with cython.nogil:
        _allocate(cython.cast(cython.pointer[Ring], ring))
    return 0


@cython.inner
def _allocate(s: cython.pointer[Ring]) -> cython.void:
    _join_spans(s)
    for i in range(s.count):
        if s.address[i] >= 0:
            continue
        while s.ends[0] > 0 and s.end_at[0] < s.first[i]:
            _release_first(s)
        start = _take(s, s.bytes[i])
        # Where there is no room, it takes the place of the tensors that are done with first.
        while start < 0 and s.bytes[i] <= s.size and s.ends[0] > 0:
            _release_first(s)
            start = _take(s, s.bytes[i])
        if start >= 0:
            s.address[i] = start
            push(s.end_at, s.end_start, 0, s.ends[0], s.last[i], start)
            s.ends[0] += 1


@cython.inner
def _join_spans(s: cython.pointer[Ring]) -> cython.void:
    """Spans of the kernel that touch are one."""
    made: cython.longlong = 0
    for i in range(s.spans[0]):
        if made > 0 and s.starts[i] <= s.stops[made - 1]:
            s.stops[made - 1] = max(s.stops[made - 1], s.stops[i])
        else:
            s.starts[made] = s.starts[i]
            s.stops[made] = s.stops[i]
            made += 1
    s.spans[0] = made


@cython.inner
def _behind(s: cython.pointer[Ring], place: cython.longlong) -> cython.longlong:
    """Return the first span that begins behind `place`."""
    low: cython.longlong = 0
    high = s.spans[0]
    while low < high:
        middle = (low + high) // 2
        if s.starts[middle] > place:
            high = middle
        else:
            low = middle + 1
    return low


@cython.inner
def _take(s: cython.pointer[Ring], count: cython.longlong) -> cython.longlong:
    """Return the start of the next `count` free bytes, -1 when there is no such place in the whole ring."""
    start = s.next[0]
    again: cython.bint = False
    while True:
        if count > s.bank or start % s.bank + count > s.bank:
            start = (start + s.bank - 1) // s.bank * s.bank
        if start + count > s.size:
            if again:
                return -1
            start = 0
            again = True
            continue
        after = _behind(s, start)
        if after > 0 and s.stops[after - 1] > start:
            start = s.stops[after - 1]
        elif after < s.spans[0] and s.starts[after] < start + count:
            start = s.stops[after]
        else:
            break
        if again and start >= s.next[0]:
            return -1
    for i in range(s.spans[0], after, -1):
        s.starts[i] = s.starts[i - 1]
        s.stops[i] = s.stops[i - 1]
    s.starts[after] = start
    s.stops[after] = start + count
    s.spans[0] += 1
    s.next[0] = start + count
    return start


@cython.inner
def _release_first(s: cython.pointer[Ring]) -> cython.void:
    """Free the bytes of the tensor that is done with first."""
    start = pop(s.end_at, s.end_start, 0, s.ends[0])
    s.ends[0] -= 1
    s.spans[0] -= 1
    for i in range(_behind(s, start - 1), s.spans[0]):
        s.starts[i] = s.starts[i + 1]
        s.stops[i] = s.stops[i + 1]
