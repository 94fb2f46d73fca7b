"""Gives advice about the shapes and dtypes of what an instruction works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from neff_bench.parsers.formats.opcodes import SETUP
from neff_bench.viewer.advice.facts import FEW, NS_PER_US, PARTITIONS, Advice, Facts
from neff_bench.viewer.operands import operands_in

if TYPE_CHECKING:
    from neff_bench.viewer.advice.facts import Rows

COLUMNS_MAX, FREE_MIN = 512, 128
"""The largest moving tensor, and the free size below which the fixed cost of an instruction is more than its work (guide, Opt #7)."""
MANY, MOST = 0.2, 0.5
"""Parts of the instructions of an engine, ours: fewer are not worth another layout."""
STEP_BYTES_MAX = 16
"""Vector reads and writes SBUF at half its rate with larger steps (architecture of trn1)."""
ELEMENTWISE = ("Vector", "Scalar")
COPIES = ("COPY", "CAST")
FAST = (*COPIES, "TENSOR_SCALAR", "TENSOR_TENSOR")
"""What Vector does at twice its rate or more on 2-byte elements in SBUF (architecture of trn2)."""


def _small_products(facts: Facts) -> Iterator[Advice]:
    products = facts.indices(lambda row: row.opcode == "MATMUL" and row.instruction_type != "TRANSPOSE")
    columns = facts.of_forms(products, _moving)
    is_small = (columns > 0) & (columns < FREE_MIN)
    small, columns = products[is_small], columns[is_small]
    if facts.chip is None or len(small) < max(FEW, MANY * len(products)):
        return
    loads = facts.indices(lambda row: row.opcode == "LDWEIGHTS")
    spent = facts.time_us(np.concatenate([small, loads]))
    left = float(columns.sum()) / facts.chip.pe_clock_ghz / NS_PER_US
    mean = columns.sum() / len(small)
    engines = len({facts.kinds.values[kind].subgraph for kind in np.unique(facts.kinds.codes[small])})
    yield Advice(
        "Move more columns with each MATMUL, up to 512: make the smaller operand the stationary one's rows, or join tiles",
        f"{len(small)} of {len(products)} MATMULs move {mean:.0f} columns, {spent:.1f} us {facts.alone}, with their weights; an instruction takes the time of 64 or more{facts.at(small)}",
        spent - left / engines,
        "matmul_instruction_count",
    )


def _moving(text: str) -> int:
    """Return the columns of the moving tensor: of `moving` where the text names it, else of the source; 0 where it is not said."""
    by_name = {operand.name: operand.free for operand in operands_in(text, ("moving=", "src="))}
    return by_name.get("moving") or by_name.get("src") or 0


def _few_partitions(facts: Facts) -> Iterator[Advice]:
    work = _work(facts, *ELEMENTWISE)
    used = facts.of_shapes(work, lambda shape: shape.partitions)
    are_few = (used > 0) & (used <= PARTITIONS // 2)
    few = work[are_few]
    if len(few) < max(FEW, MOST * len(work)):
        return
    mean = float(used[are_few].sum()) / len(few)
    spent = facts.time_us(few)
    yield Advice(
        "Fill the 128 partitions: two tiles of 64 rows in one instruction cost what one does",
        f"{len(few)} of {len(work)} instructions of Vector and Scalar use {mean:.0f} partitions, {spent:.1f} us {facts.alone}{facts.at(few)}",
        spent * (1 - mean / PARTITIONS),
        "vector_active_us",
    )


def _small_free(facts: Facts) -> Iterator[Advice]:
    if facts.chip is not None:
        yield from _small_free_of("Vector", facts, facts.chip.vector_clock_ghz, facts.chip.vector_latency_ns)
        yield from _small_free_of("Scalar", facts, facts.chip.scalar_clock_ghz, facts.chip.scalar_latency_ns)


def _small_free_of(engine: str, facts: Facts, clock_ghz: float, fixed_ns: float) -> Iterator[Advice]:
    work = _work(facts, engine)
    free = facts.of_shapes(work, lambda shape: shape.free)
    is_small = (free > 0) & (free < FREE_MIN)
    small = work[is_small]
    if len(small) < max(FEW, MANY * len(work)):
        return
    spent, mean = facts.time_us(small), float(free[is_small].sum()) / len(small)
    # What is left: the work itself, and the fixed cost of instructions on 512 elements.
    each_ns = mean / clock_ghz
    left = spent * (each_ns + fixed_ns * mean / COLUMNS_MAX) / (each_ns + fixed_ns)
    yield Advice(
        f"Give {engine} more elements of each partition at once: join tiles along the free dimension",
        f"{len(small)} of {len(work)} instructions of {engine} work on {mean:.0f} elements a partition, {spent:.1f} us {facts.alone}; "
        f"{fixed_ns:.0f} ns of each are fixed, {each_ns:.0f} ns work{facts.at(small)}",
        spent - left,
        f"{engine.lower()}_active_us",
    )


def _work(facts: Facts, *engines: str) -> Rows:
    """Return the rows of these engines whose operands are known."""
    work = facts.indices(lambda row: row.subgroup in engines and row.opcode not in SETUP)
    return work[facts.of_forms(work, len) > 0]


def _large_steps(facts: Facts) -> Iterator[Advice]:
    work = _work(facts, "Vector")
    slow = work[facts.of_shapes(work, lambda shape: shape.step_bytes) > STEP_BYTES_MAX]
    if len(slow) >= FEW:
        spent = facts.time_us(slow)
        yield Advice(
            "Lay tiles out so that Vector reads neighbours: steps over 16 bytes in SBUF take twice the time",
            f"{len(slow)} of {len(work)} instructions of Vector step over more than {STEP_BYTES_MAX} bytes, {spent:.1f} us {facts.alone}{facts.at(slow)}",
            spent / 2,
            "vector_active_us",
        )


def _wide_elements(facts: Facts) -> Iterator[Advice]:
    if facts.chip is None or not facts.chip.vector_fast_modes:
        return
    fast = np.array([kind.opcode in FAST for kind in facts.kinds.values], bool)[facts.kinds.codes]
    work = _work(facts, "Vector")
    work = work[fast[work]]
    wide = work[facts.of_shapes(work, lambda shape: shape.is_wide) > 0]
    if len(wide) >= FEW:
        spent = facts.time_us(wide)
        yield Advice(
            "Keep what Vector works on in bfloat16: elements of two bytes in SBUF run at twice the rate or more",
            f"{len(wide)} of {len(work)} copies and elementwise instructions of Vector work on four bytes, all of it in SBUF, {spent:.1f} us {facts.alone}{facts.at(wide)}",
            spent / 2,
            "vector_active_us",
        )


RULES: Sequence[Callable[[Facts], Iterator[Advice]]] = (
    _small_products,
    _few_partitions,
    _small_free,
    _large_steps,
    _wide_elements,
)
