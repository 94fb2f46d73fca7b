"""Puts operations, in the order of issue, into machine instructions with their waits.

A machine instruction waits for one other; each further wait is an EVENT_SEMAPHORE of its own before it.
"""

from __future__ import annotations

from neff_bench.simulator.native import cython

SCALAR = cython.declare(cython.longlong, 1)
PE = cython.declare(cython.longlong, 0)
STREAMS = cython.declare(cython.longlong, 13)
"""What completes in order: the engines, and from `QUEUE` on their DMA queues."""
QUEUE = cython.declare(cython.longlong, 8)
RAW = cython.declare(cython.longlong, 0)
WAW = cython.declare(cython.longlong, 1)
ALL = cython.declare(cython.longlong, 0)
WEIGHTS = cython.declare(cython.longlong, 1)
NOTHING = cython.declare(cython.longlong, 3)
READS = cython.declare(cython.longlong, 4)
"""What a step waits for, as in `neff_bench.simulator.costs.steps`."""

# By kind of instruction, as in `Operation`: engine to end_step. By step: its number and what it waits for. By instruction: its kind,
# stationary: the view of the weights of a matmul, or -1. Then the edges, and `Fixed`.
# placed: five numbers for each machine instruction; stream: what it completes with. last: the last machine instruction of each
# instruction. seen: by engine, the last of each stream that it has waited for. latest, waits: for the instruction at hand.
# The rest are single numbers: of machine instructions, transfers and meetings so far, the loaded table, and what the PE holds since when.
Placing = cython.struct(
    instructions=cython.longlong, from_hlo=cython.longlong, keeps_weights=cython.longlong, load=cython.longlong,
    tables=cython.longlong, first_function=cython.longlong, order=cython.p_const_longlong, engine=cython.p_const_longlong,
    moves=cython.p_const_longlong, static=cython.p_const_longlong, meets=cython.p_const_longlong,
    function=cython.p_const_longlong, first_step=cython.p_const_longlong, end_step=cython.p_const_longlong,
    step=cython.p_const_longlong, waits_for=cython.p_const_longlong, kind=cython.p_const_longlong,
    stationary=cython.p_const_longlong, edge_start=cython.p_const_longlong, before=cython.p_const_longlong,
    conflict=cython.p_const_longlong, operand=cython.p_const_longlong, event=cython.p_const_longlong,
    final=cython.p_const_longlong, each=cython.p_const_longlong, table=cython.p_const_longlong,
    of_weights=cython.p_const_longlong, is_stationary=cython.p_const_longlong, placed=cython.p_int,
    stream=cython.p_longlong, last=cython.p_longlong, seen=cython.p_longlong, latest=cython.p_longlong,
    waits=cython.p_longlong, count=cython.p_longlong, transfers=cython.p_longlong, meetings=cython.p_longlong,
    loaded=cython.p_longlong, held=cython.p_longlong, held_since=cython.p_longlong,
)  # fmt: skip


def place_all(placing: cython.size_t) -> cython.longlong:
    """Places every instruction; how many machine instructions that makes."""
    with cython.nogil:
        count = _place_all(cython.cast(cython.pointer[Placing], placing))
    return count  # noqa: RET504  (a block without the GIL returns nothing)


@cython.inner
def _place_all(s: cython.pointer[Placing]) -> cython.longlong:
    for at in range(s.instructions):
        _place(s, s.order[at])
    _wait_for_the_last(s)
    return s.count[0]


@cython.inner
def _append(
    s: cython.pointer[Placing], engine: cython.longlong, step: cython.longlong, origin: cython.longlong,
    wait: cython.longlong, transfer: cython.longlong, meeting: cython.longlong,
) -> cython.void:  # fmt: skip
    at = s.count[0]
    s.placed[5 * at] = step
    s.placed[5 * at + 1] = origin
    s.placed[5 * at + 2] = transfer
    s.placed[5 * at + 3] = meeting
    s.placed[5 * at + 4] = wait
    s.stream[at] = engine if transfer < 0 else QUEUE + engine
    s.count[0] = at + 1


@cython.inner
def _place(s: cython.pointer[Placing], i: cython.longlong) -> cython.void:
    kind = s.kind[i]
    engine = s.engine[kind]
    first = s.first_step[kind]
    end = s.end_step[kind]
    transfer: cython.longlong = -1
    meeting: cython.longlong = -1
    held: cython.bint = False
    if s.moves[kind]:
        transfer = s.transfers[0]
        s.transfers[0] += 1
    if s.meets[kind]:
        meeting = s.meetings[0]
        s.meetings[0] += 1
    if s.function[kind] >= 0:
        _load_table(s, i, s.function[kind])
    if s.keeps_weights and engine == PE:
        held = _is_held(s, i, end - first)
    if held:
        first = end - 1
    for step in range(first, end):
        mode = s.waits_for[step]
        if held or (s.from_hlo and engine == PE):
            mode = ALL if step == first else NOTHING
        count = _waits_of(s, i, mode, engine, s.moves[kind])
        for at in range(count - 1):
            _append(s, engine, s.event[engine], i, s.waits[at], -1, -1)
        wait: cython.longlong = s.waits[count - 1] if count > 0 else -1
        is_last: cython.bint = step == end - 1
        _append(s, engine, s.step[step], i, wait, transfer if is_last else -1, meeting if is_last else -1)
    s.last[i] = s.count[0] - 1


@cython.inner
def _load_table(s: cython.pointer[Placing], i: cython.longlong, function: cython.longlong) -> cython.void:
    """Load the table of an activation's function where another one is loaded. Activations that need no certain table get the one that is needed first."""
    wanted: cython.longlong = s.first_function if s.loaded[0] == 0 and s.first_function >= 0 else function
    table = s.table[wanted * s.tables + s.loaded[0]]
    if table >= 0:
        _append(s, SCALAR, s.load, i, -1, -1, -1)
        s.loaded[0] = table


@cython.inner
def _is_held(s: cython.pointer[Placing], i: cython.longlong, steps: cython.longlong) -> cython.bint:
    """Return whether the PE holds the weights of a matmul already; if not, it does from now on. AWS's compilers do not load them again, and of an
    HLO graph the first step waits for all operands. Source: the inf2 and trn2 programs named in `neff_bench.simulator.hlo.core`; eight
    products of bfloat16 of the old dialect in github allenkchau/trainium-kernel-fusion @d709ddf1, baseline_bf16_s1024."""
    weights = s.stationary[i]
    unchanged: cython.bint = True
    for edge in range(s.edge_start[i], s.edge_start[i + 1]):
        if s.is_stationary[s.operand[edge]] and s.before[edge] >= s.held_since[0]:
            unchanged = False
    if weights >= 0 and s.held[0] == weights and unchanged and steps == 2:
        return True
    s.held[0] = weights
    s.held_since[0] = i
    return False


@cython.inner
def _waits_of(
    s: cython.pointer[Placing],
    i: cython.longlong,
    mode: cython.longlong,
    engine: cython.longlong,
    moves: cython.longlong,
) -> cython.longlong:
    """Find the last instruction to wait for in each stream, in order; return how many there are.

    Streams complete in order, and so does an engine. An engine therefore waits neither for its own earlier reads and writes nor for what it
    has waited for before. PE accumulates in PSUM without waiting for itself. Nor does a DMA wait for what its own queue wrote.
    """
    count: cython.longlong = 0
    if mode == NOTHING or s.edge_start[i] == s.edge_start[i + 1]:
        return 0
    for stream in range(STREAMS):
        s.latest[stream] = -1
    for edge in range(s.edge_start[i], s.edge_start[i + 1]):
        conflict = s.conflict[edge]
        if mode == READS:
            if conflict != RAW:
                continue
        elif mode != ALL and (s.of_weights[s.operand[edge]] != 0) != (mode == WEIGHTS):
            continue
        machine = s.last[s.before[edge]]
        by = s.stream[machine]
        if by == engine and not moves and (conflict != RAW or engine == PE):
            continue
        if by == QUEUE + engine and moves and conflict == WAW:
            continue
        if machine > s.latest[by] and machine > s.seen[engine * STREAMS + by]:
            s.latest[by] = machine
    for stream in range(STREAMS):
        if s.latest[stream] >= 0:
            s.seen[engine * STREAMS + stream] = s.latest[stream]
            place = count
            while place > 0 and s.waits[place - 1] > s.latest[stream]:
                s.waits[place] = s.waits[place - 1]
                place -= 1
            s.waits[place] = s.latest[stream]
            count += 1
    return count


@cython.inner
def _wait_for_the_last(s: cython.pointer[Placing]) -> cython.void:
    """Make the end of a kernel wait for its last DMA on each queue: the issuing engine waits for it, and for each static DMA of its own that has
    not been waited for."""
    count = s.count[0]
    last = s.latest
    waited = s.waits
    for stream in range(STREAMS):
        last[stream] = -1
        waited[stream] = -1
    for i in range(count):
        wait: cython.longlong = s.placed[5 * i + 4]
        if s.placed[5 * i + 2] >= 0:
            last[s.stream[i]] = i
        if wait >= 0:
            waited[s.stream[wait]] = max(waited[s.stream[wait]], wait)
    for i in range(count):
        by = s.stream[i]
        if s.placed[5 * i + 2] < 0 or i <= waited[by]:
            continue
        origin: cython.longlong = s.placed[5 * i + 1]
        if s.static[s.kind[origin]]:
            _append(s, by - QUEUE, s.each[by - QUEUE], origin, i, -1, -1)
        elif i == last[by]:
            _append(s, by - QUEUE, s.final[by - QUEUE], origin, i, -1, -1)
