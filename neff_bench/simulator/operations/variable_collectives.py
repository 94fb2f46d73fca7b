"""Computes collectives of which only the run knows how much each rank sends: `all_gather_v` and `all_to_all_v` (AWS docs, NKI 0.6 and 0.7).

The tensors are flat buffers of elements in HBM. A tensor of uint32 says what goes where: a column for each rank of the list, and these rows: elements
to send, where they begin in src, elements received, where they begin in dst. Bytes and times are those of full buffers; rows say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from neff_bench.chips import CHIPS
from neff_bench.simulator.costs.links import collective_cost
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.operations.communication import tensors_of
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.recording import check, views
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid, recorder
from neff_bench.simulator.recording.replica_group import ranks_of
from neff_bench.simulator.recording.tensor import NkiTensor

_SENT, _SENT_FROM, _RECEIVED, _RECEIVED_AT = range(4)
"""The rows."""

_SWITCHED_FROM = 4
"""The first generation of NeuronCores whose servers join the devices by a switch (AWS docs, Trn3 architecture)."""

_GATHERED_RANKS = 4
"""Ranks of a list of all_gather_v: those of one device at LNC 2 (AWS docs, nki.collectives.all_gather_v)."""


def _gather(peers: Sequence[Operands]) -> None:
    """Give every rank the same elements of a rank: those of the first column."""
    _exchange(peers, column=lambda _: 0)


def _to_all(peers: Sequence[Operands]) -> None:
    """Give each rank the elements of its own column."""
    _exchange(peers, column=lambda place: place)


def _exchange(peers: Sequence[Operands], column: Any) -> None:
    tables = [o.raw("metadata").reshape(-1, len(peers)).astype(np.int64) for o in peers]
    sent = [o.raw("src0").reshape(-1).copy() for o in peers]
    for place, o in enumerate(peers):
        counts = np.array([table[_SENT, column(place)] for table in tables])
        for source, (table, values) in enumerate(zip(tables, sent, strict=True)):
            begin = int(table[_SENT_FROM, column(place)])
            if begin + counts[source] > values.size:
                o.refuse(
                    f"rank {source} of the list sends elements {begin} to {begin + counts[source]} of {values.size}"
                )
            _place(o, tables[place], source, len(peers), values[begin : begin + counts[source]])
        if "received" in o.instruction.writes:
            o.write_bits("received", counts.astype(np.uint32))


def _place(o: Operands, table: np.ndarray, source: int, ranks: int, values: np.ndarray) -> None:
    """Write what a rank of the list sent to its place in dst; the rest of dst stays as it was."""
    whole = o.access("dst0")
    slot = whole.elements // ranks
    explicit = o.attributes["explicit"]
    begin, room = (
        (int(table[_RECEIVED_AT, source]), whole.elements) if explicit else (slot * source, slot * (source + 1))
    )
    if begin + values.size > room:
        o.refuse(
            f"{values.size} elements of rank {source} of the list do not fit at {begin} of dst, which has room to {room}"
        )
    if values.size:
        part = msgspec.structs.replace(whole, offset=whole.offset + begin, pattern=((1, values.size),))
        o.memory.write(part, values)


@operation(execute=None, across=_gather, cost=collective_cost, opcode="WRITE", offered=False)
def all_gather_v(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    metadata_tensor: Any,
    recv_counts_known: bool = False,
    has_rdispls: bool = False,
    priority: int | None = None,
    name: str | None = None,
) -> NkiInstruction:
    """Gather the chunks of all ranks into the dst of every rank, each at the beginning of its rank's part of dst."""
    op, groups = "all_gather_v", ranks_of("all_gather_v", replica_group)
    if has_rdispls:
        raise invalid(f"{op}: has_rdispls=True is not supported by NKI 0.6 and 0.7")
    if recorder().lnc != 2 or len(groups[0]) != _GATHERED_RANKS:
        raise invalid(
            f"{op}: expected LNC 2 and lists of {_GATHERED_RANKS} ranks, not LNC {recorder().lnc} and {groups}"
        )
    return _record(op, srcs, dsts, groups, metadata_tensor, recv_counts_known, has_rdispls)


@operation(execute=None, across=_to_all, cost=collective_cost, opcode="WRITE", offered=False)
def all_to_all_v(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    metadata_tensor: Any,
    recv_counts_known: bool = False,
    has_rdispls: bool = False,
    priority: int | None = None,
    name: str | None = None,
) -> NkiInstruction:
    """Gather into the dst of rank r the chunks that all ranks have for r, each at the beginning of its rank's part of dst, or where the metadata
    say (`has_rdispls`)."""
    op, groups = "all_to_all_v", ranks_of("all_to_all_v", replica_group)
    chip, lnc = CHIPS[recorder().target], recorder().lnc
    if chip.generation < _SWITCHED_FROM:
        if has_rdispls:
            raise invalid(f"{op}: has_rdispls=True is for ranks of several servers on {chip.name}")
    else:
        each = chip.cores_per_device // lnc
        whole = all(ranks == list(range(ranks[0], ranks[0] + len(ranks))) and not ranks[0] % each for ranks in groups)
        if lnc != 2 or not whole or len(groups[0]) % each or len(groups[0]) <= each:
            raise invalid(
                f"{op}: expected LNC 2 and lists of all ranks of two devices or more on {chip.name}, not {groups}"
            )
    return _record(op, srcs, dsts, groups, metadata_tensor, recv_counts_known, has_rdispls)


def _record(
    op: str,
    srcs: Any,
    dsts: Any,
    groups: list[list[int]],
    metadata: Any,
    counts_known: bool,
    explicit: bool,
) -> NkiInstruction:
    """Check the operands and append the instruction. `explicit`: the metadata say where each chunk begins in dst."""
    srcs, dsts = tensors_of(op, "srcs", srcs), tensors_of(op, "dsts", dsts)
    if len(srcs) != 1 or len(dsts) != 1:
        raise invalid(f"{op}: srcs and dsts hold one tensor each")
    for tensor in (*srcs, *dsts):
        if tensor.storage.memory != "hbm" or not views.is_contiguous(tensor.shape, tensor.strides):
            raise invalid(f"{op}: src and dst must be contiguous tensors in HBM: {tensor!r}")
        if tensor.storage.kind == "input":
            raise invalid(
                f"{op}: {tensor!r} is an input; copy it to a tensor of the kernel's own, as the device needs it"
            )
    if srcs[0].dtype != dsts[0].dtype:
        raise invalid(f"{op}: src and dst must have one dtype: {srcs[0]!r}, {dsts[0]!r}")
    if not explicit and dsts[0].size % len(groups[0]):
        raise invalid(f"{op}: {dsts[0]!r} cannot be cut into {len(groups[0])} equal parts")
    table = check.tensor(op, "metadata_tensor", metadata)
    row = _received_row(op, table, len(groups[0]), 4 if explicit else 3)
    writes = {"dst0": dsts[0]} | ({} if counts_known else {"received": row})
    attributes = {"groups": groups, "tensors": 1, "sync": recorder().meeting(op), "explicit": explicit}
    return emit(op, "sync", writes, {"src0": srcs[0], "metadata": table}, attributes)


def _received_row(op: str, table: NkiTensor, ranks: int, rows: int) -> NkiTensor:
    """Return the row that the collective fills in, after a check of the whole tensor."""
    on_chip = table.storage.memory != "hbm"
    expected = (1, rows, ranks) if on_chip else (rows, ranks)
    if table.dtype != "uint32" or table.shape != expected or table.storage.memory == "psum":
        raise invalid(f"{op}: metadata_tensor must be uint32 {list(expected)} in HBM or SBUF, not {table!r}")
    if not views.is_contiguous(table.shape, table.strides):
        raise invalid(f"{op}: metadata_tensor must be contiguous: {table!r}")
    found: NkiTensor = table[0:1, _RECEIVED] if on_chip else table[_RECEIVED]
    return found
