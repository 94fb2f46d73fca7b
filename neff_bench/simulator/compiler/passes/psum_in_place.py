"""PSUM read where it lies: copies to SBUF that AWS's compiler leaves out.

A copy from PSUM to SBUF that only Vector and Scalar read is left out: they read PSUM. At most half of the banks are used like this, so a
loop is taken in blocks of as many rounds; of several tiles of one round it is the first ones. Source: the instructions of eight traces of
attention beside their kernels (github allenkchau/trainium-kernel-fusion @d709ddf1, profiling/artifacts; development data).

An operation of two tiles reads PSUM too, where one product wrote the one. Source: AWS's first tutorial on Mamba (aws-neuron/aws-neuron-sdk @72825d5,
general/nki/tutorials/fused_mamba.rst, trn1). Scalar copies the rows that the PE repeats there with 8192 columns, which take more than a bank,
and with 512 it does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from neff_bench.simulator.compiler.program.rectangles import box_of, overlap
from neff_bench.simulator.compiler.program.uses import Uses, uses_of
from neff_bench.simulator.program import Access, Buffer, Instruction

BANK_BYTES = 2048
BANKS_IN_PLACE = 4
"""PSUM banks, of eight, whose tiles are read in place."""

_READ_PSUM = {"tensor_reduce": ("data",), "activation": ("data",), "tensor_scalar": ("data",)}
"""Operations that read PSUM in place, and the operands that may lie there."""
_READ_PRODUCT = {**_READ_PSUM, "tensor_tensor": ("data1", "data2")}
"""Those that read a tile in place which one product wrote."""


def psum_in_place(
    buffers: Sequence[Buffer], instructions: Sequence[Instruction]
) -> tuple[list[Instruction], set[int], int]:
    """The instructions without the copies whose readers read PSUM, the indices of these readers, and the rounds of a block."""
    uses = uses_of(instructions)
    by_line: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, step in enumerate(instructions):
        if _can_be_left_out(buffers, instructions, uses, index):
            by_line[step.source][step.writes["dst"].buffer].append(index)
    gone: dict[int, list[int]] = {}
    block = BANKS_IN_PLACE
    for tiles in by_line.values():
        rounds = min(len(tiles), BANKS_IN_PLACE)
        block = min(block, rounds)
        for copies in tiles.values():
            for index in copies[: BANKS_IN_PLACE // rounds]:
                gone[index] = _readers(instructions, uses, index)
    moved: dict[int, dict[Access, Access]] = defaultdict(dict)
    for copy, found in gone.items():
        for reader in found:
            moved[reader][instructions[copy].writes["dst"]] = instructions[copy].reads["src"]
    kept = [index for index in range(len(instructions)) if index not in gone]
    steps = [_reading(instructions[index], moved.get(index)) for index in kept]
    readers = {place for place, index in enumerate(kept) if index in moved}
    return steps, readers, block


def _reading(step: Instruction, in_place: Mapping[Access, Access] | None) -> Instruction:
    """The instruction with what the copies read in the place of what they wrote."""
    if not in_place:
        return step
    reads = {name: in_place.get(access, access) for name, access in step.reads.items()}
    return msgspec.structs.replace(step, reads=reads)


def _can_be_left_out(buffers: Sequence[Buffer], steps: Sequence[Instruction], uses: Uses, index: int) -> bool:
    """Whether a copy moves a tile of one PSUM bank as it is, for readers that can read PSUM."""
    step = steps[index]
    if step.op != "tensor_copy" or step.engine != "vector" or step.attributes:
        return False
    source, to = step.reads["src"], step.writes["dst"]
    held, kept = buffers[source.buffer], buffers[to.buffer]
    if (held.memory, kept.memory, held.address, kept.address) != ("psum", "sbuf", None, None):
        return False
    if source.dtype != to.dtype or source.shape != to.shape or held.row_bytes > BANK_BYTES:
        return False
    if max(uses.writers[source.buffer], default=-1) > index or {source.buffer, to.buffer} & uses.dynamic:
        return False
    readers = _readers(steps, uses, index)
    others = [at for at in uses.readers[to.buffer] if at not in readers]
    return (
        bool(readers)
        and all(_apart(steps[at], to, kept) for at in others)
        and not any(at != index and not _apart(steps[at], to, kept) for at in uses.writers[to.buffer])
    )


def _readers(steps: Sequence[Instruction], uses: Uses, copy: int) -> list[int]:
    """The Vector and Scalar instructions that read exactly what a copy wrote."""
    to = steps[copy].writes["dst"]
    operands = _READ_PSUM if len(uses.writers[steps[copy].reads["src"].buffer]) > 1 else _READ_PRODUCT
    return [
        at
        for at in uses.readers[to.buffer]
        if at > copy and steps[at].engine in ("vector", "scalar")
        and _only(steps[at], to) in operands.get(steps[at].op, ())
    ]  # fmt: skip


def _only(step: Instruction, tile: Access) -> str:
    """The one operand that is this view; "" where there is none or another operand reads its buffer too."""
    names = [name for name, access in step.reads.items() if access.buffer == tile.buffer]
    return names[0] if len(names) == 1 and step.reads[names[0]] == tile else ""


def _apart(step: Instruction, tile: Access, buffer: Buffer) -> bool:
    """Whether no operand of the step touches the rectangle around the tile."""
    mine = box_of(tile, buffer)
    return not any(
        access.buffer == tile.buffer and overlap(mine, box_of(access, buffer))
        for access in (*step.reads.values(), *step.writes.values())
    )
