"""How long tensors live: from the first to the last instruction of a core, in program order, that uses them."""

from __future__ import annotations

from neff_bench.simulator.native import cython

# The `count` instructions and their uses, as simulator/compiler/program/columns.py has them. of_view: the buffer of each view. moves: by kind, 1 where
# it does not lengthen the lives of its operands. place: by buffer, its place among those that are used, at first -1. buffer, first, last: these, in
# order of first use.
Living = cython.struct(
    count=cython.longlong, index=cython.longlong, kind=cython.p_const_longlong, use_start=cython.p_const_longlong,
    view=cython.p_const_int, role=cython.p_const_schar, of_view=cython.p_const_longlong,
    moves=cython.p_const_longlong, place=cython.p_longlong, buffer=cython.p_longlong, first=cython.p_longlong,
    last=cython.p_longlong,
)  # fmt: skip


def find_lives(living: cython.size_t) -> cython.longlong:
    """Fill in the lives, and return how many buffers are used. A buffer that only moves use lives at the last of these moves alone; such buffers
    come behind all others."""
    with cython.nogil:
        state = cython.cast(cython.pointer[Living], living)
        used = _lives(state, 0, 0)
        used = _lives(state, 1, used)
    return used  # noqa: RET504  (a block without the GIL returns nothing)


@cython.inner
def _lives(s: cython.pointer[Living], moving: cython.longlong, known: cython.longlong) -> cython.longlong:
    """Add the buffers of instructions that compute, or of those that move alone, to the `known` ones."""
    used: cython.longlong = known
    for i in range(s.count):
        for use in range(s.use_start[i], s.use_start[i + 1]):
            if (s.moves[s.kind[i]] if s.role[use] != s.index else 0) != moving:
                continue
            b = s.of_view[s.view[use]]
            at = s.place[b]
            if at < 0:
                at = used
                s.place[b] = at
                s.buffer[at] = b
                s.first[at] = i
                used += 1
            if at >= known:
                s.last[at] = i
                if moving:
                    s.first[at] = i
    return used
