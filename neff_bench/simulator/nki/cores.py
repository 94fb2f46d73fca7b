"""Says what the two recordings of a kernel have to agree on: where they meet, what they exchange, what they share."""

from __future__ import annotations

from math import prod

import msgspec

from neff_bench.simulator.errors import KernelError, NkiValidationError
from neff_bench.simulator.program import Access, Dynamic, Instruction
from neff_bench.simulator.recording.recorder import Recorder
from neff_bench.simulator.recording.tensor import NkiTensor


def check_meetings(now: Recorder) -> None:
    """Check that both cores meet at the same places, in the same order, with operands that fit each other. Raises KernelError."""
    if now.lnc == 1 or not now.meets:
        return
    first, second = ([step for step in core if "sync" in step.attributes] for core in now.cores)
    for mine, other in zip(first, second):
        if mine.op != other.op:
            other_line = now.lines.texts[other.source]
            raise KernelError(
                f"core 0 waits in {mine.op} where core 1 waits in {other.op} ({other_line})",
                now.lines.texts[mine.source],
            )
        if mine.op == "sendrecv":
            _check_exchange(now, mine, other)
            _check_exchange(now, other, mine)
    if len(first) != len(second):
        longer = max(first, second, key=len)
        step = longer[min(len(first), len(second))]
        core = 0 if longer is first else 1
        raise KernelError(f"only core {core} reaches this {step.op}", now.lines.texts[step.source])


def _check_exchange(now: Recorder, sender: Instruction, receiver: Instruction) -> None:
    src, dst = sender.reads["src"], receiver.writes["dst"]
    if src.shape[0] != dst.shape[0] or prod(src.shape) != prod(dst.shape) or src.dtype != dst.dtype:
        raise NkiValidationError(
            f"sendrecv: {list(src.shape)} {src.dtype} is sent where the other core receives {list(dst.shape)} {dst.dtype}",
            now.lines.texts[sender.source],
        )


def share_by_use(now: Recorder, results: list[list[NkiTensor]]) -> None:
    """Make one tensor of each core's own HBM tensor that both return, or that both name in a core_barrier: kernels use `nl.hbm` so."""
    if now.lnc == 1:
        return
    pairs = [
        (first.storage.index, second.storage.index)
        for first, second in zip(results[0], results[1])
        if first.storage is not second.storage and first.shape == second.shape and not first.on_chip
    ]
    first_barriers, second_barriers = (
        [step.reads["data"].buffer for step in core if step.op == "core_barrier" and step.reads] if now.meets else []
        for core in now.cores
    )
    pairs += [
        (first, second)
        for first, second in zip(first_barriers, second_barriers)
        if first != second and now.storages[first].memory == "hbm" == now.storages[second].memory
    ]
    renamed = {second: first for first, second in pairs if now.storages[first].shape == now.storages[second].shape}
    if not renamed:
        return
    now.cores[1] = [_rename(instruction, renamed) for instruction in now.cores[1]]
    for first in renamed.values():
        now.storages[first].core = None
    for tensor in results[1]:
        if tensor.storage.index in renamed:
            tensor.storage = now.storages[renamed[tensor.storage.index]]


def share_collectives(now: Recorder) -> None:
    """Let each core move half of a collective whose tensors in HBM both cores name: it is one of their rank."""
    if now.lnc == 1 or not now.meets:
        return
    places = [[at for at, step in enumerate(core) if "tensors" in step.attributes] for core in now.cores]
    for first, second in zip(*places):
        pair = now.cores[0][first], now.cores[1][second]
        same = (pair[0].op, pair[0].reads, pair[0].writes) == (pair[1].op, pair[1].reads, pair[1].writes)
        if not same:
            continue
        for half, (at, step) in enumerate(zip((first, second), pair, strict=True)):
            if not isinstance(now.cores[half], list):
                now.cores[half] = list(now.cores[half])
            now.cores[half][at] = msgspec.structs.replace(step, attributes={**step.attributes, "half": half})  # type: ignore[index]


def _rename(instruction: Instruction, renamed: dict[int, int]) -> Instruction:
    return msgspec.structs.replace(
        instruction,
        writes={key: _rename_access(operand, renamed) for key, operand in instruction.writes.items()},
        reads={key: _rename_access(operand, renamed) for key, operand in instruction.reads.items()},
    )


def _rename_access(operand: Access, renamed: dict[int, int]) -> Access:
    if operand.buffer not in renamed and not operand.dynamic:
        return operand
    dynamic = tuple(Dynamic(part.step, _rename_access(part.index, renamed)) for part in operand.dynamic)
    return msgspec.structs.replace(operand, buffer=renamed.get(operand.buffer, operand.buffer), dynamic=dynamic)
