"""Lets the cores of a logical core wait for each other (AWS docs, nki.isa.sendrecv, core_barrier)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neff_bench.chips import Chip
from neff_bench.simulator.costs.steps import ALL, Lowered, Step, on_engine
from neff_bench.simulator.costs.table import ANY, row_for
from neff_bench.simulator.costs.triggers import by_dma
from neff_bench.simulator.errors import ExecutionError
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.numpy_dtypes import numpy_dtype
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.program import Instruction, Program
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import dma_engine as dma_engine_enum
from neff_bench.simulator.recording.enums import engine as engine_enum
from neff_bench.simulator.recording.enums import word
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid, recorder
from neff_bench.simulator.recording.tensor import NkiTensor


def _sendrecv(cores: Sequence[Operands]) -> None:
    """Give each core's dst the src of the core that `recv_from_rank` names."""
    received = []
    for core, o in enumerate(cores):
        rank = o.attributes.get("recv_from_rank", 1 - core)
        if not 0 <= rank < len(cores):
            raise ExecutionError(f"sendrecv from rank {rank} of {len(cores)}")
        received.append(cores[rank].raw("src").copy())
    for o, values in zip(cores, received, strict=True):
        target = o.access("dst")
        if values.shape != target.shape or values.dtype != numpy_dtype(target.dtype):
            raise ExecutionError("sendrecv operands differ")
        o.memory.write(target, values)


def _core_barrier(cores: Sequence[Operands]) -> None:
    """Do nothing: that the cores have met is all."""


def _sendrecv_cost(instruction: Instruction, program: Program, chip: Chip, opcodes: tuple[int, ...]) -> Lowered:
    return by_dma(instruction, program, chip, opcodes, meets=program.lnc > 1)


def _barrier_cost(instruction: Instruction, program: Program, chip: Chip, opcodes: tuple[int, ...]) -> Lowered:
    row = row_for(chip.generation, instruction.op, ANY)
    step = Step(opcodes[0], ALL, getattr(chip, row.interval), getattr(chip, row.latency))
    return on_engine(instruction, step, row, meets=True)


@operation(execute=None, meet=_sendrecv, cost=_sendrecv_cost, opcode="SENDRECV")
def sendrecv(
    src: NkiTensor,
    dst: NkiTensor,
    send_to_rank: int,
    recv_from_rank: int,
    pipe_id: int,
    dma_engine: Any = dma_engine_enum.dma,
    name: str | None = None,
    use_gpsimd_dma: bool = False,
) -> NkiInstruction:
    """Send `src` to `dst` of the other core and receive its `src` into the own `dst`; both in SBUF.

    Shapes are compared when both cores are recorded. `use_gpsimd_dma` is how dialects before 0.3 spell `dma_engine`.
    """
    now = recorder()
    for key, value in (("src", src), ("dst", dst)):
        if check.tensor("sendrecv", key, value).storage.memory != "sbuf":
            raise invalid(f"sendrecv: {key} must be in SBUF: {value!r}")
    if src.dtype != dst.dtype:
        raise invalid(f"sendrecv: src and dst must have one dtype: {src!r}, {dst!r}")
    for key, rank in (("send_to_rank", send_to_rank), ("recv_from_rank", recv_from_rank)):
        if rank not in range(now.lnc):
            raise invalid(f"sendrecv: {key} {rank} is not a core of this launch (lnc {now.lnc})")
    attributes: dict[str, Any] = {
        "send_to_rank": int(send_to_rank),
        "recv_from_rank": int(recv_from_rank),
        "pipe_id": int(pipe_id),
        "sync": now.meeting("sendrecv"),
    }
    by_gpsimd = use_gpsimd_dma or word(dma_engine_enum, dma_engine) == "gpsimd_dma"
    if by_gpsimd:
        attributes["dma_engine"] = "gpsimd_dma"
    engine = "gpsimd" if by_gpsimd else "sync"
    return emit("sendrecv", engine, {"dst": dst}, {"src": src}, attributes)  # type: ignore[arg-type]


@operation(execute=None, meet=_core_barrier, cost=_barrier_cost, opcode="CORE_BARRIER")
def core_barrier(
    data: Any, cores: Any, engine: Any = engine_enum.gpsimd, name: str | None = None
) -> NkiInstruction | None:
    """Wait until every core of `cores` is here. `data` is both read and written: what it protects stays on its side."""
    now = recorder()
    ranks = [cores] if isinstance(cores, int) else [int(core) for core in cores]
    if any(core not in range(now.lnc) for core in ranks):
        raise invalid(f"core_barrier: cores {cores} are not all cores of this launch (lnc {now.lnc})")
    if now.core not in ranks or len(ranks) < 2:
        return None
    operand: dict[str, NkiTensor] = {"data": data} if isinstance(data, NkiTensor) else {}
    chosen = check.chosen_engine("core_barrier", engine, ("gpsimd", "vector", "scalar", "tensor", "sync"), "gpsimd")
    return emit("core_barrier", chosen, operand, dict(operand), {"cores": ranks, "sync": now.meeting("core_barrier")})
