"""The inner loop of the schedule: plain arithmetic over flat arrays, compiled by numba when it is installed.

Without numba the same function runs over Python lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from neff_bench.chips import Chip
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.costs.transfers import SEMAPHORE_PACKET_NS, Transfer, packet_ns, start_ns

if TYPE_CHECKING:
    import numpy as np

DONE, DEADLOCK = 0, 1
COMPILED_FROM = 50_000
"""Instructions from which the compiled loop is used: below it, loading numba takes longer than plain Python does."""
_LDWEIGHTS, _MATMUL = OPCODES["LDWEIGHTS"], OPCODES["MATMUL"]
_MATMUL_ISSUE_NS = 2.0
"""LDWEIGHTS follows the start of the MATMUL before it by 2 ns (trn2 traces, trainium-kernel-fusion @d709ddf1)."""


class Loop(NamedTuple):
    """Arrays by instruction (start, duration, done, wait in ns; blocker), then by transfer x DMA engine (runs). by_hbm, by
    transfer: 1 where HBM and not the DMA engines set its pace."""

    status: int
    start: np.ndarray
    duration: np.ndarray
    done: np.ndarray
    wait: np.ndarray
    blocker: np.ndarray
    run_count: np.ndarray
    run_start: np.ndarray
    run_spacing: np.ndarray
    by_hbm: np.ndarray
    warm: list[tuple[int, float, float]]


def run_loop(
    chip: Chip, engine, order, order_start, opcode, interval, latency, pe_ns, transfer, partner, wait_start, waits,
    transfers: list[Transfer], sharers: int, engine_start, window_start: float,
) -> Loop:  # fmt: skip
    """Schedules every instruction. Shapes and meaning: `neff_bench.simulator.timing.schedule.schedule_code`. `sharers`: cores that share HBM.
    window_start: of the first throttle window."""
    import numpy as np

    n, t = len(engine), len(transfers)
    kind = np.where(opcode == _LDWEIGHTS, 1, np.where(opcode == _MATMUL, 2, 0)).astype(np.int8)
    packets = np.array([x.packets for x in transfers], dtype=np.int64)
    spacing = np.array([packet_ns(x, chip) for x in transfers])
    hbm_ns = np.array([(x.hbm_read + x.hbm_write) * sharers / chip.hbm_bandwidth for x in transfers])
    first_ns = np.array([start_ns(x, chip) for x in transfers])
    held_up = np.array([1 if x.hbm_read and not x.static else 0 for x in transfers], dtype=np.int8)
    constants = (
        float(chip.dma_wait_ns), float(chip.semaphore_ns), float(chip.pe_latency_ns), chip.pe_fill_cycles / chip.pe_clock_ghz,
        float(chip.throttle_window_ns),
        float(chip.throttle_factor), float(chip.throttle_warm_utilization), float(chip.throttle_cold_utilization),
        _MATMUL_ISSUE_NS, SEMAPHORE_PACKET_NS, float(chip.dma_read_stall_ns), float(chip.dma_read_spread),
        float(chip.dma_stagger_ns), float(chip.dma_read_stagger_ns), float(window_start), chip.dma_engines,
    )  # fmt: skip
    inputs = (engine, order, order_start, kind, interval, latency, pe_ns, transfer, partner, wait_start, waits, packets,
              spacing, hbm_ns, first_ns, held_up, engine_start)  # fmt: skip
    fast = compiled() if n >= COMPILED_FROM else None
    outputs: Any
    if fast is not None:
        outputs = _outputs(n, t, chip.dma_engines, np)
        status, warm = fast(*inputs, constants, *outputs)
    else:
        plain: Any = [a.tolist() for a in inputs]
        lists: Any = [a.tolist() for a in _outputs(n, t, chip.dma_engines, np)]
        plain_loop: Any = _loop
        status, warm = plain_loop(*plain, constants, *lists)
        kinds = (float, float, float, float, np.int32, np.int64, float, float, np.int8)
        outputs = tuple(np.array(values, dtype=dtype) for values, dtype in zip(lists, kinds, strict=True))
    periods = [(int(core), float(start), float(end)) for core, start, end in warm if core >= 0]
    return Loop._make((status, *outputs, periods))


def _outputs(n: int, transfers: int, width: int, np) -> tuple[Any, ...]:
    runs = transfers * width
    return (
        np.zeros(n), np.zeros(n), np.full(n, -1.0), np.zeros(n), np.full(n, -1, dtype=np.int32),
        np.zeros(runs, dtype=np.int64), np.zeros(runs), np.zeros(runs), np.zeros(transfers, dtype=np.int8),
    )  # fmt: skip


_CACHE: list[Any] = []


def compiled() -> Any:
    """The loop compiled by numba; None without numba."""
    if not _CACHE:
        try:
            from numba import njit
        except ImportError:
            _CACHE.append(None)
        else:
            _CACHE.append(njit(cache=True)(_loop))
    return _CACHE[0]


def _loop(
    engine, order, order_start, kind, interval, latency, pe_ns, transfer, partner, wait_start, waits, packets,
    spacing_ns, hbm_ns, first_ns, held_up, engine_start, constants,
    start, duration, done, wait, blocker, run_count, run_start, run_spacing, by_hbm,
):  # fmt: skip
    (
        dma_wait,
        semaphore,
        pe_latency,
        pe_fill,
        window,
        slow,
        warm_at,
        cold_at,
        matmul_issue,
        semaphore_packet,
        read_stall,
        read_spread,
        stagger,
        read_stagger,
        first_window,
        width,
    ) = constants
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
    window_start = [first_window for _ in range(cores)]
    window_busy = [0.0 for _ in range(cores)]
    is_warm = [False for _ in range(cores)]
    warm_since = [0.0 for _ in range(cores)]
    warm = [(-1, 0.0, 0.0)]
    left = len(engine)
    while left > 0:
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
                mine = ready[e]
                if free[e] > mine:
                    mine = free[e]
                theirs = ready[r]
                if free[r] > theirs:
                    theirs = free[r]
                if theirs > mine:
                    ready[e] = theirs
                    cause[e] = j
                elif mine > theirs:
                    ready[r] = mine
                    cause[r] = i
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
        if transfer[i] >= 0:
            t = transfer[i]
            free[e] = s + interval[i]
            duration[i] = latency[i]
            begin = s + first_ns[t]
            per = packets[t] // width
            extra = packets[t] % width
            earliest = -1.0
            finish = begin
            for k in range(width):
                count = per
                if k < extra:
                    count += 1
                d = (rotation[core] + k) % width
                r = t * width + d
                at = begin + k * (read_stagger if held_up[t] > 0 else stagger)
                if dma_free[core * width + d] > at:
                    at = dma_free[core * width + d]
                run_count[r] = count
                run_start[r] = at
                spacing = spacing_ns[t]
                if held_up[t] > 0 and count > 0:
                    # Each DMA engine is held up by another share, from none to all of it, another one each time.
                    share = ((7 * d + 5 * t) % width) / (width - 1)
                    spacing += share * (read_spread * spacing + read_stall / count)
                run_spacing[r] = spacing
                end = at + count * spacing
                dma_free[core * width + d] = end + semaphore_packet
                if count > 0:
                    if end > finish:
                        finish = end
                    if earliest < 0.0 or at < earliest:
                        earliest = at
            rotation[core] = (rotation[core] + extra) % width
            hbm_end = earliest
            if hbm_free[core] > hbm_end:
                hbm_end = hbm_free[core]
            hbm_end += hbm_ns[t]
            hbm_free[core] = hbm_end
            if hbm_end > finish:
                by_hbm[t] = 1
                # HBM is the narrower one: the packets of this transfer come further apart.
                for d in range(width):
                    r = t * width + d
                    if run_count[r] > 0:
                        end = run_start[r] + run_count[r] * run_spacing[r]
                        stretched = end + (hbm_end - finish)
                        run_spacing[r] = (stretched - run_start[r]) / run_count[r]
                        dma_free[core * width + d] = stretched + semaphore_packet
                finish = hbm_end
            done[i] = finish + dma_wait
        elif kind[i] > 0:
            while s >= window_start[core] + window:
                share = window_busy[core] / window
                if is_warm[core] and share < cold_at:
                    is_warm[core] = False
                    warm.append((core, warm_since[core], window_start[core] + window))
                elif not is_warm[core] and share >= warm_at:
                    is_warm[core] = True
                    warm_since[core] = window_start[core] + window
                window_busy[core] = 0.0
                window_start[core] += window
            factor = slow
            if is_warm[core]:
                factor = 1.0
            busy = pe_ns[i] * factor
            if kind[i] == 1:
                free[e] = s + busy
                duration[i] = latency[i]
                done[i] = s + latency[i] + semaphore
            else:
                free[e] = s + matmul_issue
                array_free[core] = s + busy
                window_busy[core] += busy
                duration[i] = busy + pe_latency + pe_fill * factor
                done[i] = s + duration[i] + semaphore
        else:
            free[e] = s + interval[i]
            duration[i] = latency[i]
            done[i] = s + latency[i] + semaphore
        place[e] += 1
        ready[e] = -1.0
        may_go[e] = False
        missing[e] = -1
        left -= 1
    for core in range(cores):
        if is_warm[core]:
            warm.append((core, warm_since[core], window_start[core] + window))
    return 0, warm
