"""Random numbers (AWS docs, nki.isa.rng, dropout, set_rng_seed, rand_set_state, rand_get_state, rand2)."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.dtypes import INTEGERS
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import engine as engine_enum
from neff_bench.simulator.recording.recorder import NkiInstruction, invalid, recorder
from neff_bench.simulator.recording.tensor import NkiTensor, access


def rng(dst: NkiTensor, engine: Any = engine_enum.vector, name: str | None = None) -> NkiInstruction:
    """`dst` = random bits, an integer tile."""
    check.on_chip("rng", dst=dst)
    if dst.dtype not in INTEGERS:
        raise invalid(f"rng: dst must be an integer tile: {dst!r}")
    chosen = check.chosen_engine("rng", engine, ("vector", "gpsimd"), "vector")
    check.no_psum_on_gpsimd("rng", chosen, dst)
    return recorder().emit("rng", chosen, {"dst": access(dst)}, {}, {})


def dropout(dst: NkiTensor, data: NkiTensor, prob: Any, name: str | None = None) -> NkiInstruction:
    """`dst` = `data` with elements replaced by zero with probability `prob`; on Vector."""
    check.on_chip("dropout", dst=dst, data=data)
    check.same_tile("dropout", "data", data, dst)
    if dst.dtype != data.dtype:
        raise invalid(f"dropout: dst must have the dtype of data: {dst!r}, {data!r}")
    reads, attributes = {"data": access(data)}, dict[str, Any]()
    check.operand("dropout", "prob", prob, data.shape[0], reads, attributes)
    return recorder().emit("dropout", "vector", {"dst": access(dst)}, reads, attributes)


def set_rng_seed(src_seeds: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Seed the generator of Vector with the one 32-bit element of `src_seeds`."""
    check.on_chip("set_rng_seed", src_seeds=src_seeds)
    if src_seeds.size != 1 or src_seeds.itemsize != 4:
        raise invalid(f"set_rng_seed: src_seeds must be one 32-bit element: {src_seeds!r}")
    return recorder().emit("set_rng_seed", "vector", {}, {"src_seeds": access(src_seeds)}, {})


def rand_set_state(src_seeds: NkiTensor, engine: Any = engine_enum.gpsimd, name: str | None = None) -> NkiInstruction:
    """Set the generator's state, 6 (GpSimd) or 24 (Vector) uint32 for each lane."""
    check.on_chip("rand_set_state", src_seeds=src_seeds)
    chosen = check.chosen_engine("rand_set_state", engine, ("gpsimd", "vector"), "gpsimd")
    _check_state("rand_set_state", src_seeds, chosen)
    return recorder().emit("rand_set_state", chosen, {}, {"src_seeds": access(src_seeds)}, {})


def rand_get_state(dst: NkiTensor, engine: Any = engine_enum.gpsimd, name: str | None = None) -> NkiInstruction:
    """Read the generator's state, 6 (GpSimd) or 24 (Vector) uint32 for each lane."""
    check.on_chip("rand_get_state", dst=dst)
    chosen = check.chosen_engine("rand_get_state", engine, ("gpsimd", "vector"), "gpsimd")
    _check_state("rand_get_state", dst, chosen)
    return recorder().emit("rand_get_state", chosen, {"dst": access(dst)}, {}, {})


def _check_state(op: str, state: NkiTensor, engine: str) -> None:
    wanted = 6 if engine == "gpsimd" else 24
    if state.dtype != "uint32" or check.free(state) != wanted:
        raise invalid(f"{op}: the state is {wanted} uint32 in each partition on {engine}: {state!r}")


def rand2(dst: NkiTensor, min: Any, max: Any, name: str | None = None) -> NkiInstruction:
    """`dst` = uniform random numbers in [min, max]; on Vector of NeuronCore-v4."""
    now = recorder()
    if now.target != "trn3":
        raise invalid(f"rand2: only on trn3, not on {now.target}")
    check.on_chip("rand2", dst=dst)
    reads, attributes = {}, dict[str, Any]()  # type: ignore[var-annotated]
    check.operand("rand2", "min", min, dst.shape[0], reads, attributes)
    check.operand("rand2", "max", max, dst.shape[0], reads, attributes)
    return now.emit("rand2", "vector", {"dst": access(dst)}, reads, attributes)
