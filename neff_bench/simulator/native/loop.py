"""The inner loop of the schedule: starts, one after the other, the instruction that can start first. Times are in ns.

Engines are numbered 5 x core + engine, the instructions of all cores through.
"""

from __future__ import annotations

from neff_bench.simulator.native import cython

DONE = cython.declare(cython.longlong, 0)
DEADLOCK = cython.declare(cython.longlong, 1)
LDWEIGHTS = cython.declare(cython.longlong, 1)
MATMUL = cython.declare(cython.longlong, 2)
QUEUES = cython.declare(cython.longlong, 12)
"""Of a core."""
ENGINES_OF_A_CORE = cython.declare(cython.longlong, 5)
NEVER = cython.declare(cython.double, -float("inf"))

# The instructions; columns of one element for each, unless said otherwise. order: the numbers, engine by engine, in the order of issue;
# order_start: where each engine begins in it, and the end. kind: LDWEIGHTS, MATMUL or 0. interval: until the engine can start its next
# instruction; of a MATMUL, until the next one can start at any clock. latency: start to result. pe_ns: what the columns of LDWEIGHTS and
# MATMUL hold the PE at full clock. transfer: its number, or -1. partner: the instruction of the other core that it meets, or -1.
# waits: instructions that must be done before, cut up by wait_start. engine_start: when each engine can begin.
Work = cython.struct(
    engine=cython.p_const_int, order=cython.p_const_int, order_start=cython.p_const_int, kind=cython.p_const_schar,
    interval=cython.p_const_double, latency=cython.p_const_double, pe_ns=cython.p_const_double,
    transfer=cython.p_const_int, partner=cython.p_const_int, wait_start=cython.p_const_longlong,
    waits=cython.p_const_int, engine_start=cython.p_const_double,
)  # fmt: skip

# The transfers; columns of one element for each. spacing: of its packets on one DMA engine. hbm: what it takes of the core's share of HBM.
# first: from the trigger to the first packet. held_up: how much of the stalls of reads it has, of 1. first_engine, engines: the DMA
# engines that it uses. queue: the number of its queue.
Moves = cython.struct(
    packets=cython.p_const_longlong, spacing=cython.p_const_double, hbm=cython.p_const_double,
    first=cython.p_const_double, held_up=cython.p_const_double, first_engine=cython.p_const_longlong,
    engines=cython.p_const_longlong, queue=cython.p_const_longlong,
)  # fmt: skip

# Constants of the chip. semaphore_packet: what bumping the semaphore of a DMA takes of each DMA engine. slow: factor of PE times while the
# PE is throttled. full_at: share of a window's columns from which the next one has full speed. pe_overhead: between products at full
# speed. read_spread: share of the spacing. first_window: start of the first throttle window. width: DMA engines of a core.
Rates = cython.struct(
    dma_wait=cython.double, semaphore=cython.double, pe_latency=cython.double, pe_fill=cython.double,
    window=cython.double, slow=cython.double, full_at=cython.double, pe_overhead=cython.double,
    matmul_issue=cython.double, semaphore_packet=cython.double, read_stall=cython.double, read_spread=cython.double,
    stagger=cython.double, read_stagger=cython.double, first_window=cython.double, width=cython.longlong,
)  # fmt: skip

# What the loop finds. By instruction: start, duration, done, wait, and blocker, which it waited for last. By transfer x DMA engine (run_*):
# packets, their start and their spacing. by_hbm, by transfer: 1 where HBM and not the DMA engines set its pace.
Times = cython.struct(
    start=cython.p_double, duration=cython.p_double, done=cython.p_double, wait=cython.p_double, blocker=cython.p_int,
    run_count=cython.p_longlong, run_start=cython.p_double, run_spacing=cython.p_double, by_hbm=cython.p_schar,
)  # fmt: skip

# Where the loop stands. By engine: place in `order`; free; ready: when the next instruction has all it waits for, -1 not known yet; cause:
# what that waited for last; missing: what it still waits for; may_go: its partner is there too.
# By core: array_free; window_start, window_busy: the throttle window; warm_since: when the PE came to full speed, NEVER while it is
# throttled; rotation; moving_count: how many transfers are under way, which are in `moving`. By core and queue: hbm_free; by core, DMA
# engine and queue: dma_free; both say when it is done with what the queue put on it. trigger: who started each transfer. later: 1 where a
# transfer lost turns that `done` does not know of. packets: when the first one of the last transfer starts, -1 for none, and when its last
# one ends. warm_*: the periods at full PE speed, and how many there are.
Loop = cython.struct(
    instructions=cython.longlong, engines=cython.longlong, transfers=cython.longlong, work=cython.pointer[Work],
    moves=cython.pointer[Moves], rates=cython.pointer[Rates], times=cython.pointer[Times], place=cython.p_longlong,
    free=cython.p_double, ready=cython.p_double, cause=cython.p_longlong, missing=cython.p_longlong,
    may_go=cython.p_longlong, array_free=cython.p_double, window_start=cython.p_double, window_busy=cython.p_double,
    warm_since=cython.p_double, rotation=cython.p_longlong, moving_count=cython.p_longlong, moving=cython.p_longlong,
    hbm_free=cython.p_double, dma_free=cython.p_double, trigger=cython.p_longlong, later=cython.p_longlong,
    packets=cython.p_double, warm_count=cython.p_longlong, warm_core=cython.p_longlong, warm_start=cython.p_double,
    warm_end=cython.p_double,
)  # fmt: skip


def run_loop(loop: cython.size_t) -> cython.longlong:
    """Schedules every instruction of a `Loop`, which has room for as many warm periods as instructions and engines: DONE, or DEADLOCK."""
    with cython.nogil:
        status = _run_all(cython.cast(cython.pointer[Loop], loop))
    return status  # noqa: RET504  (a block without the GIL returns nothing)


@cython.inner
def _run_all(s: cython.pointer[Loop]) -> cython.longlong:
    for e in range(s.engines):
        s.place[e] = s.work.order_start[e]
        s.free[e] = s.work.engine_start[e]
        s.ready[e] = -1.0
        s.missing[e] = -1
    cores = s.engines // ENGINES_OF_A_CORE
    for core in range(cores):
        s.window_start[core] = s.rates.first_window
        s.warm_since[core] = NEVER
    for _ in range(s.instructions):
        e = _first_to_start(s)
        if e < 0:
            return DEADLOCK
        _start(s, e)
    for core in range(cores):
        if s.warm_since[core] != NEVER:
            _add_warm(s, core, s.window_start[core] + s.rates.window)
    return DONE


@cython.inner
def _first_to_start(s: cython.pointer[Loop]) -> cython.longlong:
    """Return the engine whose next instruction can start first, -1 for none."""
    best: cython.longlong = -1
    best_at: cython.double = 0.0
    w = s.work
    for e in range(s.engines):
        if s.place[e] >= w.order_start[e + 1]:
            continue
        i: cython.longlong = w.order[s.place[e]]
        if not (s.ready[e] >= 0.0 or _has_all(s, e, i)) or not (s.may_go[e] or _has_partner(s, e, i)):
            continue
        at = _when(s, e, i)
        if best < 0 or at < best_at:
            best = e
            best_at = at
    return best


@cython.inner
def _when(s: cython.pointer[Loop], e: cython.longlong, i: cython.longlong) -> cython.double:
    """Return when instruction i on engine e can start, which has all it waits for."""
    at = max(s.ready[e], s.free[e])
    return max(at, s.array_free[e // ENGINES_OF_A_CORE]) if s.work.kind[i] == MATMUL else at


@cython.inner
def _has_all(s: cython.pointer[Loop], e: cython.longlong, i: cython.longlong) -> cython.bint:
    """Return whether everything that instruction i on engine e waits for is done."""
    done = s.times.done
    at: cython.double = 0.0
    cause: cython.longlong = -1
    if s.missing[e] >= 0 and done[s.missing[e]] < 0.0:
        return False
    for w in range(s.work.wait_start[i], s.work.wait_start[i + 1]):
        before = s.work.waits[w]
        if done[before] < 0.0:
            s.missing[e] = before
            return False
        if done[before] > at:
            at = done[before]
            cause = before
    s.ready[e] = at
    s.cause[e] = cause
    s.may_go[e] = s.work.partner[i] < 0
    return True


@cython.inner
def _has_partner(s: cython.pointer[Loop], e: cython.longlong, i: cython.longlong) -> cython.bint:
    """Return whether the partner of instruction i is there: then both start together, and the earlier one waits for the later one."""
    j: cython.longlong = s.work.partner[i]
    r: cython.longlong = s.work.engine[j]
    if s.place[r] >= s.work.order_start[r + 1] or s.work.order[s.place[r]] != j or s.ready[r] < 0.0:
        return False
    mine = max(s.ready[e], s.free[e])
    theirs = max(s.ready[r], s.free[r])
    if theirs > mine:
        s.ready[e] = theirs
        s.cause[e] = j
    elif mine > theirs:
        s.ready[r] = mine
        s.cause[r] = i
    s.may_go[e] = s.may_go[r] = 1
    return True


@cython.inner
def _start(s: cython.pointer[Loop], e: cython.longlong) -> cython.void:
    """Start the next instruction of engine e."""
    w = s.work
    i: cython.longlong = w.order[s.place[e]]
    t: cython.longlong = w.transfer[i]
    core = e // ENGINES_OF_A_CORE
    start = _when(s, e, i)
    s.times.start[i] = start
    s.times.wait[i] = start - s.free[e]
    s.times.blocker[i] = s.cause[e] if s.ready[e] >= start else -1
    s.times.duration[i] = w.latency[i]
    if t >= 0:
        s.free[e] = start + w.interval[i]
        s.times.done[i] = _move(s, t, core, start)
        if _look_after(s, core, start):
            _look_again(s)
        s.trigger[t] = i
        s.moving[core * s.transfers + s.moving_count[core]] = t
        s.moving_count[core] += 1
    elif w.kind[i] > 0:
        _multiply(s, e, i, start)
    else:
        s.free[e] = start + w.interval[i]
        s.times.done[i] = start + w.latency[i] + s.rates.semaphore
    s.place[e] += 1
    s.ready[e] = -1.0
    s.may_go[e] = 0
    s.missing[e] = -1


@cython.inner
def _multiply(s: cython.pointer[Loop], e: cython.longlong, i: cython.longlong, start: cython.double) -> cython.void:
    """LDWEIGHTS or MATMUL i starts."""
    core = e // ENGINES_OF_A_CORE
    rates = s.rates
    pe_ns = s.work.pe_ns[i]
    _pass_windows(s, core, start)
    factor: cython.double = rates.slow if s.warm_since[core] == NEVER else 1.0
    busy = pe_ns * factor
    if s.work.kind[i] == LDWEIGHTS:
        s.free[e] = start + busy
        s.times.duration[i] += busy
    else:
        # Columns behind it slow down how those of a product leave the array; few columns or none do not.
        alone: cython.bint = start > s.array_free[core] or pe_ns < s.work.interval[i]
        fill: cython.double = 1.0 if alone else factor
        overhead: cython.double = rates.pe_overhead if factor == 1.0 else 0.0
        s.free[e] = start + rates.matmul_issue
        s.times.duration[i] = busy + overhead + rates.pe_latency + rates.pe_fill * fill
        s.array_free[core] = start + max(busy, s.work.interval[i]) + overhead
        s.window_busy[core] += pe_ns
    s.times.done[i] = start + s.times.duration[i] + rates.semaphore


@cython.inner
def _pass_windows(s: cython.pointer[Loop], core: cython.longlong, now: cython.double) -> cython.void:
    """End every throttle window that is over; the PE gains or loses full speed at the end of one."""
    rates = s.rates
    while now >= s.window_start[core] + rates.window:
        share = s.window_busy[core] / rates.window
        end = s.window_start[core] + rates.window
        if s.warm_since[core] != NEVER and share < rates.full_at:
            _add_warm(s, core, end)
            s.warm_since[core] = NEVER
        elif s.warm_since[core] == NEVER and share >= rates.full_at:
            s.warm_since[core] = end
        s.window_busy[core] = 0.0
        s.window_start[core] += rates.window


@cython.inner
def _add_warm(s: cython.pointer[Loop], core: cython.longlong, end: cython.double) -> cython.void:
    at = s.warm_count[0]
    s.warm_core[at] = core
    s.warm_start[at] = s.warm_since[core]
    s.warm_end[at] = end
    s.warm_count[0] = at + 1


@cython.inner
def _look_again(s: cython.pointer[Loop]) -> cython.void:
    """Look again at instructions that may wait for a later end of a transfer; two that have met start together, whatever comes later."""
    for e in range(s.engines):
        if s.place[e] < s.work.order_start[e + 1]:
            if not (s.may_go[e] and s.work.partner[s.work.order[s.place[e]]] >= 0):
                s.ready[e] = -1.0


@cython.inner
def _move(s: cython.pointer[Loop], t: cython.longlong, core: cython.longlong, start: cython.double) -> cython.double:
    """Move the bytes of a transfer that is triggered at `start`; return when it is done."""
    moves = s.moves
    begin = start + moves.first[t]
    _spread_packets(s, t, core, begin)
    earliest = s.packets[0]
    finish = s.packets[1]
    if moves.hbm[t] > 0.0:
        # What waits for a few DMA engines leaves HBM to what comes behind it on others: its turn counts from when it could begin.
        at: cython.double = begin if moves.engines[t] < s.rates.width else earliest
        mine = core * QUEUES
        _in_turn(s.hbm_free, mine, moves.queue[t], at, moves.hbm[t])
        hbm_end = max(s.hbm_free[mine + moves.queue[t]], earliest + moves.hbm[t])
        if hbm_end > finish:
            _stretch_packets(s, t, core, hbm_end - finish)
            finish = hbm_end
    return finish + s.rates.dma_wait


@cython.inner
def _spread_packets(
    s: cython.pointer[Loop], t: cython.longlong, core: cython.longlong, begin: cython.double
) -> cython.void:
    """Put the packets of a transfer on the core's DMA engines."""
    moves = s.moves
    times = s.times
    rates = s.rates
    width = rates.width
    used = moves.engines[t]
    per = moves.packets[t] // used
    extra = moves.packets[t] % used
    first = s.rotation[core]
    held_up = moves.held_up[t]
    stagger: cython.double = rates.read_stagger if held_up > 0.0 else rates.stagger
    earliest: cython.double = -1.0
    finish = begin
    for k in range(used):
        count: cython.longlong = per + 1 if k < extra else per
        d = moves.first_engine[t] + (first + k) % used
        run = t * width + d
        mine = (core * width + d) * QUEUES
        queue = mine + moves.queue[t]
        spacing = moves.spacing[t]
        if held_up > 0.0 and count > 0:
            # Each DMA engine is held up by another share, from none to all of it, another one each time.
            share = held_up * ((7 * d + 5 * t) % width) / (width - 1)
            spacing += share * (rates.read_spread * spacing + rates.read_stall / count)
        at = _in_turn(s.dma_free, mine, moves.queue[t], begin + k * stagger, count * spacing)
        end = s.dma_free[queue]
        if end > at + count * spacing:
            _take_turns(s, t, core, d, at, count * spacing)
        times.run_count[run] = count
        times.run_start[run] = at
        times.run_spacing[run] = (end - at) / count if count > 0 else spacing
        if count > 0:
            finish = max(finish, end)
            if earliest < 0.0 or at < earliest:
                earliest = at
        s.dma_free[queue] = end + rates.semaphore_packet
    s.rotation[core] = (first + extra) % width
    s.packets[0] = earliest
    s.packets[1] = finish


@cython.inner
def _in_turn(
    free: cython.p_double, first: cython.longlong, queue: cython.longlong, at: cython.double, work: cython.double
) -> cython.double:
    """Add `work` ns of a queue, from `at` on, to what takes the queues in turn: a queue keeps its order, and while others have work too,
    each gets its turn as often. `free`, from `first` on: when it is done with what each queue has put on it. When it begins the work,
    and, in `free`, ends it."""
    start = max(at, free[first + queue])
    end = start + work
    for other in range(QUEUES):
        left = free[first + other] - start
        if other != queue and left > 0.0:
            turns = min(work, left)
            end += turns
            free[first + other] += turns
    free[first + queue] = end
    return start


@cython.inner
def _take_turns(
    s: cython.pointer[Loop],
    t: cython.longlong,
    core: cython.longlong,
    d: cython.longlong,
    start: cython.double,
    work: cython.double,
) -> cython.void:
    """Transfers of other queues that are under way on DMA engine d lose the turns that `work` ns of transfer t take from `start` on."""
    times = s.times
    for m in range(core * s.transfers, core * s.transfers + s.moving_count[core]):
        other = s.moving[m]
        run = other * s.rates.width + d
        count = times.run_count[run]
        begin = times.run_start[run]
        end = begin + count * times.run_spacing[run]
        if s.moves.queue[other] == s.moves.queue[t] or count <= 0 or end <= start:
            continue
        if begin > start:
            begin += min(work, begin - start)
        end += min(work, end - start)
        times.run_start[run] = begin
        times.run_spacing[run] = (end - begin) / count
        s.later[other] = 1


@cython.inner
def _look_after(s: cython.pointer[Loop], core: cython.longlong, now: cython.double) -> cython.bint:
    """Forget the transfers of the core that are done at `now`, and says of those that lost turns when they will be; whether one will be
    later than before."""
    times = s.times
    mine = core * s.transfers
    kept: cython.longlong = 0
    any_later: cython.bint = False
    for m in range(mine, mine + s.moving_count[core]):
        t = s.moving[m]
        i = s.trigger[t]
        if s.later[t]:
            s.later[t] = 0
            finish: cython.double = 0.0
            for run in range(t * s.rates.width, (t + 1) * s.rates.width):
                if times.run_count[run] > 0:
                    finish = max(finish, times.run_start[run] + times.run_count[run] * times.run_spacing[run])
            if finish + s.rates.dma_wait > times.done[i]:
                times.done[i] = finish + s.rates.dma_wait
                any_later = True
        if times.done[i] > now:
            s.moving[mine + kept] = t
            kept += 1
    s.moving_count[core] = kept
    return any_later


@cython.inner
def _stretch_packets(
    s: cython.pointer[Loop], t: cython.longlong, core: cython.longlong, late: cython.double
) -> cython.void:
    """Let a transfer end `late` ns later: where HBM sets the pace, its packets come further apart, so that it ends `late` ns later."""
    times = s.times
    width = s.rates.width
    times.by_hbm[t] = 1
    for d in range(width):
        run = t * width + d
        count = times.run_count[run]
        if count > 0:
            end = times.run_start[run] + count * times.run_spacing[run] + late
            times.run_spacing[run] = (end - times.run_start[run]) / count
            s.dma_free[(core * width + d) * QUEUES + s.moves.queue[t]] = end + s.rates.semaphore_packet
