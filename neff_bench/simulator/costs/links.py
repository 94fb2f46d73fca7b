"""Says what a collective costs: the model of time for communication between the devices of one server.

    time = start of a DMA + steps x step latency + bytes sent / bandwidth

All of it is from AWS's documentation (neuron-runtime/explore/intranode-collective-comm.rst) and was **never compared with hardware**. Every algorithm
sends (N - 1) chunks for an all-gather and a reduce-scatter, and twice that for an all-reduce. Ranks lie on the devices in order, arrive at the same time,
and the cores of a device share its links evenly. Ranks of one device reach each other at the rate of their DMA engines. The two cores of a rank share a
collective of tensors in HBM. Collectives of one rank slow each other down by the HBM and the DMA engines that they share, and by nothing else.
"""

from __future__ import annotations

from math import ceil, log2
from typing import NamedTuple

from neff_bench.chips import Chip
from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.costs.steps import ALL, SYNC, Lowered, Step
from neff_bench.simulator.costs.table import DMA, row_for
from neff_bench.simulator.costs.transfers import COLLECTIVES, Transfer, start_ns
from neff_bench.simulator.program import Access, Instruction, Program

MESH_BELOW_BYTES, RDH_UP_TO_BYTES = 1 << 20, 56 << 20
"""Sizes of the whole buffer at which the runtime changes its algorithm (AWS docs, intranode-collective-comm.rst, "sweet range")."""

MAX_PACKET_BYTES = 64 << 10
"""Default and largest packet of a collective (AWS docs, compute-comm-overlap.rst, NEURON_RT_DBG_CC_DMA_PACKET_SIZE)."""


class Plan(NamedTuple):
    """Says how a collective runs. `steps`: one after the other. `sent_bytes`: by one rank. `bandwidth`: bytes/ns of one core's share of its
    device's links, 0 within a device."""

    algorithm: str
    steps: int
    sent_bytes: int
    bandwidth: float


def plan(op: str, group: list[int], whole_bytes: int, lnc: int, chip: Chip) -> Plan:
    """Return how a collective is carried out. `group`: the ranks. `whole_bytes`: of the larger of src and dst, all tensors together."""
    count, each = len(group), chip.cores_per_device // lnc
    devices = len({rank // each for rank in group})
    if count == 1:
        return Plan("copy", 0, 0, 0.0)
    passes = 2 if op == "all_reduce" else 1
    bandwidth = chip.link_bandwidth / chip.cores_per_device if devices > 1 else 0.0
    if op.startswith("collective_permute"):
        return Plan("permute", 1, whole_bytes, bandwidth)
    sent = passes * (count - 1) * whole_bytes // count
    algorithm, steps = _algorithm(count, devices, each, whole_bytes)
    if op.startswith("all_to_all"):
        algorithm, steps = "Mesh", _mesh(count, devices)
    return Plan(algorithm, passes * steps, sent, bandwidth)


def _algorithm(count: int, devices: int, each: int, whole_bytes: int) -> tuple[str, int]:
    """Return the name and steps of one pass."""
    if devices == 1 or whole_bytes < MESH_BELOW_BYTES:
        return "Mesh", _mesh(count, devices)
    if whole_bytes <= RDH_UP_TO_BYTES:
        return "RDH", ceil(log2(devices)) + (1 if count > devices else 0)
    return ("KangaRing", count // 2) if count == devices * each else ("Ring", count - 1)


def _mesh(count: int, devices: int) -> int:
    """Return a step within the devices and one between them, where there are such ranks."""
    return (1 if count > devices else 0) + (1 if devices > 1 else 0)


def plan_of(instruction: Instruction, program: Program, chip: Chip) -> Plan:
    """Return the plan of a collective of a program. All lists of its replica group are taken to be as its first."""
    read, written = (
        sum(_bytes(access) for name, access in operands.items() if name.startswith(("src", "dst")))
        for operands in (instruction.reads, instruction.writes)
    )
    return plan(instruction.op, instruction.attributes["groups"][0], max(read, written), program.lnc, chip)


def collective_cost(instruction: Instruction, program: Program, chip: Chip, opcodes: tuple[int, ...]) -> Lowered:
    """Return a WRITE that starts the cores for collectives, and what they move. HBM and SBUF bytes: each operand once. Of a collective that
    both cores share, each moves half."""
    found = plan_of(instruction, program, chip)
    half = instruction.attributes.get("half")
    moved = dict.fromkeys(("hbm_read", "hbm_write", "sbuf_read", "sbuf_write", "psum_read", "psum_write"), 0)
    for side, operands in (("read", instruction.reads), ("write", instruction.writes)):
        for access in operands.values():
            moved[f"{program.buffers[access.buffer].memory}_{side}"] += _part(_bytes(access), half)
    sent = _part(found.sent_bytes, half) or sum(moved.values()) // 2
    packet = min(MAX_PACKET_BYTES, max(-(-sent // chip.dma_engines), 1))
    transfer = Transfer(
        queue=COLLECTIVES,
        packets=max(-(-sent // packet), 1),
        packet_bytes=min(packet, max(sent, 1)),
        bytes=sent,
        software=False,
        static=True,
        converts=False,
        transposes=False,
        dge_disabled=False,
        gathers=False,
        latency_ns=found.steps * chip.collective_step_ns,
        bandwidth=found.bandwidth,
        **moved,
    )
    row = row_for(chip.generation, instruction.op, DMA)
    issue = getattr(chip, row.interval)
    step = Step(opcodes[0], ALL, issue, issue)
    return Lowered(SYNC, (step,), transfer, False, program.lnc > 1, "", issue, start_ns(transfer, chip), row)


def _part(size: int, half: int | None) -> int:
    """Return the bytes of each core; core 0 moves the odd byte."""
    return size if half is None else (size + 1 - half) // 2


def _bytes(access: Access) -> int:
    return access.elements * SIZE_BYTES[access.dtype]
