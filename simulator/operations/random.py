"""Random numbers (AWS docs, nki.isa.rng, dropout, set_rng_seed, rand_set_state, rand_get_state, rand2).

The engines' generators are not published: what depends on their sequence is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neff_bench.chips import chip_for, names_from
from neff_bench.simulator.costs.engines import engine_work
from neff_bench.simulator.dtypes import (
    INTEGERS,
)
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import engine as engine_enum
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid, recorder
from neff_bench.simulator.recording.tensor import NkiTensor, access


@operation(execute=None, cost=engine_work(), opcode="RNG")
def rng(dst: NkiTensor, engine: Any = engine_enum.vector, name: str | None = None) -> NkiInstruction:
    """`dst` = random bits, an integer tile."""
    check.on_chip("rng", dst=dst)
    if dst.dtype not in INTEGERS:
        raise invalid(f"rng: dst must be an integer tile: {dst!r}")
    chosen = check.chosen_engine("rng", engine, ("vector", "gpsimd"), "vector")
    check.no_psum_on_gpsimd("rng", chosen, dst)
    return emit("rng", chosen, {"dst": access(dst)}, {}, {})


@operation(execute=None, cost=engine_work(), opcode="RNG")
def rand2(dst: NkiTensor, min: Any, max: Any, name: str | None = None) -> NkiInstruction:
    """`dst` = uniform random numbers in [min, max]; on Vector of NeuronCore-v4."""
    if chip_for(recorder().target).generation < 4:
        raise invalid(f"rand2: only on {names_from(generation=4)}, not on {recorder().target}")
    check.on_chip("rand2", dst=dst)
    reads, attributes = {}, dict[str, Any]()  # type: ignore[var-annotated]
    check.operand("rand2", "min", min, dst.shape[0], reads, attributes)
    check.operand("rand2", "max", max, dst.shape[0], reads, attributes)
    return emit("rand2", "vector", {"dst": access(dst)}, reads, attributes)


def _dropout(o: Operands) -> None:
    """Zeros with probability `prob`; modelled where that is certain: 0 keeps all, 1 drops all."""
    data = o.raw("data")
    probability = np.asarray(o.per_partition("prob", data), np.float32)
    if not np.isin(probability, (0, 1)).all():
        o.refuse("the engine's random sequence is not published; only prob 0 and 1 are modelled")
    dropped = np.broadcast_to(probability == 1, data.shape)
    word = f"u{data.dtype.itemsize}"
    o.write_bits("dst", np.where(dropped, np.zeros((), word), data.view(word)).view(data.dtype))


@operation(execute=_dropout, cost=engine_work(), opcode="RNG")
def dropout(dst: NkiTensor, data: NkiTensor, prob: Any, name: str | None = None) -> NkiInstruction:
    """`dst` = `data` with elements replaced by zero with probability `prob`; on Vector."""
    check.on_chip("dropout", dst=dst, data=data)
    check.same_tile("dropout", "data", data, dst)
    if dst.dtype != data.dtype:
        raise invalid(f"dropout: dst must have the dtype of data: {dst!r}, {data!r}")
    reads, attributes = {"data": access(data)}, dict[str, Any]()
    check.operand("dropout", "prob", prob, data.shape[0], reads, attributes)
    return emit("dropout", "vector", {"dst": access(dst)}, reads, attributes)


def _set_rng_seed(o: Operands) -> None:
    o.registers.random["seed"] = o.raw("src_seeds").copy()


@operation(execute=_set_rng_seed, cost=engine_work(), opcode="RNG")
def set_rng_seed(src_seeds: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Seed the generator of Vector with the one 32-bit element of `src_seeds`."""
    check.on_chip("set_rng_seed", src_seeds=src_seeds)
    if src_seeds.size != 1 or src_seeds.itemsize != 4:
        raise invalid(f"set_rng_seed: src_seeds must be one 32-bit element: {src_seeds!r}")
    return emit("set_rng_seed", "vector", {}, {"src_seeds": access(src_seeds)}, {})


def _rand_set_state(o: Operands) -> None:
    o.registers.random[o.engine] = o.raw("src_seeds").copy()


@operation(execute=_rand_set_state, cost=engine_work(), opcode="RNG")
def rand_set_state(src_seeds: NkiTensor, engine: Any = engine_enum.gpsimd, name: str | None = None) -> NkiInstruction:
    """Set the generator's state, 6 (GpSimd) or 24 (Vector) uint32 for each lane."""
    check.on_chip("rand_set_state", src_seeds=src_seeds)
    chosen = check.chosen_engine("rand_set_state", engine, ("gpsimd", "vector"), "gpsimd")
    _check_state("rand_set_state", src_seeds, chosen)
    return emit("rand_set_state", chosen, {}, {"src_seeds": access(src_seeds)}, {})


def _rand_get_state(o: Operands) -> None:
    """The state that was set: no modelled instruction advances it."""
    state = o.registers.random.get(o.engine)
    if state is None:
        o.refuse(f"the {o.engine} generator was never seeded")
    o.write_bits("dst", state)


@operation(execute=_rand_get_state, cost=engine_work(), opcode="RNG")
def rand_get_state(dst: NkiTensor, engine: Any = engine_enum.gpsimd, name: str | None = None) -> NkiInstruction:
    """Read the generator's state, 6 (GpSimd) or 24 (Vector) uint32 for each lane."""
    check.on_chip("rand_get_state", dst=dst)
    chosen = check.chosen_engine("rand_get_state", engine, ("gpsimd", "vector"), "gpsimd")
    _check_state("rand_get_state", dst, chosen)
    return emit("rand_get_state", chosen, {"dst": access(dst)}, {}, {})


def _check_state(op: str, state: NkiTensor, engine: str) -> None:
    wanted = 6 if engine == "gpsimd" else 24
    if state.dtype != "uint32" or check.free(state) != wanted:
        raise invalid(f"{op}: the state is {wanted} uint32 in each partition on {engine}: {state!r}")
