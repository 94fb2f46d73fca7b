"""The inner loop of the schedule in plain Python, for where nothing was compiled: the same steps as simulator/native/loop.c, with
the same bits.

`run` keeps the choice of the next instruction in one body: it is done once for each engine and instruction, and plain Python
loses more than 5 % of its speed to a function call there. Its records hold lists instead of arrays.
"""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.costs.transfers import QUEUES
from neff_bench.simulator.timing.records import DEADLOCK, DONE, Moves, Rates, Times, Work

_FOREVER = float("inf")
_Floats = list[float]
_Ints = list[int]
Periods = list[tuple[int, float, float]]


def run_plain(work: Work, moves: Moves, rates: Rates, times: Times) -> tuple[int, Periods]:
    """Fills `times`; the status, and the periods at full PE speed."""
    import numpy as np

    lists: Any = Times._make([column.tolist() for column in times])
    plain: tuple[Any, Any] = (Work._make(a.tolist() for a in work), Moves._make(a.tolist() for a in moves))
    status, warm = _run(*plain, rates, lists)
    for column, found in zip(times, lists, strict=True):
        column[:] = np.array(found, dtype=column.dtype)
    return status, warm


def _run(work: Work, moves: Moves, rates: Rates, times: Times) -> tuple[int, Periods]:
    """Starts, one after the other, the instruction that can start first. `work.opcode`: 1 LDWEIGHTS, 2 MATMUL, 0 all others."""
    engine, order, order_start, kind, interval, latency, pe_ns, transfer, partner, wait_start, waits, engine_start = (
        work
    )
    start, duration, done, wait, blocker = times.start, times.duration, times.done, times.wait, times.blocker
    semaphore, dma_wait, width = rates.semaphore, rates.dma_wait, rates.width
    window, slow, pe_overhead = rates.window, rates.slow, rates.pe_overhead
    matmul_issue, pe_latency, pe_fill = rates.matmul_issue, rates.pe_latency, rates.pe_fill
    first_ns, hbm_ns, queue = moves.first, moves.hbm, moves.queue
    engines = len(engine_start)
    cores = engines // 5
    free = [engine_start[e] for e in range(engines)]
    place = [order_start[e] for e in range(engines)]
    # When the next instruction of each engine has all it waits for, -1 not known yet; may_go: its partner is there too.
    ready = [-1.0 for _ in range(engines)]
    may_go = [False for _ in range(engines)]
    cause = [-1 for _ in range(engines)]
    missing = [-1 for _ in range(engines)]
    # The transfers of each core that are under way; who started each transfer.
    moving: list[_Ints] = [[] for _ in range(cores)]
    trigger = [-1 for _ in first_ns]
    later: set[int] = set()
    # When each DMA engine is done with what each queue has put on it, and when each core's share of HBM is.
    dma_free = [[0.0] * QUEUES for _ in range(cores * width)]
    hbm_free = [[0.0] * QUEUES for _ in range(cores)]
    rotation = [0 for _ in range(cores)]
    array_free = [0.0 for _ in range(cores)]
    window_start = [rates.first_window for _ in range(cores)]
    window_busy = [0.0 for _ in range(cores)]
    # When the PE came to full speed, -inf while it is throttled.
    warm_since = [-_FOREVER for _ in range(cores)]
    warm: Periods = []
    for _ in range(len(engine)):
        best = -1
        best_at = 0.0
        for e in range(engines):
            if place[e] >= order_start[e + 1]:
                continue
            i = order[place[e]]
            if ready[e] < 0.0:
                if missing[e] >= 0 and done[missing[e]] < 0.0:
                    continue
                at = 0.0
                by = -1
                absent = -1
                for w in range(wait_start[i], wait_start[i + 1]):
                    p = waits[w]
                    if done[p] < 0.0:
                        absent = p
                        break
                    if done[p] > at:
                        at = done[p]
                        by = p
                if absent >= 0:
                    missing[e] = absent
                    continue
                ready[e] = at
                cause[e] = by
                may_go[e] = partner[i] < 0
            if not may_go[e]:
                j = partner[i]
                r = engine[j]
                if place[r] >= order_start[r + 1] or order[place[r]] != j or ready[r] < 0.0:
                    continue
                _meet(e, r, i, j, free, ready, cause)
                may_go[e] = True
                may_go[r] = True
            at = ready[e]
            if free[e] > at:
                at = free[e]
            if kind[i] == 2 and array_free[e // 5] > at:
                at = array_free[e // 5]
            if best < 0 or at < best_at:
                best = e
                best_at = at
        if best < 0:
            return DEADLOCK, warm
        e = best
        i = order[place[e]]
        core = e // 5
        s = best_at
        start[i] = s
        wait[i] = s - free[e]
        blocker[i] = -1
        if ready[e] >= s:
            blocker[i] = cause[e]
        duration[i] = latency[i]
        if transfer[i] >= 0:
            t = transfer[i]
            free[e] = s + interval[i]
            begin = s + first_ns[t]
            earliest, finish = _spread_packets(
                t, core, begin, moves, rates, times, dma_free, moving[core], later, rotation
            )
            if hbm_ns[t] > 0.0:
                # What waits for a few DMA engines leaves HBM to what comes behind it on others: its turn counts from when it could begin.
                at = begin if moves.engines[t] < width else earliest
                _in_turn(hbm_free[core], queue[t], at, hbm_ns[t])
                hbm_end = max(hbm_free[core][queue[t]], earliest + hbm_ns[t])
                if hbm_end > finish:
                    _stretch_packets(t, core, hbm_end - finish, moves, rates, times, dma_free)
                    finish = hbm_end
            done[i] = finish + dma_wait
            if _look_after(moving[core], later, trigger, s, rates, times):
                for other in range(engines):
                    # Two that have met start together, whatever comes later.
                    if place[other] < order_start[other + 1] and not (
                        may_go[other] and partner[order[place[other]]] >= 0
                    ):
                        ready[other] = -1.0
            trigger[t] = i
            moving[core].append(t)
        elif kind[i] > 0:
            if s >= window_start[core] + window:
                _pass_windows(core, s, rates, window_start, window_busy, warm_since, warm)
            factor = slow if warm_since[core] == -_FOREVER else 1.0
            busy = pe_ns[i] * factor
            if kind[i] == 1:
                free[e] = s + busy
                duration[i] += busy
            else:
                # Columns behind it slow down how those of a product leave the array; few columns or none do not.
                fill = 1.0 if s > array_free[core] or pe_ns[i] < interval[i] else factor
                free[e] = s + matmul_issue
                overhead = pe_overhead if factor == 1.0 else 0.0
                duration[i] = busy + overhead + pe_latency + pe_fill * fill
                least = interval[i] if interval[i] > busy else busy
                array_free[core] = s + least + overhead
                window_busy[core] += pe_ns[i]
            done[i] = s + duration[i] + semaphore
        else:
            free[e] = s + interval[i]
            done[i] = s + latency[i] + semaphore
        place[e] += 1
        ready[e] = -1.0
        may_go[e] = False
        missing[e] = -1
    for core in range(cores):
        if warm_since[core] != -_FOREVER:
            warm.append((core, warm_since[core], window_start[core] + window))
    return DONE, warm


def _meet(e: int, r: int, i: int, j: int, free: _Floats, ready: _Floats, cause: _Ints) -> None:
    """Instructions i on engine e and j on engine r start together: the earlier one waits for the later one."""
    mine = max(ready[e], free[e])
    theirs = max(ready[r], free[r])
    if theirs > mine:
        ready[e] = theirs
        cause[e] = j
    elif mine > theirs:
        ready[r] = mine
        cause[r] = i


def _in_turn(free: _Floats, queue: int, at: float, work: float) -> float:
    """Adds `work` ns of a queue, from `at` on, to what takes the queues in turn: a queue keeps its order, and while others have work
    too, each gets its turn as often. `free`: when it is done with what each queue has put on it. When it begins the work, and, in
    `free`, ends it."""
    start = at if at > free[queue] else free[queue]
    end = start + work
    for other in range(QUEUES):
        left = free[other] - start
        if other != queue and left > 0.0:
            turns = left if left < work else work
            end += turns
            free[other] += turns
    free[queue] = end
    return start


def _spread_packets(
    t: int,
    core: int,
    begin: float,
    moves: Moves,
    rates: Rates,
    times: Times,
    dma_free: list[_Floats],
    moving: _Ints,
    later: set[int],
    rotation: _Ints,
) -> tuple[float, float]:
    """Puts the packets of transfer t on the core's DMA engines; when the first one starts and the last one ends. `later`: the transfers
    under way that lose turns by it join them."""
    run_count, run_start, run_spacing = times.run_count, times.run_start, times.run_spacing
    width, semaphore_packet = rates.width, rates.semaphore_packet
    held_up = moves.held_up[t]
    stagger = rates.read_stagger if held_up > 0.0 else rates.stagger
    read_spread, read_stall = rates.read_spread, rates.read_stall
    even = moves.spacing[t]
    used, queue = moves.engines[t], moves.queue[t]
    per = moves.packets[t] // used
    extra = moves.packets[t] % used
    first = rotation[core]
    mine = core * width
    runs = t * width
    earliest = -1.0
    finish = begin
    for k in range(used):
        count = per
        if k < extra:
            count += 1
        d = moves.first_engine[t] + (first + k) % used
        r = runs + d
        free = dma_free[mine + d]
        spacing = even
        if held_up > 0.0 and count > 0:
            # Each DMA engine is held up by another share, from none to all of it, another one each time.
            share = held_up * ((7 * d + 5 * t) % width) / (width - 1)
            spacing += share * (read_spread * spacing + read_stall / count)
        at = _in_turn(free, queue, begin + k * stagger, count * spacing)
        if free[queue] > at + count * spacing:
            for other in moving:
                if moves.queue[other] != queue and _loses_turns(other * width + d, at, count * spacing, times):
                    later.add(other)
        run_count[r] = count
        run_start[r] = at
        run_spacing[r] = (free[queue] - at) / count if count > 0 else spacing
        if count > 0:
            if free[queue] > finish:
                finish = free[queue]
            if earliest < 0.0 or at < earliest:
                earliest = at
        free[queue] += semaphore_packet
    rotation[core] = (first + extra) % width
    return earliest, finish


def _loses_turns(r: int, start: float, work: float, times: Times) -> bool:
    """The packets of run r lose the turns that `work` ns of another queue take from `start` on; whether it has any left."""
    count, begin = times.run_count[r], times.run_start[r]
    end = begin + count * times.run_spacing[r]
    if count <= 0 or end <= start:
        return False
    if begin > start:
        begin += begin - start if begin - start < work else work
    end += end - start if end - start < work else work
    times.run_start[r] = begin
    times.run_spacing[r] = (end - begin) / count
    return True


def _look_after(moving: _Ints, later: set[int], trigger: _Ints, now: float, rates: Rates, times: Times) -> bool:
    """Forgets the transfers that are done at `now`, and says of those that are `later` when they will be; whether one will be later than
    before."""
    done, count, start, spacing = times.done, times.run_count, times.run_start, times.run_spacing
    kept, any_later = [], False
    for t in moving:
        i, finish = trigger[t], 0.0
        for r in range(t * rates.width, (t + 1) * rates.width) if t in later else ():
            if count[r] > 0 and start[r] + count[r] * spacing[r] > finish:
                finish = start[r] + count[r] * spacing[r]
        if finish + rates.dma_wait > done[i]:
            done[i] = finish + rates.dma_wait
            any_later = True
        if done[i] > now:
            kept.append(t)
    moving[:] = kept
    later.clear()
    return any_later


def _stretch_packets(
    t: int, core: int, late: float, moves: Moves, rates: Rates, times: Times, dma_free: list[_Floats]
) -> None:
    """Where HBM sets the pace, the packets of transfer t come further apart, so that it ends `late` ns later."""
    run_count, run_start, run_spacing = times.run_count, times.run_start, times.run_spacing
    width = rates.width
    times.by_hbm[t] = 1
    for d in range(width):
        r = t * width + d
        if run_count[r] > 0:
            stretched = run_start[r] + run_count[r] * run_spacing[r] + late
            run_spacing[r] = (stretched - run_start[r]) / run_count[r]
            dma_free[core * width + d][moves.queue[t]] = stretched + rates.semaphore_packet


def _pass_windows(
    core: int,
    now: float,
    rates: Rates,
    window_start: _Floats,
    window_busy: _Floats,
    warm_since: _Floats,
    warm: Periods,
) -> None:
    """Ends every throttle window that is over at `now`; the PE gains or loses full speed at the end of one."""
    while now >= window_start[core] + rates.window:
        share = window_busy[core] / rates.window
        end = window_start[core] + rates.window
        if warm_since[core] != -_FOREVER and share < rates.full_at:
            warm.append((core, warm_since[core], end))
            warm_since[core] = -_FOREVER
        elif warm_since[core] == -_FOREVER and share >= rates.full_at:
            warm_since[core] = end
        window_busy[core] = 0.0
        window_start[core] += rates.window
