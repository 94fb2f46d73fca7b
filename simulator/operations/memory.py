"""The memories of a program at run time: one array of bytes for each buffer, and strided views of them.

Memory that nothing has written reads as NaN in every float type, whatever type a view asks for: it is filled with
the 16-bit pattern 0x7FFF, whose halves and repetitions are NaN in float32, bfloat16, float16 and each float8.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

from simulator.dtypes import numpy_dtype, size_bytes, to_float32
from simulator.errors import ExecutionError
from simulator.program import Access, Buffer, Instruction, Program

_UNWRITTEN = 0x7FFF
_MARKED = {1: 0x01, 2: 0x0101, 4: 0x01010101}
UNWRITTEN_INT32 = 0x7FFF7FFF
"""What a 32-bit integer reads from memory that nothing has written."""


def buffer_bytes(buffer: Buffer) -> int:
    return math.prod(buffer.shape) * size_bytes(buffer.dtype)


def _accesses(instruction: Instruction) -> Iterable[Access]:
    pending = [*instruction.writes.values(), *instruction.reads.values()]
    while pending:
        access = pending.pop()
        pending.extend(dynamic.index for dynamic in access.dynamic)
        yield access


class Memory:
    """Storage of every buffer, allocated when it is first touched and freed after its last access.

    Peak memory is that of the buffers alive at one time, not of all that the program ever names.
    """

    def __init__(self, program: Program) -> None:
        self.buffers = program.buffers
        self._storage: dict[int, np.ndarray] = {}
        self._pool: defaultdict[int, list[np.ndarray]] = defaultdict(list)
        self._uses = Counter(a.buffer for core in program.cores for i in core for a in _accesses(i))
        self._accumulating: dict[int, tuple[np.ndarray, set[tuple]]] = {}
        self._written = {
            index: np.zeros(buffer_bytes(program.buffers[index]), bool)
            for index in program.outputs
            if program.buffers[index].kind != "input"
        }
        self._uses.update(program.outputs)

    @property
    def live_bytes(self) -> int:
        """Bytes of the buffers that hold data now."""
        return sum(storage.size for storage in self._storage.values())

    def storage(self, index: int) -> np.ndarray:
        """The bytes of a buffer, uint8, in C order of its shape."""
        found = self._storage.get(index)
        if found is None:
            found = self._storage[index] = self._allocate(self.buffers[index])
        return found

    def fill(self, index: int, array: np.ndarray) -> None:
        """Put an input into its buffer; the bytes are copied."""
        self._storage[index] = np.frombuffer(bytearray(np.ascontiguousarray(array).tobytes()), np.uint8)

    def array(self, index: int) -> np.ndarray:
        """A buffer as an array of its own shape and dtype."""
        buffer = self.buffers[index]
        return self.storage(index).view(numpy_dtype(buffer.dtype)).reshape(buffer.shape)

    def written(self, index: int) -> np.ndarray | None:
        """For an output: which of its bytes were written. None for a buffer that is not watched."""
        return self._written.get(index)

    def release(self, instruction: Instruction) -> None:
        """Count the instruction's accesses as done and free the buffers that nothing will touch again."""
        for access in _accesses(instruction):
            index = access.buffer
            self._uses[index] -= 1
            if not self._uses[index] and index in self._storage:
                storage = self._storage.pop(index)
                self._pool[storage.size].append(storage)
                self._accumulating.pop(index, None)

    def view(self, access: Access) -> np.ndarray:
        """A strided view of the bytes that an access names. Its offset may be dynamic, but the same for every row."""
        offset = access.offset
        for dynamic in access.dynamic:
            offset += dynamic.step * int(self._index_values(dynamic.index).flat[0])
        self._check(access, offset)
        return self._strided(self.storage(access.buffer), access, offset)

    def indices(self, access: Access) -> tuple[np.ndarray, np.ndarray]:
        """Flat element indices (int64, in the access's shape) and, in the same shape, which are inside the buffer.

        A table of indices serves the rows in column-major order, as the gather of `dma_transpose` documents.
        """
        rank = len(access.pattern)
        flat = np.full(access.shape, access.offset, np.int64)
        valid = np.ones(access.shape, bool)
        for axis, (step, size) in enumerate(access.pattern):
            flat += (np.arange(size, dtype=np.int64) * step).reshape((-1,) + (1,) * (rank - axis - 1))
        for dynamic in access.dynamic:
            values = self._index_values(dynamic.index).astype(np.int64)
            values = values.reshape(values.shape[0], -1).T.reshape(-1)
            if values.size != 1:
                if values.size < access.shape[0]:
                    raise ExecutionError(f"{values.size} indices for {access.shape[0]} rows")
                values = values[: access.shape[0]]
            rows = values.reshape((-1,) + (1,) * (rank - 1))
            flat += dynamic.step * rows
            valid &= rows >= 0
        elements = buffer_bytes(self.buffers[access.buffer]) // size_bytes(access.dtype)
        valid &= (flat >= 0) & (flat < elements)
        return flat, valid

    def flat(self, access: Access) -> np.ndarray:
        """The whole buffer of an access as one row of elements of the access's dtype."""
        return self.storage(access.buffer).view(numpy_dtype(access.dtype))

    def read(self, access: Access) -> np.ndarray:
        """The elements an access names, in its shape; a view where the address allows one. Not to be written to."""
        if not is_gather(access):
            return self.view(access)
        flat, valid = self.indices(access)
        if not valid.all():
            raise ExecutionError(self._outside(access, int(flat[~valid].flat[0])))
        return self.flat(access)[flat]

    def write(self, access: Access, values: np.ndarray) -> None:
        """Store values of the access's own dtype, in its shape."""
        if is_gather(access):
            flat, valid = self.indices(access)
            if not valid.all():
                raise ExecutionError(self._outside(access, int(flat[~valid].flat[0])))
            self.scatter(access, flat, values)
            return
        target = self.view(access)
        bits(target)[...] = bits(values)
        self.mark_written(access)

    def scatter(self, access: Access, flat: np.ndarray, values: np.ndarray) -> None:
        """Store values at flat element indices of the access's buffer."""
        bits(self.flat(access))[flat] = bits(values)
        written = self._written.get(access.buffer)
        if written is not None:
            written.reshape(-1, size_bytes(access.dtype))[flat] = True

    def mark_written(self, access: Access) -> None:
        """Note a write that no matrix product made: the next product into this place overwrites it."""
        state = self._accumulating.get(access.buffer)
        if state is not None:
            state[1].clear()
            self._mask(state[0], access).fill(0)
        written = self._written.get(access.buffer)
        if written is not None:
            marks = self._mask(written, access)
            marks.fill(_MARKED[marks.dtype.itemsize])

    def accumulating(self, access: Access) -> np.ndarray | bool:
        """Which elements of a product's destination an earlier product wrote; afterwards, all of them."""
        state = self._accumulating.get(access.buffer)
        if state is None:
            mask = np.zeros(buffer_bytes(self.buffers[access.buffer]), bool)
            state = self._accumulating[access.buffer] = (mask, set())
        key = (access.offset, access.pattern, access.dtype)
        if not access.dynamic and key in state[1]:
            return True
        mask = self._mask(state[0], access)
        item = mask.dtype.itemsize
        state[1].add(key)
        if not mask.any():
            mask.fill(_MARKED[item])
            return False
        before = mask == _MARKED[item]
        mask.fill(_MARKED[item])
        return True if before.all() else before

    def _allocate(self, buffer: Buffer) -> np.ndarray:
        if buffer.kind == "constant":
            return np.frombuffer(bytearray(buffer.data), np.uint8)
        size = buffer_bytes(buffer)
        if buffer.kind == "input":
            return np.zeros(size, np.uint8)
        pool = self._pool.get(size)
        storage = pool.pop() if pool else np.empty(size + size % 2, np.uint8)[:size]
        even = size - size % 2
        storage[:even].view(np.uint16).fill(_UNWRITTEN)
        storage[even:] = _UNWRITTEN & 0xFF
        return storage

    def _mask(self, mask: np.ndarray, access: Access) -> np.ndarray:
        """A view of a mask that has one byte for each byte of a buffer: all bytes of an element are read as one."""
        item = size_bytes(access.dtype)
        offset = access.offset
        for dynamic in access.dynamic:
            offset += dynamic.step * int(self._index_values(dynamic.index).flat[0])
        strides = tuple(step * item for step, _ in access.pattern)
        return np.ndarray(access.shape, f"u{item}", mask, offset * item, strides)

    def _strided(self, storage: np.ndarray, access: Access, offset: int) -> np.ndarray:
        dtype = numpy_dtype(access.dtype)
        item = dtype.itemsize
        strides = tuple(step * item for step, _ in access.pattern)
        return np.ndarray(access.shape, dtype, storage, offset * item, strides)

    def _index_values(self, index: Access) -> np.ndarray:
        values = self.read(index)
        return values if values.dtype.kind in "iu" else np.rint(to_float32(values)).astype(np.int64)

    def _check(self, access: Access, offset: int) -> None:
        buffer = self.buffers[access.buffer]
        item = size_bytes(access.dtype)
        pattern = access.pattern
        if buffer.memory == "hbm":
            low, high = _reach(pattern)
            if offset + low < 0 or (offset + high + 1) * item > buffer_bytes(buffer):
                raise ExecutionError(self._outside(access, offset + (low if offset + low < 0 else high)))
            return
        partitions = buffer.shape[0]
        free = buffer_bytes(buffer) // partitions // item
        step, size = pattern[0]
        start, column = divmod(offset, free) if free else (0, 0)
        low, high = _reach(pattern[1:])
        if column + low < 0 or column + high >= free:
            raise ExecutionError(
                f"{buffer.name}: access reaches element {column + (low if column + low < 0 else high)} "
                f"of a partition that holds {free}"
            )
        if size > 1 and step % free:
            raise ExecutionError(f"{buffer.name}: partition step {step} is not a multiple of {free} elements")
        last = start + (size - 1) * (step // free)
        if start < 0 or not 0 <= last < partitions:
            raise ExecutionError(f"{buffer.name}: access reaches partition {last} of {partitions}")

    def _outside(self, access: Access, element: int) -> str:
        buffer = self.buffers[access.buffer]
        elements = buffer_bytes(buffer) // size_bytes(access.dtype)
        return f"{buffer.name}: access reaches element {element} of {elements} {access.dtype}"


def is_gather(access: Access) -> bool:
    """Whether each row of the access has its own run-time address."""
    return any(math.prod(dynamic.index.shape) != 1 for dynamic in access.dynamic)


def bits(array: np.ndarray) -> np.ndarray:
    """The same elements as unsigned integers: copied without a look at their values, and faster than ml_dtypes."""
    return array.view(f"u{array.dtype.itemsize}")


def _reach(pattern: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    low = high = 0
    for step, size in pattern:
        if step < 0:
            low += step * (size - 1)
        else:
            high += step * (size - 1)
    return low, high
