"""What crosses cores, and registers (AWS docs, nki.isa.sendrecv, core_barrier, register_*)."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.program import Access
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.creation import allocate, whole
from neff_bench.simulator.recording.enums import dma_engine as dma_engine_enum
from neff_bench.simulator.recording.enums import engine as engine_enum
from neff_bench.simulator.recording.enums import word
from neff_bench.simulator.recording.recorder import NkiInstruction, Recorder, invalid, recorder
from neff_bench.simulator.recording.regions import MemoryRegion
from neff_bench.simulator.recording.tensor import NkiTensor, VirtualRegister, access


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

    That both sides have one shape is checked when both cores are recorded: their shares may differ.

    `use_gpsimd_dma` is how dialects before 0.3 spell `dma_engine`.
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
        "sync": _next(now, "sendrecv"),
    }
    by_gpsimd = use_gpsimd_dma or word(dma_engine_enum, dma_engine) == "gpsimd_dma"
    if by_gpsimd:
        attributes["dma_engine"] = "gpsimd_dma"
    engine = "gpsimd" if by_gpsimd else "sync"
    return now.emit("sendrecv", engine, {"dst": access(dst)}, {"src": access(src)}, attributes)  # type: ignore[arg-type]


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
    operand: dict[str, Access] = {"data": access(data)} if isinstance(data, NkiTensor) else {}
    chosen = check.chosen_engine("core_barrier", engine, ("gpsimd", "vector", "scalar", "tensor", "sync"), "gpsimd")
    return now.emit(
        "core_barrier", chosen, operand, dict(operand), {"cores": ranks, "sync": _next(now, "core_barrier")}
    )


def _next(now: Recorder, what: str) -> int:
    count = now.sync_count.get(what, 0)
    now.sync_count[what] = count + 1
    return count


def register_alloc(x: int | None = None) -> VirtualRegister:
    """A register, kept in the program as an SBUF buffer [1, 1] int32 named "register"."""
    now = recorder()
    cell = allocate(now, (1, 1), "int32", MemoryRegion.sbuf, "register", "internal", now.core, now.source())
    register = VirtualRegister(whole(cell))
    if x is not None:
        register_move(register, x)
    return register


def _register(op: str, key: str, value: Any) -> VirtualRegister:
    if not isinstance(value, VirtualRegister):
        raise invalid(f"{op}: {key} must be a register, not {value!r}")
    return value


def register_move(dst: VirtualRegister, src: Any) -> NkiInstruction:
    """`dst` = `src`, a register or a constant (attribute `src`)."""
    target = {"dst": access(_register("register_move", "dst", dst).cell)}
    if isinstance(src, VirtualRegister):
        return recorder().emit("register_move", "sync", target, {"src": access(src.cell)}, {})
    else:
        return recorder().emit("register_move", "sync", target, {}, {"src": int(src)})


def register_load(dst: VirtualRegister, src: NkiTensor) -> NkiInstruction:
    """`dst` = the one element of `src`."""
    target = {"dst": access(_register("register_load", "dst", dst).cell)}
    if check.tensor("register_load", "src", src).size != 1:
        raise invalid(f"register_load: src must hold one element: {src!r}")
    return recorder().emit("register_load", "sync", target, {"src": access(src)}, {})


def register_store(dst: NkiTensor, src: VirtualRegister) -> NkiInstruction:
    """The one element of `dst` = `src`."""
    if check.tensor("register_store", "dst", dst).size != 1:
        raise invalid(f"register_store: dst must hold one element: {dst!r}")
    cell = _register("register_store", "src", src).cell
    return recorder().emit("register_store", "sync", {"dst": access(dst)}, {"src": access(cell)}, {})
