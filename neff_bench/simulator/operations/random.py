"""Draws random numbers (AWS docs, nki.isa.rng, dropout, set_rng_seed, rand_set_state, rand_get_state, rand2).

The engines' sequences are not published: each generator is numpy's PCG64 with the seed or state that the kernel set, 0 before, the same in every run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neff_bench.chips import chip_for, names_from
from neff_bench.simulator.costs.engine_work import engine_work
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.numpy_dtypes import INTEGERS, numpy_dtype
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import engine as engine_enum
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid, recorder
from neff_bench.simulator.recording.tensor import NkiTensor


def _generator(o: Operands) -> np.random.Generator:
    """Return the generator of the engine that runs the instruction."""
    key = f"{o.engine} generator"
    if key not in o.registers.random:
        seed = o.registers.random.get(o.engine, np.zeros(1, np.uint32))
        o.registers.random[key] = np.random.Generator(np.random.PCG64(seed.view(np.uint32).ravel().tolist()))
    made: np.random.Generator = o.registers.random[key]
    return made


def _seed(o: Operands, engine: str) -> None:
    o.registers.random[engine] = o.raw("src_seeds").copy()
    o.registers.random.pop(f"{engine} generator", None)


def _rng(o: Operands) -> None:
    """Random bits in every element."""
    dtype = numpy_dtype(o.dtype("dst"))
    size = int(np.prod(o.shape("dst")))
    o.write_bits("dst", np.frombuffer(_generator(o).bytes(size * dtype.itemsize), dtype).reshape(o.shape("dst")))


@operation(execute=_rng, cost=engine_work(), opcode="RNG")
def rng(dst: NkiTensor, engine: Any = engine_enum.vector, name: str | None = None) -> NkiInstruction:
    """Compute `dst` = random bits, an integer tile."""
    check.on_chip("rng", dst=dst)
    if dst.dtype not in INTEGERS:
        raise invalid(f"rng: dst must be an integer tile: {dst!r}")
    chosen = check.chosen_engine("rng", engine, ("vector", "gpsimd"), "vector")
    check.no_psum_on_gpsimd("rng", chosen, dst)
    return emit("rng", chosen, {"dst": dst}, {}, {})


def _rand2(o: Operands) -> None:
    """Uniform float32 between `min` and `max`."""
    chance = _generator(o).random(o.shape("dst"), np.float32)
    least, most = o.per_partition("min", chance), o.per_partition("max", chance)
    o.write("dst", least + chance * (most - least))


@operation(execute=_rand2, cost=engine_work(), opcode="RNG")
def rand2(dst: NkiTensor, min: Any, max: Any, name: str | None = None) -> NkiInstruction:
    """Compute `dst` = uniform random numbers in [min, max]; on Vector of NeuronCore-v4."""
    if chip_for(recorder().target).generation < 4:
        raise invalid(f"rand2: only on {names_from(generation=4)}, not on {recorder().target}")
    check.on_chip("rand2", dst=dst)
    reads, attributes = {}, dict[str, Any]()  # type: ignore[var-annotated]
    check.operand("rand2", "min", min, dst.shape[0], reads, attributes)
    check.operand("rand2", "max", max, dst.shape[0], reads, attributes)
    return emit("rand2", "vector", {"dst": dst}, reads, attributes)


def _dropout(o: Operands) -> None:
    """Zeros with probability `prob`: 0 keeps all, 1 drops all."""
    data = o.raw("data")
    probability = np.asarray(o.per_partition("prob", data), np.float32)
    dropped = _generator(o).random(data.shape, np.float32) < probability
    word = f"u{data.dtype.itemsize}"
    o.write_bits("dst", np.where(dropped, np.zeros((), word), data.view(word)).view(data.dtype))


@operation(execute=_dropout, cost=engine_work(), opcode="RNG")
def dropout(dst: NkiTensor, data: NkiTensor, prob: Any, name: str | None = None) -> NkiInstruction:
    """Compute `dst` = `data` with elements replaced by zero with probability `prob`; on Vector."""
    check.on_chip("dropout", dst=dst, data=data)
    check.same_tile("dropout", "data", data, dst)
    if dst.dtype != data.dtype:
        raise invalid(f"dropout: dst must have the dtype of data: {dst!r}, {data!r}")
    reads, attributes = {"data": data}, dict[str, Any]()
    check.operand("dropout", "prob", prob, data.shape[0], reads, attributes)
    return emit("dropout", "vector", {"dst": dst}, reads, attributes)


def _set_rng_seed(o: Operands) -> None:
    _seed(o, "vector")


@operation(execute=_set_rng_seed, cost=engine_work(), opcode="RNG")
def set_rng_seed(src_seeds: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Seed the generator of Vector with the one 32-bit element of `src_seeds`."""
    check.on_chip("set_rng_seed", src_seeds=src_seeds)
    if src_seeds.size != 1 or src_seeds.itemsize != 4:
        raise invalid(f"set_rng_seed: src_seeds must be one 32-bit element: {src_seeds!r}")
    return emit("set_rng_seed", "vector", {}, {"src_seeds": src_seeds}, {})


def _rand_set_state(o: Operands) -> None:
    _seed(o, o.engine)


@operation(execute=_rand_set_state, cost=engine_work(), opcode="RNG")
def rand_set_state(src_seeds: NkiTensor, engine: Any = engine_enum.gpsimd, name: str | None = None) -> NkiInstruction:
    """Set the generator's state, 6 (GpSimd) or 24 (Vector) uint32 for each lane."""
    check.on_chip("rand_set_state", src_seeds=src_seeds)
    chosen = check.chosen_engine("rand_set_state", engine, ("gpsimd", "vector"), "gpsimd")
    _check_state("rand_set_state", src_seeds, chosen)
    return emit("rand_set_state", chosen, {}, {"src_seeds": src_seeds}, {})


def _rand_get_state(o: Operands) -> None:
    """Write the state that was set. After numbers were drawn, the device's state is not known."""
    state = o.registers.random.get(o.engine)
    if state is None:
        o.refuse(f"the {o.engine} generator was never seeded")
    if f"{o.engine} generator" in o.registers.random:
        o.refuse(f"the state of the {o.engine} generator is not known after it drew numbers")
    o.write_bits("dst", state)


@operation(execute=_rand_get_state, cost=engine_work(), opcode="RNG")
def rand_get_state(dst: NkiTensor, engine: Any = engine_enum.gpsimd, name: str | None = None) -> NkiInstruction:
    """Read the generator's state, 6 (GpSimd) or 24 (Vector) uint32 for each lane."""
    check.on_chip("rand_get_state", dst=dst)
    chosen = check.chosen_engine("rand_get_state", engine, ("gpsimd", "vector"), "gpsimd")
    _check_state("rand_get_state", dst, chosen)
    return emit("rand_get_state", chosen, {"dst": dst}, {}, {})


def _check_state(op: str, state: NkiTensor, engine: str) -> None:
    wanted = 6 if engine == "gpsimd" else 24
    if state.dtype != "uint32" or check.free(state) != wanted:
        raise invalid(f"{op}: the state is {wanted} uint32 in each partition on {engine}: {state!r}")
