"""Rows of an output that a loop stores one after the other from a tile that it makes anew each time: on hardware it is one tile.

What writes the next row waits until the DMA has read the one before. Source: a trace of moe_tkg (KevGomes1403/nki-moe-megakernel @f1fe87a,
v6b): 16 times a CAST of one row of 128 elements and its store, 1,460 ns apart, each CAST behind the last packet of the store before. The tiles of
GEMM (4 KiB of each of 128 partitions) are not reused like this: SemiAnalysisAI/InferenceX @e60b2ca would take half as long again."""

from __future__ import annotations

import msgspec

from neff_bench.simulator.compiler.passes.loads import renamed
from neff_bench.simulator.compiler.program.lives import lives
from neff_bench.simulator.costs.transfers import MAX_PACKET_BYTES
from neff_bench.simulator.program import Instruction, Program


def rows_in_one_tile(program: Program) -> Program:
    """The program with one tile for all rows that a line of the kernel made for stores, as far as each is done with before the next. Rows that go
    elsewhere, as to the other core, are not: five blocks of attention of that repository would be 36 % too slow."""
    cores = []
    for core, steps in enumerate(program.cores):
        stored = {step.reads["src"].buffer for step in steps if step.op == "dma_copy" and _is_output(program, step)}
        tile_of = _tiles(program, core, stored)
        cores.append(tuple(renamed(step, tile_of) for step in steps) if tile_of else steps)
    return program if tuple(cores) == program.cores else msgspec.structs.replace(program, cores=tuple(cores))


def _tiles(program: Program, core: int, stored: set[int]) -> dict[int, int]:
    """By tile that another one stands in for: that other."""
    latest: dict[tuple[object, ...], tuple[int, int]] = {}
    found: dict[int, int] = {}
    rows = {number for number in stored if _is_row(program, number)}
    for number, (first, last) in lives(program, core).items() if rows else ():
        if number in rows:
            buffer = program.buffers[number]
            made = buffer.source, buffer.shape, buffer.dtype
            tile, done = latest.get(made, (number, -1))
            if tile != number and done < first:
                found[number] = tile
            latest[made] = (found.get(number, number), last)
    return found


def _is_output(program: Program, step: Instruction) -> bool:
    return program.buffers[step.writes["dst"].buffer].kind == "output"


def _is_row(program: Program, number: int) -> bool:
    """Whether it is a tile of one partition, no larger than a packet, that the compiler places."""
    buffer = program.buffers[number]
    is_open = buffer.memory == "sbuf" and buffer.kind == "internal" and buffer.address is None
    return is_open and buffer.shape[0] == 1 and buffer.size_bytes <= MAX_PACKET_BYTES
