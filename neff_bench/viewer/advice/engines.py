"""Gives advice about which engine does what, and about engines that wait for each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from neff_bench.parsers.event_rows import core_name
from neff_bench.parsers.formats.opcodes import SETUP
from neff_bench.viewer.advice.facts import FEW, NS_PER_US, Advice, Facts
from neff_bench.viewer.critical_path import BOUNDS, IDLE
from neff_bench.viewer.operands import operands_in, shape_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from neff_bench.viewer.advice.facts import Rows

MOST = 0.9
_READS_FLOAT32 = re.compile(r"=(?<!\bdst=)(fp32|float32)@")
"""An operand that is read, as AWS's profiler and as the simulator says it."""
COPIES = ("COPY", "CAST")
OF_IDLE_CORE = SETUP | {*IDLE, "TENSOR_STORE"}
"""What a core runs on which a kernel does nothing."""
BUSY, HBM_BUSY = 0.9, 0.6
"""From here on an engine, or HBM, is at its roof (the guide's figures)."""
THROTTLED_MIN = 0.1
ELEMENTWISE = ("TENSOR_SCALAR", "TENSOR_TENSOR", "ACTIVATE", "COPY", "CAST", "RECIPROCAL")
JOINED = {
    "TENSOR_SCALAR": "tensor_scalar takes two operations",
    "TENSOR_TENSOR": "scalar_tensor_tensor takes a scalar and two tensors",
    "ACTIVATE": "activation takes a scale and a bias",
    "COPY": "the first can write what the copy writes",
    "CAST": "the first can write the dtype of the copy",
}
"""By the second of a pair: the instruction that does both."""
_THROTTLE = re.compile(r"throttle_activity_(\d+)_active_time_nc(\d+)_percent")


def _float32(facts: Facts) -> Iterator[Advice]:
    products = facts.indices(lambda row: row.subgroup == "Tensor" and row.opcode not in SETUP)
    wide = products[facts.of_forms(products, lambda text: _READS_FLOAT32.search(text) is not None) > 0]
    if len(wide):
        on_pe = facts.time_us(wide)
        yield Advice(
            "Give the Tensor Engine bfloat16: float32 takes several passes through it, and twice the bytes",
            f"{len(wide)} of {len(products)} instructions of the Tensor Engine read float32, {on_pe:.1f} us {facts.alone}{facts.at(wide)}",
            on_pe / 2,
            "tensor_active_us",
        )


def _transposes(facts: Facts) -> Iterator[Advice]:
    products = facts.indices(lambda row: row.opcode == "MATMUL")
    turned = facts.indices(lambda row: row.opcode == "MATMUL" and row.instruction_type == "TRANSPOSE")
    if len(turned) < FEW // 2:
        return
    after, before, _ = facts.links
    emptied = facts.indices(lambda row: row.subgroup != "Tensor" and row.opcode not in SETUP)
    emptied = emptied[np.isin(emptied, after[np.isin(before, turned)])]
    spent = facts.time_us(np.concatenate([turned, emptied]))
    yield Advice(
        "Lay the tensor out so that no tile is transposed on the Tensor Engine, swap the operands, or let the DMA transpose",
        f"{len(turned)} of {len(products)} products are transposes; with the copies that empty PSUM after them they take {spent:.1f} us {facts.alone}{facts.at(turned)}",
        spent,
        "transpose_flops",
    )


def _copies(facts: Facts) -> Iterator[Advice]:
    copies = facts.indices(lambda row: row.opcode in COPIES)
    if len(copies) < FEW:
        return
    engine, count = facts.engines(copies).most_common(1)[0]
    other = "Scalar" if engine != "Scalar" else "Vector"
    idle = 1 - facts.busy_share(other)
    if count < MOST * len(copies):
        return
    spent = facts.time_us(facts.indices(lambda row: row.opcode in COPIES and row.subgroup == engine))
    yield Advice(
        f"Share the copies between {engine} and {other}",
        f"{count} of {len(copies)} copies run on {engine}, {spent:.1f} us {facts.alone}, while {other} is idle {idle:.0%} of the time{facts.at(copies)}",
        spent * idle / 2,
        f"{engine.lower()}_active_us",
    )


def _table_loads(facts: Facts) -> Iterator[Advice]:
    loads = facts.indices(lambda row: row.opcode == "ACT_TABLE_LOAD")
    if len(loads) > 2:
        spent = facts.time_us(loads)
        yield Advice(
            "Group the activation functions: each change of the table loads it again",
            f"{len(loads)} ACT_TABLE_LOAD, {spent:.1f} us {facts.alone}{facts.at(loads)}",
            spent * (len(loads) - 1) / len(loads),
            "scalar_active_us",
        )


def _on_gpsimd(facts: Facts) -> Iterator[Advice]:
    work = facts.indices(
        lambda row: row.subgroup == "GpSimd" and row.opcode not in SETUP and not row.opcode.startswith("DMA_")
    )
    if len(work):
        spent = facts.time_us(work)
        yield Advice(
            "Move work from GpSimd to Vector or Scalar, which are several times as fast",
            f"{len(work)} instructions on GpSimd, {spent:.1f} us {facts.alone}{facts.at(work)}",
            spent / 2,
            "gpsimd_active_us",
        )


def _handoffs(facts: Facts) -> Iterator[Advice]:
    """Yield the advice to pipeline: the engines of the path take as long as the busiest of them."""
    steps = [step for step in facts.path if not step.for_packets and step.spent_ns[0][0] != BOUNDS["issue"]]
    changes: Counter[str] = Counter()
    engines = [facts.kind(step.index).subgroup for step in steps]
    pairs = Counter(
        both for both, (one, other) in zip(pairwise(engines), pairwise(steps)) if one.end_ns == other.begin_ns
    )
    for (one, other), count in pairs.items():
        if one != other:
            changes[" and ".join(sorted((one, other)))] += count
    if changes.total() < FEW:
        return
    core = facts.kind(steps[-1].index).subgraph
    busy, engine = max((time, engine) for (where, engine), time in facts.busy_us.items() if where == core)
    on_path = sum(step.end_ns - step.begin_ns for step in steps) / NS_PER_US
    yield Advice(
        "Let the engines work on different tiles at the same time: a buffer for each engine, the next tile before this one is done",
        f"the critical path goes from one engine to another {changes.total()} times, mostly between {changes.most_common(1)[0][0]}: {on_path:.1f} us, of which {engine} alone needs {busy:.1f} us",
        on_path - busy,
        f"{engine.lower()}_active_us",
    )


def _throttled(facts: Facts) -> Iterator[Advice]:
    """Yield what keys of AWS's summary say: the part of the time in which a limit on the Tensor Engine was active, and the limit."""
    for key in facts.timeline.summary:
        found = _THROTTLE.fullmatch(key)
        active = facts.number(key) or 0.0
        limit = facts.number(f"throttle_activity_{found[1]}_avg_util_limit_nc{found[2]}_percent") if found else None
        if found is None or limit is None or limit >= 1 or active < THROTTLED_MIN:
            continue
        spent = facts.time_us(facts.indices(lambda row: row.subgroup == "Tensor" and row.opcode not in SETUP))
        yield Advice(
            "Keep the Tensor Engine busy: it runs at full clock only after it was busy for some microseconds, without gaps between bursts",
            f"core {found[2]}: {active:.0%} of the time the Tensor Engine may do no more than {limit:.0%} of its peak",
            spent * (1 - limit),
            key,
        )


def _chains(facts: Facts) -> Iterator[Advice]:
    """Yield advice on elementwise instructions of which one reads only what the other wrote, and no other does."""
    before, after = facts.flows.T
    once = np.bincount(before, minlength=len(facts.rows)) == 1
    elementwise = np.array([kind.opcode in ELEMENTWISE for kind in facts.kinds.values], bool)[facts.kinds.codes]
    pairs = facts.flows[once[before] & elementwise[before] & elementwise[after]]
    pairs = pairs[_joins(facts, *pairs.T)].tolist()
    first = {one: other for one, other in pairs if _continues(facts, one, other)}
    for opcode, instruction in JOINED.items():
        group = [one for one, other in first.items() if facts.kind(other).opcode == opcode]
        if len(group) < FEW // 2:
            continue
        kinds = Counter(f"{facts.kind(one).opcode} then {opcode}" for one in group)
        spent = facts.time_us(group)
        yield Advice(
            f"Join elementwise instructions on one tile: {instruction}",
            f"{len(group)} pairs, mostly {kinds.most_common(1)[0][0]}, where only the second reads what the first writes; the first instructions of the pairs take {spent:.1f} us {facts.alone}{facts.at(group)}",
            spent,
            "vector_active_us",
        )


def _joins(facts: Facts, before: Rows, after: Rows) -> NDArray[np.bool_]:
    """Say of each pair whether one instruction may do what the two do. It is asked once for all pairs of the same kinds and forms."""
    kinds, forms = facts.kinds, facts.forms
    columns = [one.codes[rows].astype(np.int64) for rows in (before, after) for one in (kinds, forms)]
    _, first, same = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
    said = [
        _are_joined(kinds.values[one].opcode, kinds.values[other].opcode, forms.values[read], forms.values[written])
        for one, read, other, written in zip(*(column[first].tolist() for column in columns))
    ]
    return np.array(said, bool)[same]


def _are_joined(first: str, second: str, before: str, after: str) -> bool:
    """Say whether one instruction does what two do, and takes less time: a function comes last, and there are two operations at most. Vector does
    two tensors and a scalar at its full rate only, which two instructions on two bytes are faster than."""
    if first in COPIES or second in COPIES:
        return True
    read = [one for one in operands_in(before) if one.name != "dst"]
    by_row = first == "TENSOR_TENSOR" and any(one.step == 0 or one.free == 1 for one in read)
    if not (by_row or first == "TENSOR_SCALAR") or any(" op1=" in text for text in (before, after)):
        return False
    if second == "TENSOR_TENSOR":
        return shape_of(operands_in(after)).is_wide
    return second in ("TENSOR_SCALAR", "ACTIVATE")


def _sums(facts: Facts) -> Iterator[Advice]:
    """Yield advice on sums over a row of what a function returned, or of squares."""
    into_sums = np.isin(facts.flows[:, 1], facts.indices(lambda row: row.opcode == "TENSOR_REDUCE"))
    sums = [
        after
        for before, after in facts.flows[into_sums].tolist()
        if _is_function(facts, before) and _sums_rows(facts, after) and _continues(facts, before, after)
    ]
    if sums:
        spent = facts.time_us(sums)
        yield Advice(
            "Sum while the function is computed: nisa.activation_reduce(op=..., reduce_op=nl.add, reduce_res=...), with op=nl.square for squares",
            f"{len(sums)} TENSOR_REDUCE add up what an activation or a square wrote, {spent:.1f} us {facts.alone}{facts.at(sums)}",
            spent,
            "vector_active_us",
        )


def _is_function(facts: Facts, index: int) -> bool:
    opcode, text = facts.kind(index).opcode, facts.text(index)
    read = [one.place for one in facts.operands(index) if one.name != "dst"]
    is_square = opcode == "TENSOR_TENSOR" and " op=multiply" in text and len(read) == 2 and read[0] == read[1]
    return is_square or (opcode == "ACTIVATE" and " reduce_res=" not in text)


def _sums_rows(facts: Facts, index: int) -> bool:
    written = [one.free for one in facts.operands(index) if one.name == "dst"]
    return " op=add" in facts.text(index) and written == [1]


def _continues(facts: Facts, before: int, after: int) -> bool:
    """Return whether an instruction reads the whole result of another. What empties PSUM stays."""
    text, read = facts.text(before), facts.text(after)
    place = next((one.place for one in operands_in(text, ("dst=",))), "")
    return (
        place in read
        and any(one.place == place for one in operands_in(read) if one.name != "dst")
        and all(one.memory == "sbuf" for one in operands_in(text))
    )


def _idle_core(facts: Facts) -> Iterator[Advice]:
    """Yield advice on a core on which a kernel does nothing. What its help would save is not known: the cores share HBM."""
    kinds = facts.kinds
    counts = np.bincount(kinds.codes[facts.of_kernel], minlength=len(kinds.values)).tolist()
    work = Counter[str]()
    for kind, count in zip(kinds.values, counts):
        work[kind.subgraph] += 0 if kind.opcode in OF_IDLE_CORE else count
    busy = [core_name(core) for core, count in sorted(work.items()) if count]
    for core, count in sorted(work.items()):
        if busy and not count:
            yield Advice(
                f"{core_name(core).capitalize()} does nothing: divide the work by nl.program_id(0) in a launch with the grid [2], or compile for LNC 1",
                f"all {work.total()} instructions of the kernel run on {' and '.join(busy)}",
                None,
                "lnc",
            )


def _at_its_roof(facts: Facts) -> Iterator[Advice]:
    for (core, engine), time in facts.busy_us.items():
        if facts.span_us and time >= BUSY * facts.span_us:
            yield Advice(
                f"{engine} is at its roof: only less work for it helps",
                f"{engine} of {core_name(core) or 'the core'} works {time / facts.span_us:.0%} of the kernel's {facts.span_us:.1f} us",
                None,
                f"{engine.lower()}_active_us",
            )
    used = facts.number("mbu_estimated_percent")
    if used is not None and used >= HBM_BUSY:
        yield Advice(
            "HBM is at its roof: only fewer bytes help",
            f"{used:.0%} of the bandwidth of HBM is used",
            None,
            "mbu_estimated_percent",
        )


WIDTH_RULES: Sequence[Callable[[Facts], Iterator[Advice]]] = (_float32,)
"""They leave DMAs half the bytes too: the DMAs do not stay as they are."""
RULES: Sequence[Callable[[Facts], Iterator[Advice]]] = (
    _transposes,
    _copies,
    _table_loads,
    _on_gpsimd,
    _handoffs,
    _throttled,
    _chains,
    _sums,
    _idle_core,
    _at_its_roof,
)
