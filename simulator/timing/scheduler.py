"""The inner loop of the schedule: plain arithmetic over flat arrays, compiled by numba when it is installed.

Without numba the same functions run over Python lists. `_loop` keeps the choice of the next instruction in one body: it is done
once for each engine and instruction, and plain Python loses more than 5 % of its speed to a function call there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from neff_bench.chips import Chip
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.costs.transfers import PORTS, SEMAPHORE_PACKET_NS, Transfer, packet_ns, start_ns

if TYPE_CHECKING:
    import numpy as np

DONE, DEADLOCK = 0, 1
COMPILED_FROM = 50_000
"""Instructions from which the compiled loop is used: below it, loading numba takes longer than plain Python does."""
_FOREVER = float("inf")
_Floats = list[float]
_Ints = list[int]
_Periods = list[tuple[int, float, float]]
_LDWEIGHTS, _MATMUL = OPCODES["LDWEIGHTS"], OPCODES["MATMUL"]
_MATMUL_ISSUE_NS = 2.0
"""LDWEIGHTS follows the start of the MATMUL before it by 2 ns (trn2 traces, trainium-kernel-fusion @d709ddf1)."""


class Work(NamedTuple):
    """The instructions of all cores, numbered through; arrays of one element for each, unless said otherwise. Times in ns.

    engine: 5 x core + engine. order: the numbers, engine by engine, in the order of issue; order_start: where each engine begins
    in it, and the end. interval: until the engine can start its next instruction. latency: start to result. pe_ns: what LDWEIGHTS
    and MATMUL hold the PE at full clock. transfer: its number, or -1. partner: the instruction of the other core that it
    meets, or -1. waits: instructions that must be done before, cut up by wait_start (one more element than instructions).
    engine_start: when each engine can begin.
    """

    engine: np.ndarray
    order: np.ndarray
    order_start: np.ndarray
    opcode: np.ndarray
    interval: np.ndarray
    latency: np.ndarray
    pe_ns: np.ndarray
    transfer: np.ndarray
    partner: np.ndarray
    wait_start: np.ndarray
    waits: np.ndarray
    engine_start: np.ndarray


class Moves(NamedTuple):
    """The transfers; arrays of one element for each. Times in ns.

    spacing: of its packets on one DMA engine. hbm: what it takes of the core's share of HBM. first: from the trigger to the first
    packet. held_up: 1 where reads of HBM are held up on some DMA engines. first_engine, engines: the DMA engines that it uses.
    """

    packets: np.ndarray
    spacing: np.ndarray
    hbm: np.ndarray
    first: np.ndarray
    held_up: np.ndarray
    first_engine: np.ndarray
    engines: np.ndarray


class Rates(NamedTuple):
    """Constants of the chip, in ns unless said otherwise. `slow`: factor of PE times while the PE is throttled. warm_at and
    cold_at: shares of a window with the PE busy. read_spread: share of the spacing. first_window: start of the first throttle
    window. width: DMA engines of a core."""

    dma_wait: float
    semaphore: float
    pe_latency: float
    pe_fill: float
    window: float
    slow: float
    warm_at: float
    cold_at: float
    matmul_issue: float
    semaphore_packet: float
    read_stall: float
    read_spread: float
    stagger: float
    read_stagger: float
    first_window: float
    width: int


class Times(NamedTuple):
    """What the loop finds. Arrays by instruction (start, duration, done, wait in ns; blocker), then by transfer x DMA engine
    (run_*: packets, start and spacing in ns). by_hbm, by transfer: 1 where HBM and not the DMA engines set its pace."""

    start: np.ndarray
    duration: np.ndarray
    done: np.ndarray
    wait: np.ndarray
    blocker: np.ndarray
    run_count: np.ndarray
    run_start: np.ndarray
    run_spacing: np.ndarray
    by_hbm: np.ndarray


class Loop(NamedTuple):
    """`status`: DONE or DEADLOCK. `warm`: (core, start, end) of the periods at full PE speed, in ns."""

    status: int
    times: Times
    warm: list[tuple[int, float, float]]


def run_loop(chip: Chip, work: Work, transfers: list[Transfer], sharers: int, window_start: float) -> Loop:
    """Schedules every instruction. `sharers`: cores that share HBM. `window_start`: of the first throttle window, in ns."""
    import numpy as np

    kind = np.where(work.opcode == _LDWEIGHTS, 1, np.where(work.opcode == _MATMUL, 2, 0)).astype(np.int8)
    work = work._replace(opcode=kind)
    moves = Moves(
        packets=np.array([x.packets for x in transfers], dtype=np.int64),
        spacing=np.array([packet_ns(x, chip) for x in transfers]),
        hbm=np.array([(x.hbm_read + x.hbm_write) * sharers / chip.hbm_bandwidth for x in transfers]),
        first=np.array([start_ns(x, chip) for x in transfers]),
        held_up=np.array([1 if x.hbm_read and not x.static else 0 for x in transfers], dtype=np.int8),
        first_engine=np.array([x.first_port * chip.dma_engines // PORTS for x in transfers], dtype=np.int64),
        engines=np.array([max(x.ports * chip.dma_engines // PORTS, 1) for x in transfers], dtype=np.int64),
    )
    rates = _rates(chip, window_start)
    times = _unknown(len(work.engine), len(transfers), chip.dma_engines)
    fast = compiled() if len(work.engine) >= COMPILED_FROM else None
    if fast is not None:
        status, warm = fast(work, moves, rates, times)
    else:
        lists: Any = Times._make([a.tolist() for a in times])
        plain: tuple[Any, Any] = (Work._make(a.tolist() for a in work), Moves._make(a.tolist() for a in moves))
        status, warm = _loop(*plain, rates, lists)
        times = Times._make(np.array(found, dtype=a.dtype) for found, a in zip(lists, times, strict=True))
    return Loop(status, times, [(int(core), float(start), float(end)) for core, start, end in warm if core >= 0])


def _rates(chip: Chip, window_start: float) -> Rates:
    return Rates(
        dma_wait=float(chip.dma_wait_ns), semaphore=float(chip.semaphore_ns),
        pe_latency=float(chip.pe_latency_ns), pe_fill=chip.pe_fill_cycles / chip.pe_clock_ghz,
        window=float(chip.throttle_window_ns), slow=float(chip.throttle_factor),
        warm_at=float(chip.throttle_warm_utilization), cold_at=float(chip.throttle_cold_utilization),
        matmul_issue=_MATMUL_ISSUE_NS, semaphore_packet=SEMAPHORE_PACKET_NS,
        read_stall=float(chip.dma_read_stall_ns), read_spread=float(chip.dma_read_spread),
        stagger=float(chip.dma_stagger_ns), read_stagger=float(chip.dma_read_stagger_ns),
        first_window=float(window_start), width=chip.dma_engines,
    )  # fmt: skip


def _unknown(n: int, transfers: int, width: int) -> Times:
    """Arrays for `n` instructions, none of them done."""
    import numpy as np

    runs = transfers * width
    return Times(
        np.zeros(n), np.zeros(n), np.full(n, -1.0), np.zeros(n), np.full(n, -1, dtype=np.int32),
        np.zeros(runs, dtype=np.int64), np.zeros(runs), np.zeros(runs), np.zeros(transfers, dtype=np.int8),
    )  # fmt: skip


_CACHE: list[Any] = []


def compiled() -> Any:
    """The loop compiled by numba; None without numba."""
    if not _CACHE:
        try:
            from numba import njit
            from numba.extending import register_jitable
        except ImportError:
            _CACHE.append(None)
        else:
            for part in (_meet, _spread_packets, _stretch_packets, _pass_windows):
                register_jitable(part)
            _CACHE.append(njit(cache=True)(_loop))
    return _CACHE[0]


def _loop(work: Work, moves: Moves, rates: Rates, times: Times) -> tuple[int, list[tuple[int, float, float]]]:
    """Starts, one after the other, the instruction that can start first. `work.opcode`: 1 LDWEIGHTS, 2 MATMUL, 0 all others."""
    engine, order, order_start, kind, interval, latency, pe_ns, transfer, partner, wait_start, waits, engine_start = (
        work
    )
    start, duration, done, wait, blocker = times.start, times.duration, times.done, times.wait, times.blocker
    semaphore, dma_wait, width = rates.semaphore, rates.dma_wait, rates.width
    window, slow, matmul_issue, pe_latency, pe_fill = (
        rates.window,
        rates.slow,
        rates.matmul_issue,
        rates.pe_latency,
        rates.pe_fill,
    )
    first_ns, hbm_ns = moves.first, moves.hbm
    engines = len(engine_start)
    cores = engines // 5
    free = [engine_start[e] for e in range(engines)]
    place = [order_start[e] for e in range(engines)]
    # When the next instruction of each engine has all it waits for, -1 not known yet; may_go: its partner is there too.
    ready = [-1.0 for _ in range(engines)]
    may_go = [False for _ in range(engines)]
    cause = [-1 for _ in range(engines)]
    missing = [-1 for _ in range(engines)]
    dma_free = [0.0 for _ in range(cores * width)]
    rotation = [0 for _ in range(cores)]
    # When each core's share of HBM is free.
    hbm_free = [0.0 for _ in range(cores)]
    array_free = [0.0 for _ in range(cores)]
    window_start = [rates.first_window for _ in range(cores)]
    window_busy = [0.0 for _ in range(cores)]
    # When the PE came to full speed, -inf while it is throttled.
    warm_since = [-_FOREVER for _ in range(cores)]
    warm = [(-1, 0.0, 0.0)]
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
            return 1, warm
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
            earliest, finish = _spread_packets(t, core, s + first_ns[t], moves, rates, times, dma_free, rotation)
            hbm_end = earliest if earliest > hbm_free[core] else hbm_free[core]
            hbm_end += hbm_ns[t]
            hbm_free[core] = hbm_end
            if hbm_end > finish:
                _stretch_packets(t, core, hbm_end - finish, rates, times, dma_free)
                finish = hbm_end
            done[i] = finish + dma_wait
        elif kind[i] > 0:
            if s >= window_start[core] + window:
                _pass_windows(core, s, rates, window_start, window_busy, warm_since, warm)
            factor = slow if warm_since[core] == -_FOREVER else 1.0
            busy = pe_ns[i] * factor
            if kind[i] == 1:
                free[e] = s + busy
            else:
                free[e] = s + matmul_issue
                array_free[core] = s + busy
                window_busy[core] += busy
                duration[i] = busy + pe_latency + pe_fill * factor
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
    return 0, warm


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


def _spread_packets(
    t: int, core: int, begin: float, moves: Moves, rates: Rates, times: Times, dma_free: _Floats, rotation: _Ints
) -> tuple[float, float]:
    """Puts the packets of transfer t on the core's DMA engines; when the first one starts and the last one ends."""
    run_count, run_start, run_spacing = times.run_count, times.run_start, times.run_spacing
    width, semaphore_packet = rates.width, rates.semaphore_packet
    held_up = moves.held_up[t] > 0
    stagger = rates.read_stagger if held_up else rates.stagger
    read_spread, read_stall = rates.read_spread, rates.read_stall
    even = moves.spacing[t]
    used = moves.engines[t]
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
        at = begin + k * stagger
        if dma_free[mine + d] > at:
            at = dma_free[mine + d]
        spacing = even
        if held_up and count > 0:
            # Each DMA engine is held up by another share, from none to all of it, another one each time.
            share = ((7 * d + 5 * t) % width) / (width - 1)
            spacing += share * (read_spread * spacing + read_stall / count)
        run_count[r] = count
        run_start[r] = at
        run_spacing[r] = spacing
        end = at + count * spacing
        dma_free[mine + d] = end + semaphore_packet
        if count > 0:
            if end > finish:
                finish = end
            if earliest < 0.0 or at < earliest:
                earliest = at
    rotation[core] = (first + extra) % width
    return earliest, finish


def _stretch_packets(t: int, core: int, late: float, rates: Rates, times: Times, dma_free: _Floats) -> None:
    """Where HBM sets the pace, the packets of transfer t come further apart, so that it ends `late` ns later."""
    run_count, run_start, run_spacing = times.run_count, times.run_start, times.run_spacing
    width = rates.width
    times.by_hbm[t] = 1
    for d in range(width):
        r = t * width + d
        if run_count[r] > 0:
            stretched = run_start[r] + run_count[r] * run_spacing[r] + late
            run_spacing[r] = (stretched - run_start[r]) / run_count[r]
            dma_free[core * width + d] = stretched + rates.semaphore_packet


def _pass_windows(
    core: int,
    now: float,
    rates: Rates,
    window_start: _Floats,
    window_busy: _Floats,
    warm_since: _Floats,
    warm: _Periods,
) -> None:
    """Ends every throttle window that is over at `now`; the PE gains or loses full speed at the end of one."""
    while now >= window_start[core] + rates.window:
        share = window_busy[core] / rates.window
        end = window_start[core] + rates.window
        if warm_since[core] != -_FOREVER and share < rates.cold_at:
            warm.append((core, warm_since[core], end))
            warm_since[core] = -_FOREVER
        elif warm_since[core] == -_FOREVER and share >= rates.warm_at:
            warm_since[core] = end
        window_busy[core] = 0.0
        window_start[core] += rates.window
