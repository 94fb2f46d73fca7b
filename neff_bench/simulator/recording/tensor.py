"""Declares `NkiTensor`: a strided view of an allocation that knows shapes and addresses, never data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import msgspec

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.native.recorder import compiled
from neff_bench.simulator.program import Access, Dynamic
from neff_bench.simulator.recording import views
from neff_bench.simulator.recording.dtype_names import dtype_of
from neff_bench.simulator.recording.indexing import DynamicSlice, getitem
from neff_bench.simulator.recording.numbers import whole_number, whole_numbers
from neff_bench.simulator.recording.recorder import Storage, invalid, not_modelled
from neff_bench.simulator.recording.refused import refuse

_core = compiled()


class PlainView(msgspec.Struct, eq=False, gc=False):
    """A view. `offset` and `strides` count elements of `dtype`; on chip, dimension 0 is the partition."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    dynamic: tuple[Dynamic, ...] = ()
    _access: Access | bool | None = None  # True: an explicit pattern whose bounds are not checked yet

    __getitem__ = getitem


View = PlainView
if not TYPE_CHECKING and _core is not None:
    View = _core.View


class NkiTensor(View):
    """A view with all that kernels can ask of it. An operand of an instruction is `access(tensor)`."""

    if _core is not None:
        __slots__ = ()  # a Struct must not say so

    @property
    def buffer(self) -> Any:
        """The memory region: nl.sbuf, nl.psum, nl.shared_hbm or nl.private_hbm."""
        return self.storage.region

    @property
    def name(self) -> str:
        """The name of the allocation; "" where it has none."""
        return self.storage.name

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Elements in all."""
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return SIZE_BYTES[self.dtype]

    @property
    def on_chip(self) -> bool:
        """Whether it lies in SBUF or PSUM."""
        return self.storage.memory != "hbm"

    def __repr__(self) -> str:
        return f"{self.storage.name or 'tensor'}@{self.storage.memory}{list(self.shape)}:{self.dtype}"

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        raise invalid(f"{self!r} cannot be iterated over; index it instead")

    def __bool__(self) -> bool:
        """Answer true: kernels ask so whether they were given a tensor. One element on chip or of a larger tensor is data: raises NkiValidationError."""
        if self.size == 1 and (self.on_chip or self.storage.size > 1):
            raise invalid(f"the value of {self!r} is not known while the kernel is recorded; it cannot steer Python")
        return True

    def _view(self, shape: Sequence[int], strides: Sequence[int], offset: int | None = None) -> NkiTensor:
        at = self.offset if offset is None else offset
        sizes = tuple(shape)
        unchecked = self._access is True or 0 in sizes or None
        return NkiTensor(self.storage, at, sizes, tuple(strides), self.dtype, self.dynamic, unchecked)

    def is_contiguous(self) -> bool:
        """Return whether the view covers its storage in row-major order; on chip, within each partition."""
        first = 1 if self.on_chip else 0
        return views.is_contiguous(self.shape[first:], self.strides[first:])

    def get_pattern(self) -> list[list[int]]:
        """Return `[[stride, count], ...]`, outermost first."""
        return [list(pair) for pair in zip(self.strides, self.shape)]

    def is_indirect(self) -> bool:
        """Return whether a part of its address is known at run time only."""
        return bool(self.dynamic)

    def slice(self, dim: int, start: int, end: int, step: int = 1) -> NkiTensor:
        """Return the elements `start`, `start + step` ... below `end` of one dimension."""
        dim = self._dim(dim)
        start, end, step = whole_numbers("a bound of a slice", (start, end, step))
        if not 0 <= start <= end <= self.shape[dim] or step < 1:
            raise invalid(f"slice {start}:{end}:{step} of dimension {dim} is outside {self!r}")
        shape, strides = list(self.shape), list(self.strides)
        shape[dim] = (end - start + step - 1) // step
        strides[dim] *= step
        return self._view(shape, strides, self.offset + start * self.strides[dim])

    def select(self, dim: int, index: Any) -> NkiTensor:
        """Return the view without dimension `dim`, at `index`: a number, or a tensor of one element or a register for a run-time
        index."""
        dim = self._dim(dim)
        shape = self.shape[:dim] + self.shape[dim + 1 :]
        strides = self.strides[:dim] + self.strides[dim + 1 :]
        if is_index(index):
            if self.dynamic:
                raise invalid(f"{self!r} is indexed at run time already; a second run-time index is not allowed")
            if self.on_chip and dim == 0:
                raise invalid("the partition dimension cannot be selected at run time")
            dynamic = (Dynamic(self.strides[dim], index_access(index)),)
            return NkiTensor(self.storage, self.offset, shape, strides, self.dtype, dynamic)
        index = whole_number("an index", index)
        if not 0 <= index < self.shape[dim]:
            raise invalid(f"index {index} of dimension {dim} is outside {self!r}")
        if self.on_chip and dim == 0:
            return self.slice(0, index, index + 1)
        return self._view(shape or (1,), strides or (1,), self.offset + index * self.strides[dim])

    def vector_select(self, dim: int, vector_offset: NkiTensor) -> NkiTensor:
        """Return the rows of an HBM tensor at run-time indices: one for each partition of `vector_offset`."""
        if dim != 0 or self.on_chip or self.dynamic:
            raise invalid("vector_select works on dimension 0 of an HBM tensor without another run-time index")
        rows = vector_offset.shape[0]
        dynamic = (Dynamic(self.strides[0], access(vector_offset)),)
        shape, strides = (rows, *self.shape[1:]), (0, *self.strides[1:])
        return NkiTensor(self.storage, self.offset, shape, strides, self.dtype, dynamic)

    def permute(self, dims: Sequence[int]) -> NkiTensor:
        """Return the view with its dimensions in another order."""
        if sorted(dims) != list(range(self.ndim)) or (self.on_chip and dims[0] != 0):
            raise invalid(f"permute{tuple(dims)} does not fit {self!r}; the partition dimension stays first")
        return self._view([self.shape[dim] for dim in dims], [self.strides[dim] for dim in dims])

    def broadcast(self, dim: int, size: int) -> NkiTensor:
        """Return the view with dimension `dim`, of size 1, repeated `size` times."""
        dim = self._dim(dim)
        if self.shape[dim] != 1 or (self.on_chip and dim == 0):
            raise invalid(f"dimension {dim} of {self!r} cannot be broadcast; it must have size 1 and be a free one")
        shape, strides = list(self.shape), list(self.strides)
        shape[dim], strides[dim] = whole_number("the size of a dimension", size), 0
        return self._view(shape, strides)

    def broadcast_to(self, shape: Sequence[int]) -> NkiTensor:
        """Return the view under numpy's broadcasting rules. Raises when a dimension differs and is not 1."""
        shape = whole_numbers("a size of a shape", shape)
        if shape == self.shape:
            return self
        new = len(shape) - self.ndim
        old_shape, old_strides = (1,) * new + self.shape, (0,) * new + self.strides
        if new < 0 or any(have not in (1, want) for have, want in zip(old_shape, shape)):
            raise invalid(f"{self!r} cannot be broadcast to {list(shape)}")
        strides = [0 if have != want else stride for have, want, stride in zip(old_shape, shape, old_strides)]
        return self._view(shape, strides)

    def expand_dim(self, dim: int) -> NkiTensor:
        """Return the view with a new dimension of size 1 at `dim`."""
        dim = dim % (self.ndim + 1)
        if self.on_chip and dim == 0:
            raise invalid("a dimension cannot be put before the partition dimension")
        step = self.strides[dim] * self.shape[dim] if dim < self.ndim else 1
        return self._view(self.shape[:dim] + (1,) + self.shape[dim:], self.strides[:dim] + (step,) + self.strides[dim:])

    def squeeze_dim(self, dim: int) -> NkiTensor:
        """Return the view without dimension `dim`, which has size 1."""
        dim = self._dim(dim)
        if self.shape[dim] != 1 or (self.on_chip and dim == 0):
            raise invalid(f"dimension {dim} of {self!r} cannot be removed; it must have size 1 and be a free one")
        return self._view(self.shape[:dim] + self.shape[dim + 1 :], self.strides[:dim] + self.strides[dim + 1 :])

    def reshape_dim(self, dim: int, shape: Sequence[int]) -> NkiTensor:
        """Return the view with dimension `dim` split into `shape`; one size may be -1."""
        dim = self._dim(dim)
        split = views.infer(whole_numbers("a size of a shape", shape), self.shape[dim])
        if split is None or (self.on_chip and dim == 0 and len(split) > 1):
            raise invalid(f"dimension {dim} of {self!r} cannot be split into {list(shape)}")
        inner = tuple(step * self.strides[dim] for step in views.row_major(split))
        return self._view(
            self.shape[:dim] + split + self.shape[dim + 1 :], self.strides[:dim] + inner + self.strides[dim + 1 :]
        )

    def flatten_dims(self, start_dim: int, end_dim: int) -> NkiTensor:
        """Return the view with the dimensions from `start` to `end` merged into one."""
        start, end = self._dim(start_dim), self._dim(end_dim)
        merged = prod(self.shape[start : end + 1])
        inner = views.reshape(self.shape[start : end + 1], self.strides[start : end + 1], (merged,))
        if inner is None or end < start or (self.on_chip and start == 0 and end > 0):
            raise invalid(f"dimensions {start} to {end} of {self!r} cannot be merged without a copy")
        return self._view(
            self.shape[:start] + (merged,) + self.shape[end + 1 :],
            self.strides[:start] + inner + self.strides[end + 1 :],
        )

    def reshape(self, shape: Any, *more: int) -> NkiTensor:
        """Return the same elements under another shape; one size may be -1. Raises where that needs a copy."""
        sizes = shape if isinstance(shape, Iterable) else (shape, *more)
        wanted = views.infer(whole_numbers("a size of a shape", sizes), self.size)
        if wanted is None:
            raise invalid(f"{self!r} cannot be reshaped to {shape}: the number of elements differs")
        if self.on_chip:
            if wanted[0] != self.shape[0]:
                raise invalid(f"{self!r} cannot be reshaped to {list(wanted)}: the partition dimension is fixed")
            inner = views.reshape(self.shape[1:], self.strides[1:], wanted[1:])
            strides = None if inner is None else (self.strides[0], *inner)
        else:
            strides = views.reshape(self.shape, self.strides, wanted)
        if strides is None:
            raise invalid(f"{self!r} with strides {list(self.strides)} cannot be reshaped to {list(wanted)} in place")
        return self._view(wanted, strides)

    def rearrange(
        self, src_pattern: tuple[Any, ...], dst_pattern: tuple[Any, ...], fixed_sizes: dict[str, int] | None = None
    ) -> NkiTensor:
        """Return einops-style split, reorder and merge; patterns are tuples of names or tuples of names."""
        view = self
        names: list[str] = []
        for item in src_pattern:
            group = (item,) if isinstance(item, str) else tuple(item)
            if len(group) > 1:
                sizes = tuple((fixed_sizes or {}).get(name, -1) for name in group)
                view = view.reshape_dim(len(names), sizes)
            names.extend(group)
        wanted = [name for item in dst_pattern for name in ((item,) if isinstance(item, str) else item)]
        if sorted(names) != sorted(wanted) or len(names) != view.ndim:
            raise invalid(f"rearrange {src_pattern} -> {dst_pattern} does not fit {self!r}")
        view = view.permute([names.index(name) for name in wanted])
        for dim, item in enumerate(dst_pattern):
            if not isinstance(item, str):
                view = view.flatten_dims(dim, dim + len(item) - 1)
        return view

    def ap(
        self,
        pattern: Sequence[Sequence[int]],
        offset: int | None = None,
        scalar_offset: Any = None,
        vector_offset: NkiTensor | None = None,
        indirect_dim: int = 0,
        dtype: Any = None,
    ) -> NkiTensor:
        """Return an explicit `[[step, count], ...]` pattern over the storage; `offset` adds to the view's own.

        On chip, a step between partitions that is not one of the storage is taken as one of this view's own rows, as nki-library needs it.
        """
        kind = self.dtype if dtype is None else dtype_of(dtype)
        have, want = SIZE_BYTES[self.dtype], SIZE_BYTES[kind]
        start = self.offset
        if have != want:
            start = _scaled(start, have, want, self)
        strides, shape = zip(*(whole_numbers("a step or a size of a pattern", pair) for pair in pattern))
        storage = self.storage
        # The step between partitions is that of the storage; a pattern made from a view counts in rows of the view.
        if storage.memory != "hbm" and shape[0] > 1:
            row = storage.free * storage.itemsize // want
            own = prod(self.shape[1:]) * have // want
            if strides[0] % row and own and strides[0] % own == 0:
                strides = (strides[0] // own * row, *strides[1:])
                partitions, rest = divmod(offset or 0, own)
                offset = partitions * row + rest
        if offset is not None:
            start += whole_number("the offset of a pattern", offset)
        dynamic = self.dynamic
        if scalar_offset is not None or vector_offset is not None:
            if scalar_offset is not None and vector_offset is not None:
                raise invalid("ap takes a scalar_offset or a vector_offset, not both")
            step = _scaled(self.strides[indirect_dim], have, want, self)
            if vector_offset is not None:
                dynamic = (*dynamic, Dynamic(step, access(vector_offset)))
                strides = (0, *strides[1:])
            elif is_index(scalar_offset):
                dynamic = (*dynamic, Dynamic(step, index_access(scalar_offset)))
            else:
                start += whole_number("scalar_offset", scalar_offset) * step
        made = NkiTensor(storage, start, shape, strides, kind, dynamic)
        made._access = True
        return made

    def check_bounds(self) -> None:
        """Raise unless every element of the view lies in its storage, and in its own partition on chip."""
        start, shape, strides = self.offset, self.shape, self.strides
        free = self.storage.free * self.storage.itemsize // SIZE_BYTES[self.dtype]
        if min(shape) < 1:
            raise invalid(f"{self!r} is empty; an instruction works on one element or more")
        if start < 0:
            raise invalid(f"pattern {list(zip(strides, shape))} at {start} starts before {self!r}")
        if self.storage.memory == "hbm":
            last = start
            for size, stride in zip(shape, strides):
                last += (size - 1) * stride
            if last >= free:
                raise invalid(f"pattern {list(zip(strides, shape))} at {start} reaches element {last} of {free}")
            return
        partition, at = divmod(start, free)
        rows, skewed = divmod(strides[0], free) if shape[0] > 1 else (1, 0)
        last_partition = partition + rows * (shape[0] - 1)
        last = at
        for size, stride in zip(shape[1:], strides[1:]):
            last += (size - 1) * stride
        if skewed:
            raise invalid(f"the partition step {strides[0]} is not a multiple of the {free} elements of a partition")
        if last_partition >= self.storage.shape[0]:
            raise invalid(f"pattern reaches partition {last_partition} of the {self.storage.shape[0]} of {self!r}")
        if last >= free:
            raise invalid(f"pattern {list(zip(strides, shape))} reaches element {last} of the {free} in a partition")

    def view(self, dtype: Any) -> NkiTensor:
        """Return the same bytes as another dtype; the last dimension scales by the ratio of the sizes."""
        kind = dtype_of(dtype)
        have, want = SIZE_BYTES[self.dtype], SIZE_BYTES[kind]
        if have == want:
            return NkiTensor(self.storage, self.offset, self.shape, self.strides, kind, self.dynamic)
        if self.dynamic:
            raise invalid("view does not follow a run-time index")
        if self.strides[-1] != 1 and self.shape[-1] != 1:
            raise invalid(f"the last dimension of {self!r} is not contiguous; view needs it so")
        strides = [_scaled(stride, have, want, self) for stride in self.strides[:-1]] + [1]
        shape = (*self.shape[:-1], _scaled(self.shape[-1], have, want, self))
        return NkiTensor(self.storage, _scaled(self.offset, have, want, self), shape, tuple(strides), kind)

    reinterpret_cast = view

    def indirect(self, index: NkiTensor, num_elem: int | None = None) -> NkiTensor:
        """Refuse what is not modelled: indirection inside a tensor (NeuronCore-v4)."""
        raise not_modelled("tensor indirection (.indirect, NeuronCore-v4)")

    def access(self) -> Access:
        """Return the operand that an instruction records for it."""
        return access(self)

    def index_access(self) -> Access:
        """Return the one element that a run-time index reads. Raises when the tensor holds more than one."""
        if self.size != 1:
            raise invalid(f"a run-time index reads one element; {self!r} has {self.size}")
        return access(self)

    def _dim(self, dim: int) -> int:
        if not -self.ndim <= dim < self.ndim:
            raise invalid(f"dimension {dim} of {self!r} does not exist")
        return dim % self.ndim


refuse(NkiTensor, "a tensor of nki")


def access(tensor: NkiTensor) -> Access:
    """Return the operand that an instruction records for a tensor."""
    made = tensor._access
    if type(made) is not Access:
        if made is True:
            tensor.check_bounds()
        pattern = views.pattern(tensor.strides, tensor.shape)
        made = Access(tensor.storage.index, tensor.offset, pattern, tensor.dtype, tensor.dynamic)
        tensor._access = made
    return made


plain_access, plain_ap = access, NkiTensor.ap
if not TYPE_CHECKING and _core is not None:
    _core.bind_tensors(getitem, plain_access, views.pattern, DynamicSlice, plain_ap)
    access = _core.access
    del NkiTensor.ap  # View has it


def is_index(value: Any) -> bool:
    """Return whether a value is known at run time only, as a tensor and a register are."""
    return hasattr(value, "index_access")


def index_access(value: Any) -> Access:
    """Return the one element that a run-time index reads. Raises for what is neither a tensor of one element nor a register."""
    if not is_index(value):
        raise invalid(f"a run-time index is a tensor of one element or a register, not {value!r}")
    found: Access = value.index_access()
    return found


def _scaled(count: int, have: int, want: int, tensor: NkiTensor) -> int:
    scaled, rest = divmod(count * have, want)
    if rest:
        raise invalid(f"{count} elements of {have} bytes in {tensor!r} are not a whole number of {want}-byte elements")
    return scaled
