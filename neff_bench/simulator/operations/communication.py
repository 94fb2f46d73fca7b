"""Implements communication between ranks: `nki.collectives` (AWS docs, nki.collectives).

What a collective does is said for the ranks of one list of the replica group, in its order, and for one core of each. At LNC 2 both cores record it:
where they name the same tensors in HBM it is one; where each names its own tiles in SBUF, each core communicates with the same core of the other ranks.
A sum is in float32, rank after rank, and rounded once. A device may add in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Literal

import numpy as np

from neff_bench.simulator.costs.engine_work import engine_work
from neff_bench.simulator.costs.links import collective_cost
from neff_bench.simulator.machine import alu
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.operations.registers import register_alloc
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.operator_names import alu as alu_name
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid, recorder
from neff_bench.simulator.recording.register import VirtualRegister
from neff_bench.simulator.recording.replica_group import ranks_of
from neff_bench.simulator.recording.tensor import NkiTensor

_REDUCTIONS = frozenset({"add", "minimum", "maximum"})
_ON_CHIP = {"all_reduce": (0,), "all_gather": (0, 1), "reduce_scatter": (0,), "collective_permute_implicit": (0,),
            "collective_permute_implicit_reduce": (0,)}  # fmt: skip
"""Collectives of tensors in SBUF, with the dimensions that they may go along; others want HBM."""


def _operands(o: Operands, side: str) -> list[str]:
    return [f"{side}{at}" for at in range(o.attributes["tensors"])]


def _flat(o: Operands, name: str) -> np.ndarray:
    return o.raw(name).reshape(-1)


def _reduced(peers: Sequence[Operands], name: str, how: str) -> np.ndarray:
    """Reduce the elements of one operand over all ranks, in float32; integers stay integers."""
    values = [o.raw(name) if o.raw(name).dtype.kind in "iu" else o.float32(name) for o in peers]
    return np.asarray(reduce(alu.binary(how), values)).reshape(-1)


def _store(o: Operands, name: str, values: np.ndarray) -> None:
    o.write(name, values.reshape(o.shape(name)))


def _all_reduce(peers: Sequence[Operands]) -> None:
    """Compute each dst = the reduction of all srcs."""
    for source, target in _pairs(peers):
        values = _reduced(peers, source, peers[0].attributes["reduce_op"])
        for o in peers:
            _store(o, target, values)


def _all_gather(peers: Sequence[Operands]) -> None:
    """Compute each dst = all srcs side by side, in the order of the ranks."""
    for source, target in _pairs(peers):
        if peers[0].attributes["dim"] == 0:
            whole = np.concatenate([_flat(o, source) for o in peers])
        else:
            whole = np.concatenate([o.raw(source).reshape(o.shape(source)[0], -1) for o in peers], axis=1)
        for o in peers:
            o.write_bits(target, whole.reshape(o.shape(target)))


def _reduce_scatter(peers: Sequence[Operands]) -> None:
    """Compute each dst = its rank's part of the reduction of all srcs."""
    for source, target in _pairs(peers):
        values = _reduced(peers, source, peers[0].attributes["reduce_op"])
        for o, part in zip(peers, np.split(values, len(peers)), strict=True):
            _store(o, target, part)


def _all_to_all(peers: Sequence[Operands]) -> None:
    """Part i of rank r's dst = part r of rank i's src."""
    for source, target in _pairs(peers):
        parts = [np.split(_flat(o, source), len(peers)) for o in peers]
        for place, o in enumerate(peers):
            received = np.concatenate([sent[place] for sent in parts])
            o.write_bits(target, received.reshape(o.shape(target)))


def _permute_ring(peers: Sequence[Operands]) -> None:
    """Compute each dst = the src of the rank before in the ring."""
    for source, target in _pairs(peers):
        sent = [_flat(o, source).copy() for o in peers]
        for place, o in enumerate(peers):
            o.write_bits(target, sent[place - 1].reshape(o.shape(target)))


def _permute_ring_reduced(peers: Sequence[Operands]) -> None:
    """Compute each dst = op(src, other) of the rank before in the ring."""
    combine = alu.binary(peers[0].attributes["reduce_op"])
    for source, target in _pairs(peers):
        other = source.replace("src", "other")
        sent = [np.asarray(combine(o.float32(source), o.float32(other))).reshape(-1) for o in peers]
        for place, o in enumerate(peers):
            _store(o, target, sent[place - 1])


def _pairs(peers: Sequence[Operands]) -> list[tuple[str, str]]:
    first = peers[0]
    return list(zip(_operands(first, "src"), _operands(first, "dst"), strict=True))


@operation(execute=None, across=_all_reduce, cost=collective_cost, opcode="WRITE", offered=False)
def all_reduce(
    srcs: Any, dsts: Any, replica_group: Any, op: Any, priority: int | None = None, name: str | None = None
) -> NkiInstruction:
    """Compute each of `dsts` = its tensor of `srcs`, reduced over the ranks."""
    return _record("all_reduce", srcs, dsts, replica_group, reduce_op=op)


@operation(execute=None, across=_all_gather, cost=collective_cost, opcode="WRITE", offered=False)
def all_gather(
    srcs: Any, dsts: Any, replica_group: Any, collective_dim: int, priority: int | None = None, name: str | None = None
) -> NkiInstruction:
    """Compute each of `dsts` = its tensor of `srcs` of all ranks, one behind the other along `collective_dim`."""
    return _record("all_gather", srcs, dsts, replica_group, "gather", dim=collective_dim)


@operation(execute=None, across=_reduce_scatter, cost=collective_cost, opcode="WRITE", offered=False)
def reduce_scatter(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    collective_dim: int,
    op: Any,
    priority: int | None = None,
    name: str | None = None,
) -> NkiInstruction:
    """Compute each of `dsts` = the rank's part along dimension 0 of its tensor of `srcs`, reduced over the ranks."""
    return _record("reduce_scatter", srcs, dsts, replica_group, "scatter", reduce_op=op, dim=collective_dim)


@operation(execute=None, across=_all_to_all, cost=collective_cost, opcode="WRITE", offered=False)
def all_to_all(
    srcs: Any, dsts: Any, replica_group: Any, collective_dim: int, priority: int | None = None, name: str | None = None
) -> NkiInstruction:
    """Part i of `dsts` on rank r = part r of `srcs` on rank i, along dimension 0."""
    return _record("all_to_all", srcs, dsts, replica_group, "split", dim=collective_dim)


@operation(execute=None, across=_permute_ring, cost=collective_cost, opcode="WRITE", offered=False)
def collective_permute(
    srcs: Any, dsts: Any, source_target_pairs: Any, priority: int | None = None, name: str | None = None
) -> NkiInstruction:
    """Compute `dsts` of each target = `srcs` of its source. The pairs must be rings, as on the device."""
    if len(tensors_of("collective_permute", "srcs", srcs)) != 1:
        raise invalid("collective_permute: srcs and dsts hold one tensor each")
    return _record("collective_permute", srcs, dsts, _rings(source_target_pairs))


@operation(execute=None, across=_permute_ring, cost=collective_cost, opcode="WRITE", offered=False)
def collective_permute_implicit(
    srcs_by_channel: Any,
    dsts_by_channel: Any,
    replica_group: Any,
    channel_ids: Any = (0,),
    priority: int | None = None,
    name: str | None = None,
) -> NkiInstruction:
    """Copy into the dst of each channel the src of the rank before it in the ring, which is the list of the replica group."""
    op = "collective_permute_implicit"
    srcs, dsts = (_channels(op, value, channel_ids) for value in (srcs_by_channel, dsts_by_channel))
    return _record(op, srcs, dsts, replica_group)


@operation(execute=None, across=_permute_ring_reduced, cost=collective_cost, opcode="WRITE", offered=False)
def collective_permute_implicit_reduce(
    srcs0_by_channel: Any,
    srcs1_by_channel: Any,
    dsts_by_channel: Any,
    replica_group: Any,
    op: Any,
    channel_ids: Any = (0,),
    priority: int | None = None,
    name: str | None = None,
) -> NkiInstruction:
    """Write into the dst of each channel op(src0, src1) of the rank before it in the ring."""
    this = "collective_permute_implicit_reduce"
    given = (srcs0_by_channel, srcs1_by_channel, dsts_by_channel)
    srcs, others, dsts = (_channels(this, value, channel_ids) for value in given)
    return _record(this, srcs, dsts, replica_group, reduce_op=op, others=others)


def _rank_id(o: Operands) -> None:
    o.write("dst", np.array([[o.registers.rank]], np.int32))


@operation(execute=_rank_id, cost=engine_work(), opcode="TENSOR_LOAD", offered=False)
def rank_id(name: str | None = None) -> VirtualRegister:
    """Return a register with the number of the rank that runs the program."""
    register = register_alloc()
    emit("rank_id", "sync", {"dst": register.cell}, {}, {})
    return register


def _ring_rank_id(o: Operands) -> None:
    rank, back = o.registers.rank, o.attributes["iteration"]
    ring = next((ranks for ranks in o.attributes["groups"] if rank in ranks), None)
    if ring is None:
        o.refuse(f"rank {rank} is in no list of {o.attributes['groups']}")
    o.write("dst", np.array([[ring[(ring.index(rank) - back) % len(ring)]]], np.int32))


@operation(execute=_ring_rank_id, cost=engine_work(), opcode="TENSOR_LOAD", offered=False)
def collective_permute_implicit_current_processing_rank_id(
    iteration_id: int,
    replica_group: Any,
    channel_id: int = 0,
    num_channels: int | None = None,
    name: str | None = None,
) -> VirtualRegister:
    """Return a register with the rank whose data a ring holds after `iteration_id` steps: the rank so many places before."""
    op = "collective_permute_implicit_current_processing_rank_id"
    attributes = {"iteration": int(iteration_id), "groups": ranks_of(op, replica_group)}
    register = register_alloc()
    emit(op, "sync", {"dst": register.cell}, {}, attributes)
    return register


def _record(
    op: str,
    srcs: Any,
    dsts: Any,
    group: Any,
    shares: Literal["same", "gather", "scatter", "split"] = "same",
    *,
    reduce_op: Any = None,
    dim: int = 0,
    others: Sequence[NkiTensor] = (),
) -> NkiInstruction:
    """Check the operands and append the instruction. `shares`: dst holds what src holds (`split`: cut in parts), or that of all
    ranks (`gather`), or the rank's part (`scatter`). `others`: second sources."""
    groups = ranks_of(op, group)
    srcs, dsts = tensors_of(op, "srcs", srcs), tensors_of(op, "dsts", dsts)
    if len(srcs) != len(dsts):
        raise invalid(f"{op}: {len(srcs)} srcs and {len(dsts)} dsts")
    for src, dst in zip(srcs, dsts, strict=True):
        _check_sizes(op, src, dst, len(groups[0]), shares)
    _check_memory(op, [*srcs, *dsts, *others], dim)
    attributes: dict[str, Any] = {"groups": groups, "tensors": len(srcs), "dim": dim, "sync": recorder().meeting(op)}
    if reduce_op is not None:
        attributes["reduce_op"] = alu_name(op, "op", reduce_op, _REDUCTIONS)
    reads = {f"src{at}": src for at, src in enumerate(srcs)}
    reads |= {f"other{at}": other for at, other in enumerate(others)}
    writes = {f"dst{at}": dst for at, dst in enumerate(dsts)}
    return emit(op, "sync", writes, reads, attributes)


def _check_sizes(op: str, src: NkiTensor, dst: NkiTensor, count: int, shares: str) -> None:
    if src.dtype != dst.dtype:
        raise invalid(f"{op}: src and dst must have one dtype: {src!r}, {dst!r}")
    have, want = (src.size, dst.size * count) if shares == "scatter" else (dst.size, src.size)
    if shares == "gather":
        want *= count
    if have != want:
        key = "src" if shares == "scatter" else "dst"
        raise invalid(f"{op}: {key} must hold {want} elements for {count} ranks: {src!r}, {dst!r}")
    if shares == "split" and src.size % count:
        raise invalid(f"{op}: {src!r} cannot be cut into {count} parts")


def _check_memory(op: str, tensors: Sequence[NkiTensor], dim: int) -> None:
    """Check that all lie in HBM, none of them an input of the kernel, or all in SBUF."""
    memories = {tensor.storage.memory for tensor in tensors}
    if memories == {"hbm"}:
        if dim != 0:
            raise invalid(f"{op}: collective_dim must be 0 for tensors in HBM, not {dim}")
        for tensor in tensors:
            if tensor.storage.kind == "input":
                raise invalid(
                    f"{op}: {tensor!r} is an input; copy it to a tensor of the kernel's own, as the device needs it"
                )
        return
    if memories != {"sbuf"} or op not in _ON_CHIP:
        where = "all in HBM or all in SBUF" if op in _ON_CHIP else "in HBM"
        raise invalid(f"{op}: tensors must be {where}: {', '.join(map(repr, tensors))}")
    if dim not in _ON_CHIP[op]:
        raise invalid(
            f"{op}: collective_dim must be {' or '.join(map(str, _ON_CHIP[op]))} for tensors in SBUF, not {dim}"
        )
    if len(tensors) > 2 and not op.startswith("collective_permute"):
        raise invalid(f"{op}: several tensors in one collective must be in HBM")


def tensors_of(op: str, key: str, given: Any) -> list[NkiTensor]:
    """Return the tensors in the list that the operand `key` of a collective must be. Raises NkiValidationError."""
    if not isinstance(given, (list, tuple)) or not given:
        raise invalid(f"{op}: {key} must be a list of tensors, not {given!r}")
    return [check.tensor(op, key, tensor) for tensor in given]


def _channels(op: str, by_channel: Any, channel_ids: Any) -> list[NkiTensor]:
    """Return the one tensor of each channel."""
    if len(by_channel) != len(channel_ids):
        raise invalid(f"{op}: {len(by_channel)} lists of tensors for {len(channel_ids)} channels")
    for tensors in by_channel:
        if len(tensors_of(op, "each channel", tensors)) != 1:
            raise invalid(f"{op}: each channel holds one tensor")
    return [tensors[0] for tensors in by_channel]


def _rings(pairs: Any) -> list[list[int]]:
    """Return the rings that (source, target) pairs form, each from its smallest rank on."""
    op = "collective_permute"
    try:
        target = {int(source): int(to) for source, to in pairs}
    except (TypeError, ValueError):
        raise invalid(f"{op}: source_target_pairs must be pairs of ranks, not {pairs!r}") from None
    if not target or len(target) < len(pairs) or set(target) != set(target.values()):
        raise invalid(f"{op}: {pairs!r} must form rings: each rank sends once and receives once")
    rings: list[list[int]] = []
    while target:
        ring = [min(target)]
        while (following := target.pop(ring[-1])) != ring[0]:
            ring.append(following)
        rings.append(ring)
    return rings
