"""Holds the memories of a program at run time: one array of bytes for each buffer, and strided views of them.

Inputs that are not given and results start as zeros, as the runtime allocates them. Any other memory that nothing has
written reads as NaN in every float type, whatever type a view asks for: it is filled with the 16-bit pattern 0x7FFF,
whose halves and repetitions are NaN in float32, bfloat16, float16 and each float8.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection

import numpy as np

from neff_bench.simulator.errors import ExecutionError
from neff_bench.simulator.machine import addressing
from neff_bench.simulator.machine.addressing import Layout, bits, is_gather
from neff_bench.simulator.machine.marks import Marks, granules
from neff_bench.simulator.machine.products import Product
from neff_bench.simulator.numpy_dtypes import SIZE_BYTES, numpy_dtype, to_float32
from neff_bench.simulator.program import Access, Program

_UNWRITTEN = 0x7FFF
UNWRITTEN_INT32 = 0x7FFF7FFF
"""What a 32-bit integer reads from memory that nothing has written."""

_MARKED = {1: 0x01, 2: 0x0101, 4: 0x01010101}


class Memory:
    """Storage of every buffer, allocated when it is first touched; internal buffers are freed after their last access."""

    def __init__(self, program: Program, watched: Collection[int], product: Product = np.matmul) -> None:
        """Make the memory of a run. `watched`: the buffers of which it is known later which bytes were written. `product`: computes a @ b."""
        self.product = product
        self.buffers = program.buffers
        self.layouts = [Layout(buffer) for buffer in program.buffers]
        self._storage: dict[int, np.ndarray] = {}
        self._pool: defaultdict[int, list[np.ndarray]] = defaultdict(list)
        self._scratch: defaultdict[tuple[int, ...], list[np.ndarray]] = defaultdict(list)
        self._targets = {access.buffer for core in program.cores for i in core for access in i.writes.values()}
        self._last_used_at, self._users = _last_uses(program)
        self._deferred: dict[int, Callable[[], None]] = {}
        self._accumulating: dict[int, tuple[np.ndarray, set[tuple[object, ...]]]] = {}
        sizes = [layout.bytes for layout in self.layouts]
        self._written = {
            index: Marks(sizes[index], grain) for index, grain in granules(program, set(watched), sizes).items()
        }

    @property
    def live_bytes(self) -> int:
        """Bytes of the buffers that hold data now."""
        return sum(storage.size for storage in self._storage.values())

    def fill(self, index: int, array: np.ndarray) -> None:
        """Put an input into its buffer; the bytes are copied only when the program writes to it."""
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self._storage[index] = data.copy() if index in self._targets else data

    def storage(self, index: int) -> np.ndarray:
        """Return the bytes of a buffer, uint8, in C order of its shape. Work that was deferred on it is done first."""
        if index in self._deferred:
            self._deferred.pop(index)()
        found = self._storage.get(index)
        if found is None:
            found = self._storage[index] = self._allocate(index)
        return found

    def release(self, core: int, position: int) -> None:
        """Free the buffers that the core's instruction at this position was the last to touch."""
        for index in self._last_used_at.get((core, position), ()):
            self._users[index] -= 1
            if self._users[index]:
                continue
            storage = self._storage.pop(index, None)
            if storage is not None and self.layouts[index].on_chip:
                self._pool[storage.size].append(storage)
            self._accumulating.pop(index, None)
            self._deferred.pop(index, None)

    def array(self, index: int) -> np.ndarray:
        """Return a buffer as an array of its own shape and dtype."""
        buffer = self.buffers[index]
        return self.storage(index).view(numpy_dtype(buffer.dtype)).reshape(buffer.shape)

    def view(self, access: Access) -> np.ndarray:
        """Return a strided view of the bytes that an access names. Its offset may be dynamic, but the same for every row."""
        index = access.buffer
        return addressing.view(access, self._offset(access), self.storage(index), self.layouts[index])

    def flat(self, access: Access) -> np.ndarray:
        """Return the whole buffer of an access as one row of elements of the access's dtype."""
        return self.storage(access.buffer).view(numpy_dtype(access.dtype))

    def indices(self, access: Access) -> tuple[np.ndarray, np.ndarray]:
        """Return the flat element indices and which of them are inside the buffer; see `addressing.indices`."""
        values = [self._index_values(dynamic.index) for dynamic in access.dynamic]
        return addressing.indices(access, values, self.layouts[access.buffer])

    def read(self, access: Access) -> np.ndarray:
        """Return the elements an access names, in its shape; a view where the address allows one. Not to be written to."""
        return self.flat(access)[self._inside(access)] if is_gather(access) else self.view(access)

    def write(self, access: Access, values: np.ndarray) -> None:
        """Store values of the access's own dtype and number of elements."""
        if is_gather(access):
            self.scatter(access, self._inside(access), values)
            return
        target = self.view(access)
        bits(target)[...] = bits(values).reshape(target.shape)
        if access.buffer in self._accumulating:
            mask, whole = self._accumulating[access.buffer]
            whole.clear()
            self._marks(mask, access).fill(0)
        self.mark_written(access)

    def mark_written(self, access: Access) -> None:
        """Note that an instruction wrote the bytes of an access, if its buffer is watched."""
        written = self._written.get(access.buffer)
        if written is not None:
            written.of(access, self._offset(access)).fill(True)

    def scatter(self, access: Access, flat: np.ndarray, values: np.ndarray) -> None:
        """Store values at flat element indices of the access's buffer."""
        bits(self.flat(access))[flat] = bits(values).reshape(flat.shape)
        written = self._written.get(access.buffer)
        if written is not None:
            written.flags[written.at(access, flat)] = True

    def marks(self, index: int) -> Marks | None:
        """Return which bytes of a buffer were written. None for one that is not watched."""
        return self._written.get(index)

    def reads_unwritten(self, access: Access) -> bool:
        """Return whether an access names bytes of a watched buffer that nothing has written."""
        written = self._written.get(access.buffer)
        if written is None:
            return False
        if is_gather(access):
            return not written.flags[written.at(access, self._inside(access))].all()
        return not written.of(access, self._offset(access)).all()

    def accumulating(self, access: Access) -> np.ndarray | bool:
        """Return which elements of a product's destination an earlier product wrote; afterwards, all of them.

        After a write that is no product, the elements count as not written by a product.
        """
        key = (access.offset, access.pattern, access.dtype)
        state = self._accumulating.get(access.buffer)
        if state is None:
            state = self._accumulating[access.buffer] = (np.zeros(self.layouts[access.buffer].bytes, bool), set())
        elif key in state[1] and not access.dynamic:
            return True
        marks, marked = self._marks(state[0], access), _MARKED[SIZE_BYTES[access.dtype]]
        before = marks == marked
        marks.fill(marked)
        state[1].add(key)
        if before.all():
            return True
        return before if before.any() else False

    def defer(self, index: int, work: Callable[[], None]) -> None:
        """Have `work` done when the buffer is next looked at; it is dropped when nothing ever does."""
        self._deferred[index] = work

    def deferred(self, index: int) -> Callable[[], None] | None:
        """Return the work that is put off until the buffer is looked at; None where there is none."""
        return self._deferred.get(index)

    def scratch(self, shape: tuple[int, int]) -> np.ndarray:
        """Return a float32 work array, a returned one when there is one of its shape; its contents are undefined."""
        free = self._scratch[shape]
        return free.pop() if free else np.empty(shape, np.float32)

    def reuse(self, array: np.ndarray) -> None:
        """Give a work array back."""
        self._scratch[array.shape].append(array)

    def _allocate(self, index: int) -> np.ndarray:
        buffer, size = self.buffers[index], self.layouts[index].bytes
        if buffer.kind == "constant":
            return np.frombuffer(bytearray(buffer.data), np.uint8)
        if buffer.kind in ("input", "output"):
            return np.zeros(size, np.uint8)
        pool = self._pool.get(size)
        storage = pool.pop() if pool else np.empty(size, np.uint8)
        even = size - size % 2
        storage[:even].view(np.uint16).fill(_UNWRITTEN)
        storage[even:] = _UNWRITTEN & 0xFF
        return storage

    def _offset(self, access: Access) -> int:
        if not access.dynamic:
            return access.offset
        dynamic = sum(part.step * int(self._index_values(part.index).flat[0]) for part in access.dynamic)
        return access.offset + dynamic

    def _index_values(self, index: Access) -> np.ndarray:
        values = self.read(index)
        return values if values.dtype.kind in "iu" else np.rint(to_float32(values)).astype(np.int64)

    def _inside(self, access: Access) -> np.ndarray:
        flat, valid = self.indices(access)
        if not valid.all():
            first = int(flat[~valid].flat[0])
            raise ExecutionError(addressing.outside(self.layouts[access.buffer], access.dtype, first))
        return flat

    def _marks(self, mask: np.ndarray, access: Access) -> np.ndarray:
        """Return a view of a mask that has one byte for each byte of a buffer: all bytes of an element are read as one."""
        item = SIZE_BYTES[access.dtype]
        strides = [step * item for step, _ in access.pattern]
        view: np.ndarray = np.ndarray(access.shape, f"u{item}", mask, self._offset(access) * item, strides)
        return view


def _last_uses(program: Program) -> tuple[dict[tuple[int, int], list[int]], Counter[int]]:
    """Return the internal buffers that the instruction at (core, position) is the core's last to touch; how many cores do."""
    internal = [buffer.kind == "internal" for buffer in program.buffers]
    ended: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    users: Counter[int] = Counter()
    for core, instructions in enumerate(program.cores):
        last: dict[int, int] = {}
        for position, instruction in enumerate(instructions):
            for access in (*instruction.writes.values(), *instruction.reads.values()):
                last[access.buffer] = position
                for dynamic in access.dynamic:
                    last[dynamic.index.buffer] = position
        for index, position in last.items():
            if internal[index]:
                ended[core, position].append(index)
                users[index] += 1
    return ended, users
