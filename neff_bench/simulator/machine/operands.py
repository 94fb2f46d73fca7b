"""Gives one instruction what it sees: its operands as arrays, its attributes, and the registers of the core that runs it."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from neff_bench.simulator.errors import ExecutionError
from neff_bench.simulator.machine.memory import Memory
from neff_bench.simulator.numpy_dtypes import INTEGERS, from_float32, numpy_dtype, to_float32
from neff_bench.simulator.program import PARTITIONS, Access, Instruction


class Registers:
    """State that a core keeps between instructions: one float32 accumulator for each lane of an engine, and more.
    `rank`: the number of its rank among those that run the program."""

    def __init__(self, rank: int = 0) -> None:
        self.rank = rank
        self.accumulators: dict[str, np.ndarray] = {}
        self.random: dict[str, Any] = {}

    def accumulator(self, engine: str) -> np.ndarray:
        """Return (128,) float32, zero at start."""
        return self.accumulators.setdefault(engine, np.zeros(PARTITIONS, np.float32))


class Operands:
    """The operands of an instruction by their documented names."""

    def __init__(self, instruction: Instruction, memory: Memory, registers: Registers, target: str) -> None:
        self.instruction = instruction
        self.attributes = instruction.attributes
        self.engine = instruction.engine
        self.memory = memory
        self.registers = registers
        self.target = target

    def refuse(self, what: str) -> NoReturn:
        """Raise ExecutionError with the operation's name before `what`."""
        raise ExecutionError(f"{self.instruction.op}: {what}")

    def has(self, name: str) -> bool:
        """Return whether an operand was given, as a tensor or as a number."""
        return name in self.instruction.reads or self.attributes.get(name) is not None

    def access(self, name: str) -> Access:
        """Return the access of a tensor operand, written or read. Raises ExecutionError when it is missing."""
        found = self.instruction.writes.get(name) or self.instruction.reads.get(name)
        if found is None:
            self.refuse(f"operand {name!r} is missing")
        return found

    def dtype(self, name: str) -> str:
        """Return the canonical dtype of a tensor operand."""
        return self.access(name).dtype

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the elements along each dimension of a tensor operand; on chip, the first is the partition."""
        return self.access(name).shape

    def raw(self, name: str) -> np.ndarray:
        """Return a read operand as it is stored; a view, not to be written to."""
        if name not in self.instruction.reads:
            self.refuse(f"operand {name!r} is missing")
        return self.memory.read(self.instruction.reads[name])

    def float32(self, name: str) -> np.ndarray:
        """Return a read operand as float32 values; may be a view."""
        return to_float32(self.raw(name))

    def rows(self, name: str) -> np.ndarray:
        """Return a read operand as float32, its free dimensions flattened: (partitions, elements)."""
        values = self.float32(name)
        return values.reshape(values.shape[0], -1)

    def per_partition(self, name: str, like: np.ndarray, default: float = 0.0) -> np.ndarray | np.float32:
        """Return a scalar, or a vector of one float32 a partition, in a shape that broadcasts over the free dimensions."""
        if name in self.instruction.reads:
            return column(self.float32(name), like)
        value = self.attributes.get(name)
        scalar: np.float32 = np.float32(default if value is None else value)
        return scalar

    def write(self, name: str, values: np.ndarray) -> None:
        """Store results: float32 is rounded once to the operand's dtype, integers are stored modulo its range."""
        access = self._target(name, values)
        if values.dtype.kind in "iub":
            stored = store_integers(values, access.dtype)
        else:
            stored = from_float32(values, access.dtype)
        self.memory.write(access, stored)

    def write_bits(self, name: str, values: np.ndarray) -> None:
        """Store elements of the operand's own dtype unchanged."""
        self.memory.write(self._target(name, values), values)

    def _target(self, name: str, values: np.ndarray) -> Access:
        access = self.instruction.writes[name]
        if values.size != math.prod([size for _, size in access.pattern]):
            self.refuse(f"{name} holds {access.shape} elements, {values.shape} were given")
        return access


def column(vector: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return one value a partition, broadcast over the free dimensions of `like`; extra partitions are not read."""
    flat = vector.reshape(vector.shape[0], -1)
    if flat.shape[1] != 1:
        raise ExecutionError(f"an operand of shape {vector.shape} where one value a partition is expected")
    if flat.shape[0] != 1 and flat.shape[0] < like.shape[0]:
        raise ExecutionError(f"an operand of {flat.shape[0]} partitions for {like.shape[0]}")
    return flat[: like.shape[0], 0].reshape((-1,) + (1,) * (like.ndim - 1))


def store_integers(values: np.ndarray, name: str) -> np.ndarray:
    """Return integer results as the elements of a dtype: floats are rounded once, integers keep their low bits."""
    if name in INTEGERS:
        return values.astype(numpy_dtype(name))
    return from_float32(values.astype(np.float32), name)
