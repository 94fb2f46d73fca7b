"""What the inner loop of the schedule takes and gives: records of columns. simulator/native/loop.c has the same fields, in the
same order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

DONE, DEADLOCK = 0, 1


class Work(NamedTuple):
    """The instructions of all cores, numbered through; arrays of one element for each, unless said otherwise. Times in ns.

    engine: 5 x core + engine. order: the numbers, engine by engine, in the order of issue; order_start: where each engine begins
    in it, and the end. interval: until the engine can start its next instruction; of a MATMUL, until the next one can start at any clock. latency: start to
    result. pe_ns: what the columns of LDWEIGHTS and MATMUL hold the PE at full clock. transfer: its number, or -1. partner: the instruction of the other core that it
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
    packet. held_up: how much of the stalls of reads it has, of 1. first_engine, engines: the DMA engines that it uses. queue: the number
    of its queue.
    """

    packets: np.ndarray
    spacing: np.ndarray
    hbm: np.ndarray
    first: np.ndarray
    held_up: np.ndarray
    first_engine: np.ndarray
    engines: np.ndarray
    queue: np.ndarray


class Rates(NamedTuple):
    """Constants of the chip, in ns unless said otherwise. semaphore_packet: what bumping the semaphore of a DMA takes of each DMA engine. `slow`: factor of PE times while the PE is throttled. full_at: share of
    a window's columns from which the next one has full speed. pe_overhead: between products at full speed. read_spread: share of the spacing. first_window: start of the first throttle
    window. width: DMA engines of a core."""

    dma_wait: float
    semaphore: float
    pe_latency: float
    pe_fill: float
    window: float
    slow: float
    full_at: float
    pe_overhead: float
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
