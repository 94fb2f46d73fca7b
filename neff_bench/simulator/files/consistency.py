"""Says whether a program that came out of a file makes sense: every index has a target, every access stays in its buffer."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from neff_bench.simulator.numpy_dtypes import SIZE_BYTES
from neff_bench.simulator.program import PROGRAM_VERSION, Access, Buffer, Program

BUFFER_BYTES_MAX = 1 << 40
LNCS = (1, 2)


def inconsistency(program: Program) -> str | None:
    """Return what is wrong with the program, in one line; None when nothing is."""
    return next(_wrong(program), None)


def _wrong(program: Program) -> Iterator[str]:
    if program.version != PROGRAM_VERSION:
        yield f"a program of version {program.version}, expected {PROGRAM_VERSION}"
    if program.lnc not in LNCS or len(program.cores) != program.lnc:
        yield f"LNC {program.lnc} with instructions for {len(program.cores)} cores"
    if program.model_flops is not None and program.model_flops < 0:
        yield f"{program.model_flops} model FLOPs"
    for number, buffer in enumerate(program.buffers):
        if wrong := _wrong_buffer(buffer, program):
            yield f"buffer {number} ({buffer.name}): {wrong}"
    for kind, numbers in (("input", program.inputs), ("output", program.outputs)):
        for number in numbers:
            if not 0 <= number < len(program.buffers):
                yield f"{kind} {number} of {len(program.buffers)} buffers"
    sizes = [prod(buffer.shape) * SIZE_BYTES.get(buffer.dtype, 0) for buffer in program.buffers]
    for core, instructions in enumerate(program.cores):
        for number, instruction in enumerate(instructions):
            if not 0 <= instruction.source < len(program.sources):
                yield f"instruction {number} of core {core} names source line {instruction.source}"
            for name, access in (*instruction.writes.items(), *instruction.reads.items()):
                if wrong := _wrong_access(access, sizes):
                    yield f"instruction {number} of core {core} ({instruction.op}): {name}: {wrong}"


def _wrong_buffer(buffer: Buffer, program: Program) -> str | None:
    item_bytes = SIZE_BYTES.get(buffer.dtype)
    if item_bytes is None:
        return f"unknown dtype {buffer.dtype!r}"
    if any(size < 0 for size in buffer.shape) or prod(buffer.shape) * item_bytes > BUFFER_BYTES_MAX:
        return f"a shape of {buffer.shape}"
    if buffer.kind == "constant" and len(buffer.data) != prod(buffer.shape) * item_bytes:
        return f"{len(buffer.data)} bytes of data, expected {prod(buffer.shape) * item_bytes}"
    if buffer.core is not None and not 0 <= buffer.core < program.lnc:
        return f"on core {buffer.core} of {program.lnc}"
    if not 0 <= buffer.source < len(program.sources):
        return f"names source line {buffer.source} of {len(program.sources)}"
    if (buffer.address or 0) < 0 or buffer.partition < 0:
        return f"at address {buffer.address} of partition {buffer.partition}"
    return None


def _wrong_access(access: Access, sizes: list[int]) -> str | None:
    if not 0 <= access.buffer < len(sizes):
        return f"buffer {access.buffer} of {len(sizes)}"
    item_bytes = SIZE_BYTES.get(access.dtype)
    if item_bytes is None:
        return f"unknown dtype {access.dtype!r}"
    first = last = access.offset
    for step, size in access.pattern:
        if size < 0:
            return f"a pattern of {size} elements"
        if size == 0:
            return None
        if step < 0:
            first += step * (size - 1)
        else:
            last += step * (size - 1)
    for dynamic in access.dynamic:
        if wrong := _wrong_access(dynamic.index, sizes):
            return f"index: {wrong}"
    if first < 0 or (last + 1) * item_bytes > sizes[access.buffer]:
        return f"elements {first} to {last} of {sizes[access.buffer] // item_bytes}"
    return None
