"""The order in which a compiler hands a program to the engines: a list schedule. Times are in ns."""

from __future__ import annotations

from neff_bench.simulator.native import cython
from neff_bench.simulator.native.heap import pop, push

ENGINES = cython.declare(cython.longlong, 5)
TENSOR = cython.declare(cython.longlong, 0)

# The `count` instructions of a core. By kind, as in `Operation`: engine, busy_ns, result_ns, moving_ns. By instruction: kind; rank: the
# number of its place in the order that is wanted, and `ranked`, the other way round; missing: for how many it still waits; after, from
# after_start on: who waits for it; follower: who must come behind it, -1 for none; ready.
# free, by engine, and dma_free: when it is done. soon_*: heaps of the instructions that wait for nothing any more, by when they are ready; here_*:
# those that are ready, by rank; from engine x count on, and how many each engine has. order: what comes out.
Order = cython.struct(
    count=cython.longlong, dma_wait_ns=cython.double, semaphore_ns=cython.double, engine=cython.p_const_longlong,
    busy_ns=cython.p_const_double, result_ns=cython.p_const_double, moving_ns=cython.p_const_double,
    kind=cython.p_const_longlong, rank=cython.p_const_longlong, ranked=cython.p_const_longlong,
    missing=cython.p_longlong, after_start=cython.p_const_longlong, after=cython.p_const_longlong,
    follower=cython.p_const_longlong, ready=cython.p_double, free=cython.p_double, dma_free=cython.p_double,
    soon_at=cython.p_double, soon=cython.p_longlong, soon_count=cython.p_longlong, here_at=cython.p_double,
    here=cython.p_longlong, here_count=cython.p_longlong, order=cython.p_longlong,
)  # fmt: skip


def issue_all(order: cython.size_t) -> cython.longlong:
    """Orders every instruction. Every edge leads to an earlier one, so that there always is one that can be issued."""
    with cython.nogil:
        _issue_all(cython.cast(cython.pointer[Order], order))
    return 0


@cython.inner
def _issue_all(s: cython.pointer[Order]) -> cython.void:
    for i in range(s.count):
        if s.missing[i] == 0:
            _make_available(s, s.engine[s.kind[i]], i)
    for place in range(s.count):
        e = _first_engine(s)
        start = _when_free(s, e)
        first = e * s.count
        while s.soon_count[e] > 0 and s.soon_at[first] <= start:
            _make_available(s, e, pop(s.soon_at, s.soon, first, s.soon_count[e]))
            s.soon_count[e] -= 1
        s.order[place] = s.ranked[pop(s.here_at, s.here, first, s.here_count[e])]
        s.here_count[e] -= 1
        _issue(s, s.order[place], e, start)


@cython.inner
def _make_available(s: cython.pointer[Order], e: cython.longlong, i: cython.longlong) -> cython.void:
    push(s.here_at, s.here, e * s.count, s.here_count[e], s.rank[i], s.rank[i])
    s.here_count[e] += 1


@cython.inner
def _when_free(s: cython.pointer[Order], e: cython.longlong) -> cython.double:
    """Return when an engine can start one of the instructions that wait for nothing any more."""
    return s.free[e] if s.here_count[e] > 0 else max(s.free[e], s.soon_at[e * s.count])


@cython.inner
def _first_engine(s: cython.pointer[Order]) -> cython.longlong:
    """Return the engine that can start first."""
    best: cython.longlong = -1
    best_at: cython.double = 0.0
    for e in range(ENGINES):
        if s.here_count[e] > 0 or s.soon_count[e] > 0:
            at = _when_free(s, e)
            if best < 0 or at < best_at:
                best = e
                best_at = at
    return best


@cython.inner
def _issue(s: cython.pointer[Order], i: cython.longlong, e: cython.longlong, start: cython.double) -> cython.void:
    kind = s.kind[i]
    done = start + s.result_ns[kind]
    s.free[e] = start + s.busy_ns[kind]
    if s.moving_ns[kind] >= 0.0:
        s.dma_free[0] = max(s.dma_free[0], done) + s.moving_ns[kind]
        done = s.dma_free[0] + s.dma_wait_ns
    else:
        done += s.semaphore_ns
    for at in range(s.after_start[i], s.after_start[i + 1]):
        other = s.after[at]
        # The PE adds in PSUM without waiting for itself.
        ready: cython.double = s.free[e] if e == TENSOR and s.engine[s.kind[other]] == TENSOR else done
        s.ready[other] = max(s.ready[other], ready)
        _arrive(s, other, s.ready[other])
    if s.follower[i] >= 0:
        _arrive(s, s.follower[i], max(s.ready[s.follower[i]], start))


@cython.inner
def _arrive(s: cython.pointer[Order], i: cython.longlong, ready: cython.double) -> cython.void:
    """Count down what instruction i waits for: one of it is there."""
    s.missing[i] -= 1
    if s.missing[i] == 0:
        e = s.engine[s.kind[i]]
        push(s.soon_at, s.soon, e * s.count, s.soon_count[e], ready, i)
        s.soon_count[e] += 1
