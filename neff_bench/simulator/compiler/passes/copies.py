"""Copies that AWS's compiler leaves out, also of kernels that skip its middle end: their readers read what would be copied.

Source, instruction by instruction (NTFF beside the kernel of the same commit):
- deepashreeKedia/cs149stanfordasst4 @8893957, part2_conv_*: a tile of SBUF that is a copy of neighbouring columns of another is left out
  (`lhs_tile`), one of columns with gaps is not (`weight_tile`, `input_tile`). A copy from PSUM that one `tensor_tensor` reads is left out.
- chengli2003/asst4-trainium2 @00f68f3, part2/conv2d_4_*: of a copy from PSUM that one other copy reads, one is left (`transposed_tile`).
- KevGomes1403/nki-moe-megakernel @f1fe87a, current dialect, profile_attn_v6_exec_2: 76 of 248 copies are missing, those from PSUM
  which `tensor_tensor`, `tensor_scalar` and `tensor_reduce` alone read. There stay those that the PE reads, those that several copies read, and
  those that an instruction reads twice, since only one of its operands may lie in PSUM.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import msgspec

from neff_bench.simulator.compiler.passes.loads import fills
from neff_bench.simulator.compiler.program.rectangles import box_of, overlap
from neff_bench.simulator.compiler.program.uses import Uses, uses_of
from neff_bench.simulator.costs.engine_work import POINTERS
from neff_bench.simulator.program import Access, Buffer, Instruction

_READ_PSUM = frozenset({"tensor_tensor", "tensor_scalar", "tensor_reduce", "activation"})
"""What reads PSUM in place of a copy in these traces."""


def without_needless_copies(
    buffers: Sequence[Buffer], instructions: Sequence[Instruction], from_sbuf: bool = True
) -> list[Instruction]:
    """The instructions of one core without such copies; every result stays what it was. `from_sbuf`: also those of tiles in SBUF."""
    copies = [step for step in instructions if step.op == "tensor_copy" and _may_go(buffers, step, from_sbuf)]
    if not copies:
        return list(instructions)
    uses = uses_of(
        instructions, {access.buffer for step in copies for access in (step.reads["src"], step.writes["dst"])}
    )
    steps = list(instructions)
    gone = set()
    for index, step in enumerate(instructions):
        if step.op != "tensor_copy" or not (
            _may_go(buffers, step, from_sbuf) and _whole_tile(buffers, uses, step, index)
        ):
            continue
        source = steps[index].reads["src"]
        memory = buffers[source.buffer].memory
        readers = uses.readers[step.writes["dst"].buffer]
        moved = [_reading_source(buffers, steps[at], step.writes["dst"], source) for at in readers]
        if not _lasts(buffers, instructions, uses, index, source, max(readers)):
            continue
        alone = len(readers) == 1
        if all(one is not None and (memory == "sbuf" or _may_read_psum(buffers, one, alone)) for one in moved):
            gone.add(index)
            for at, one in zip(readers, moved, strict=True):
                if one is not None:
                    steps[at] = one
            uses.readers[source.buffer] = sorted({*uses.readers[source.buffer], *readers} - {index})
    return [step for index, step in enumerate(steps) if index not in gone]


def _may_go(buffers: Sequence[Buffer], step: Instruction, from_sbuf: bool) -> bool:
    """Whether a `tensor_copy` names no engine of its own and goes to SBUF, between tiles that the compiler places."""
    if step.attributes:
        return False
    held, kept = buffers[step.reads["src"].buffer], buffers[step.writes["dst"].buffer]
    if kept.memory != "sbuf" or kept.kind != "internal" or (held.address, kept.address) != (None, None):
        return False
    return held.memory == "psum" or (from_sbuf and held.memory == "sbuf")


def _whole_tile(buffers: Sequence[Buffer], uses: Uses, step: Instruction, index: int) -> bool:
    """Whether a copy fills a tile of SBUF that nothing else writes, with neighbouring columns of the same dtype and the same partitions."""
    source, to = step.reads["src"], step.writes["dst"]
    held = buffers[source.buffer]
    if source.dtype != to.dtype or held.dtype != source.dtype or {source.buffer, to.buffer} & uses.dynamic:
        return False
    readers = uses.readers[to.buffer]
    if uses.writers[to.buffer] != [index] or not readers or min(readers) < index or not fills(buffers, to):
        return False
    row = prod(held.shape[1:])
    behind = 1
    for stride, size in reversed(source.pattern[1:]):
        if size > 1 and stride != behind:
            return False
        behind *= size
    return source.offset < row and source.pattern[0] == (row, to.pattern[0][1]) and behind == to.columns


def _lasts(
    buffers: Sequence[Buffer], steps: Sequence[Instruction], uses: Uses, copy: int, source: Access, last: int
) -> bool:
    """Whether the source of a copy stays as it is until the last reader of the copy has read."""
    mine = box_of(source, buffers[source.buffer])
    return not any(
        to.buffer == source.buffer and overlap(mine, box_of(to, buffers[to.buffer]))
        for at in uses.writers[source.buffer] if copy < at <= last
        for to in steps[at].writes.values()
    )  # fmt: skip


def _reading_source(buffers: Sequence[Buffer], step: Instruction, tile: Access, source: Access) -> Instruction | None:
    """A reader of a tile as a reader of what the tile is a copy of; None where a view of it does not say so simply."""
    rows = prod(buffers[tile.buffer].shape[1:]), prod(buffers[source.buffer].shape[1:])
    reads = {}
    for name, access in step.reads.items():
        if access.buffer == tile.buffer:
            moved = _moved(access, tile, source, rows)
            if moved is None:
                return None
            access = moved
        reads[name] = access
    return msgspec.structs.replace(step, reads=reads)


def _moved(access: Access, tile: Access, source: Access, rows: tuple[int, int]) -> Access | None:
    """The view of the source's buffer that holds what `access` sees of the tile. `rows`: elements of a partition of either."""
    there, here = rows
    stride, size = access.pattern[0]
    if access.dtype != tile.dtype or (size > 1 and stride % there):
        return None
    partition, column = divmod(access.offset, there)
    pattern = ((stride // there * here, size), *access.pattern[1:])
    return msgspec.structs.replace(
        access, buffer=source.buffer, offset=source.offset + partition * here + column, pattern=pattern
    )


def _may_read_psum(buffers: Sequence[Buffer], step: Instruction, alone: bool) -> bool:
    """Whether an instruction may have these operands: one in PSUM at most, and that one no pointer. `alone`: nothing else reads the copy."""
    if step.engine not in ("vector", "scalar"):
        return False
    if step.op == "tensor_copy" and alone:
        return True
    in_psum = [name for name, access in step.reads.items() if buffers[access.buffer].memory == "psum"]
    return step.op in _READ_PSUM and len(in_psum) == 1 and in_psum[0] not in POINTERS
