"""Computes what the Tensor Engine does: products that accumulate in float32, and transposes, which move bits (AWS docs, nki.isa.nc_matmul,
nki.isa.nc_transpose).

Successive products into one PSUM tile are collected and computed as one product of their stacked operands when
something looks at the tile: the same sum of the same float32 products, in one large matrix product.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neff_bench.chips import Chip, chip_for
from neff_bench.simulator.costs.engine_work import engine_work
from neff_bench.simulator.costs.steps import Lowered
from neff_bench.simulator.costs.table import DOUBLE_ROW, ONES_BOTH, ONES_MOVE, ONES_STAY, PRODUCT, TRANSPOSE
from neff_bench.simulator.costs.tensor_engine import on_pe, product_row
from neff_bench.simulator.machine.addressing import bits
from neff_bench.simulator.machine.memory import Memory
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.native.recorder import compiled, compiled_form
from neff_bench.simulator.numpy_dtypes import SIZE_BYTES, copy_to_float32, from_float32, numpy_dtype, to_float32
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.program import Access, Instruction, Program
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import engine as engine_enum
from neff_bench.simulator.recording.enums import matmul_perf_mode, word
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid, not_modelled, recorder
from neff_bench.simulator.recording.regions import PSUM_BANK_BYTES, PSUM_BANKS
from neff_bench.simulator.recording.tensor import NkiTensor

_STACKED_ROWS = 1024
_TRANSPOSE_MODE_SINCE = 3
_FLOAT32 = frozenset({"float32", "tfloat32"})
_FLOAT8 = frozenset({"float8_e4m3", "float8_e5m2", "float8_e4m3fn"})
_INPUTS = _FLOAT32 | _FLOAT8 | {"bfloat16", "float16"}
_INTEGERS = frozenset({"int32", "uint32"})
_NO_PERF = matmul_perf_mode.none
if (_core := compiled()) is not None:
    _core.bind_matmul(_NO_PERF, PSUM_BANK_BYTES)


def _matmul_cost(instruction: Instruction, program: Program, chip: Chip, opcodes: tuple[int, ...]) -> Lowered:
    """Contraction over the partitions (twice as many rows in `double_row`)."""
    stationary, moving = instruction.reads["stationary"], instruction.reads["moving"]
    packing = 2 if instruction.attributes.get("perf_mode", "none").startswith("double_row") else 1
    rows, cols, n = stationary.pattern[0][1] * packing, stationary.columns // packing, moving.columns // packing
    transpose = bool(instruction.attributes.get("is_transpose", False))
    row = product_row("nc_matmul", chip, (stationary.dtype, moving.dtype), _mode(instruction, chip))
    return on_pe(chip, row, rows, cols, n, stationary, instruction.writes["dst"], transpose, opcodes,
                 moving_bytes=moving.columns * SIZE_BYTES[moving.dtype])  # fmt: skip


def _mode(instruction: Instruction, chip: Chip) -> str:
    """Return what the PE does. NeuronCore-v2 has no transpose mode: a transpose is a product with an identity there (AWS docs, nki.isa.nc_matmul)."""
    given = instruction.attributes
    if given.get("is_transpose") and chip.generation >= _TRANSPOSE_MODE_SINCE:
        return TRANSPOSE
    if given.get("perf_mode", "none").startswith("double_row"):
        return DOUBLE_ROW
    stay, move = (
        bool(given.get(f"is_{name}_onezero")) and instruction.reads[name].dtype == "float32"
        for name in ("stationary", "moving")
    )
    return ONES_BOTH if stay and move else ONES_STAY if stay else ONES_MOVE if move else PRODUCT


def _transpose_cost(instruction: Instruction, program: Program, chip: Chip, opcodes: tuple[int, ...]) -> Lowered:
    """Return what a transpose costs. On the PE, the data is loaded as weights and an identity moves through it."""
    if instruction.engine != "tensor":
        return _VECTOR_TRANSPOSE(instruction, program, chip, opcodes[2:])
    data = instruction.reads["data"]
    rows, cols = data.pattern[0][1], data.columns
    moved = "float32" if data.dtype in _INTEGERS else data.dtype  # integers of four bytes move as floats do
    row = product_row("nc_transpose", chip, (moved,), TRANSPOSE)
    return on_pe(chip, row, rows, cols, rows, data, instruction.writes["dst"], True, opcodes[:2],
                 moving_bytes=rows * SIZE_BYTES[data.dtype])  # fmt: skip


_VECTOR_TRANSPOSE = engine_work()


def _nc_matmul(o: Operands) -> None:
    """Compute dst = stationary.T @ moving, the contraction along the partitions (and the first free dimension in double_row)."""
    if o.attributes.get("is_transpose"):
        return _transpose_by_identity(o)
    stationary, moving = _matrix(o, "stationary"), _matrix(o, "moving")
    if stationary.shape[0] != moving.shape[0]:
        o.refuse(f"contraction sizes differ: stationary {stationary.shape[0]}, moving {moving.shape[0]}")
    access = o.access("dst")
    rows, columns = stationary.shape[1], moving.shape[1]
    if access.shape[0] != rows or np.prod(access.shape[1:], dtype=int) != columns:
        o.refuse(f"dst holds {list(access.shape)}, the product is {[rows, columns]}")
    add = adds(o, access)
    if access.dtype != "float32" or access.dynamic or not isinstance(add, bool):
        return add_product(o, o.memory.product(to_float32(stationary).T, to_float32(moving)), add)
    stack = o.memory.deferred(access.buffer)
    if not (isinstance(stack, _Stack) and add and stack.takes(access, stationary.shape[0])):
        o.memory.storage(access.buffer)
        stack = _Stack(o.memory, access, rows, columns, add)
        o.memory.defer(access.buffer, stack)
    stack.push(stationary, moving)


def adds(o: Operands, access: Access) -> np.ndarray | bool:
    """Return which elements of dst a product is added to: as the kernel says, else those that an earlier product wrote. They count as
    written from now on."""
    flag = o.attributes.get("accumulate")
    written = o.memory.accumulating(access)
    o.memory.mark_written(access)
    return written if flag is None else bool(flag)


@operation(execute=_nc_matmul, cost=_matmul_cost, opcode=("LDWEIGHTS", "MATMUL"))
@compiled_form
def nc_matmul(
    dst: NkiTensor,
    stationary: NkiTensor,
    moving: NkiTensor,
    is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False,
    is_transpose: bool = False,
    accumulate: bool | None = None,
    tile_position: Any = (),
    tile_size: Any = (),
    perf_mode: Any = _NO_PERF,
    name: str | None = None,
) -> NkiInstruction:
    """Compute `dst` [M, N] in PSUM = `stationary` [K, M].T @ `moving` [K, N], both in SBUF; K, M <= 128, N <= 512."""
    attributes: dict[str, Any] = {}
    if perf_mode is not _NO_PERF and perf_mode is not None:
        mode = word(matmul_perf_mode, perf_mode)
        if mode != "none":
            attributes["perf_mode"] = mode
    # What the check depends on. An argument that is no tensor lacks these attributes, and is told by name below.
    try:
        form = (
            stationary.shape,
            stationary.dtype,
            stationary.storage.memory,
            moving.shape,
            moving.dtype,
            moving.storage.memory,
            dst.shape,
            dst.dtype,
            dst.storage.memory,
            is_transpose,
            len(attributes),
        )
    except AttributeError:
        for key, value in (("dst", dst), ("stationary", stationary), ("moving", moving)):
            check.tensor("nc_matmul", key, value)
        raise
    # A kernel issues the same form thousands of times: each form is checked once.
    known = recorder().valid_matmuls
    if form not in known:
        _check_matmul(dst, stationary, moving, "perf_mode" in attributes, is_transpose)
        known.add(form)
    # Not part of the form: two tiles of one shape may lie in different banks.
    check_bank("nc_matmul", dst)
    if accumulate is not None:
        attributes["accumulate"] = bool(accumulate)
    if is_transpose:
        attributes["is_transpose"] = True
    if is_stationary_onezero:
        attributes["is_stationary_onezero"] = True
    if is_moving_onezero:
        attributes["is_moving_onezero"] = True
    if tile_position or tile_size:
        _tiling(stationary, tile_position, tile_size, attributes)
    return emit(
        "nc_matmul",
        "tensor",
        {"dst": dst},
        {"stationary": stationary, "moving": moving},
        attributes,
    )


def _nc_transpose(o: Operands) -> None:
    """Transpose data into dst, with free dimensions flattened into one; both engines are bit-exact."""
    data = o.raw("data")
    _move(o, data.reshape(data.shape[0], -1).T, o.dtype("data"))


@operation(execute=_nc_transpose, cost=_transpose_cost, opcode=("LDWEIGHTS", "MATMUL", "TRANSPOSE"))
def nc_transpose(
    dst: NkiTensor, data: NkiTensor, engine: Any = engine_enum.unknown, name: str | None = None
) -> NkiInstruction:
    """Compute `dst` [F, P] = `data` [P, F].T: on Tensor from SBUF to PSUM up to 128 x 128, on Vector up to 32 x 32."""
    check.on_chip("nc_transpose", dst=dst, data=data)
    rows, columns = data.shape[0], check.free(data)
    default = "tensor" if dst.storage.memory == "psum" and data.storage.memory == "sbuf" else "vector"
    chosen = check.chosen_engine("nc_transpose", engine, ("tensor", "vector"), default)
    if dst.shape[0] != columns or check.free(dst) != rows:
        raise invalid(f"nc_transpose: dst must be [{columns}, {rows}]: {dst!r} from {data!r}")
    if chosen == "tensor":
        if dst.storage.memory != "psum" or data.storage.memory != "sbuf":
            raise invalid(f"nc_transpose: the Tensor engine reads SBUF and writes PSUM: {data!r} to {dst!r}")
        if (
            data.dtype not in _INPUTS and chip_for(recorder().target).generation < 3
        ):  # bits of integers may look like NaN
            raise not_modelled(
                f"nc_transpose of {data.dtype} on the Tensor engine of NeuronCore-v2, not bit-exact there,"
            )
        limit = 128
        check_bank("nc_transpose", dst)
    else:
        limit = 32
    if rows > limit or columns > limit:
        raise invalid(f"nc_transpose: at most {limit} x {limit} on {chosen}: {data!r}")
    if SIZE_BYTES[dst.dtype] < SIZE_BYTES[data.dtype] or (chosen == "vector" and dst.dtype != data.dtype):
        raise invalid(f"nc_transpose: dst must have the dtype of data: {data!r} to {dst!r}")
    return emit("nc_transpose", chosen, {"dst": dst}, {"data": data}, {})


class _Stack:
    """Operands of products into one tile, one below the other in float32; calling it adds their product to the tile."""

    def __init__(self, memory: Memory, access: Access, rows: int, columns: int, add: bool) -> None:
        self.memory = memory
        self.access = access
        self.add = add
        self.depth = 0
        self.stationary = memory.scratch((_STACKED_ROWS, rows))
        self.moving = memory.scratch((_STACKED_ROWS, columns))

    def takes(self, access: Access, depth: int) -> bool:
        """Return whether a product of this contraction size into this place can join."""
        return self.depth + depth <= _STACKED_ROWS and access == self.access

    def push(self, stationary: np.ndarray, moving: np.ndarray) -> None:
        place = slice(self.depth, self.depth + stationary.shape[0])
        copy_to_float32(stationary, self.stationary[place])
        copy_to_float32(moving, self.moving[place])
        self.depth += stationary.shape[0]

    def __call__(self) -> None:
        target = self.memory.view(self.access)
        product = self.memory.product(self.stationary[: self.depth].T, self.moving[: self.depth]).reshape(target.shape)
        if self.add:
            target += product
        else:
            target[...] = product
        self.memory.reuse(self.stationary)
        self.memory.reuse(self.moving)


def _matrix(o: Operands, name: str) -> np.ndarray:
    """Return an operand as [contraction, free], in its own dtype."""
    operand = o.raw(name)
    mode = o.attributes.get("perf_mode") or "none"
    if mode == "none":
        return operand.reshape(operand.shape[0], -1)
    if mode != "double_row":
        o.refuse(f"perf_mode {mode!r} is not modelled")
    if operand.ndim < 3 or operand.shape[1] != 2:
        o.refuse(f"double_row needs {name} of shape [K, 2, ...], found {list(operand.shape)}")
    return operand.reshape(operand.shape[0] * 2, -1)


def add_product(o: Operands, product: np.ndarray, add: np.ndarray | bool) -> None:
    """Overwrite dst with float32 values or add them to it, for each element as `add` says."""
    access = o.access("dst")
    target = o.memory.view(access)
    product = product.reshape(target.shape)
    result = np.where(add, to_float32(target) + product, product)
    bits(target)[...] = bits(from_float32(result, access.dtype))


def _transpose_by_identity(o: Operands) -> None:
    """Transpose mode moves bits: the operand that is not the identity arrives in dst unrounded, NaN and Inf included."""
    stationary, moving = o.raw("stationary"), o.raw("moving")
    stationary = stationary.reshape(stationary.shape[0], -1)
    moving = moving.reshape(moving.shape[0], -1)
    if _is_identity(moving):
        moved, dtype = stationary.T, o.dtype("stationary")
    elif _is_identity(stationary):
        moved, dtype = moving, o.dtype("moving")
    else:
        o.refuse("is_transpose needs an identity matrix as moving operand")
    _move(o, moved, dtype)


def _move(o: Operands, moved: np.ndarray, dtype: str) -> None:
    """Store transposed elements. float8 becomes 16-bit elements whose upper half is zero (trainium2_arch.rst)."""
    target = o.dtype("dst")
    if dtype == target:
        o.write_bits("dst", moved)
    elif SIZE_BYTES[dtype] == 1 and SIZE_BYTES[target] == 2 and o.engine == "tensor":
        o.write_bits("dst", bits(moved).astype(np.uint16).view(numpy_dtype(target)))
    else:
        o.write("dst", to_float32(moved))


def _is_identity(matrix: np.ndarray) -> bool:
    return matrix.shape[0] == matrix.shape[1] and np.array_equal(to_float32(matrix), np.eye(matrix.shape[0]))


def _check_matmul(dst: NkiTensor, stationary: NkiTensor, moving: NkiTensor, double_row: bool, transpose: bool) -> None:
    if stationary.storage.memory != "sbuf" or moving.storage.memory != "sbuf":
        raise invalid(f"nc_matmul: stationary and moving must be in SBUF: {stationary!r}, {moving!r}")
    if dst.storage.memory != "psum":
        raise invalid(f"nc_matmul: dst must be in PSUM: {dst!r}")
    rows, columns, length = stationary.shape[0], check.free(stationary), check.free(moving)
    if double_row:
        columns, length = _double_row_sizes(stationary, moving)
    if moving.shape[0] != rows:
        raise invalid(f"nc_matmul: contraction differs: stationary {stationary!r}, moving {moving!r}")
    if columns > 128:
        raise invalid(f"nc_matmul: stationary has {columns} free elements, at most 128: {stationary!r}")
    most = 512 if chip_for(recorder().target).generation < 4 else PSUM_BANKS * PSUM_BANK_BYTES // SIZE_BYTES[dst.dtype]
    if length > most:
        raise invalid(f"nc_matmul: moving has {length} free elements, at most {most}: {moving!r}")
    if length > 512:
        raise not_modelled(f"nc_matmul of {length} moving columns, more than a PSUM bank holds,")
    if dst.shape[0] != columns or check.free(dst) != length:
        raise invalid(f"nc_matmul: dst must be [{columns}, {length}] for these operands: {dst!r}")
    first, second = stationary.dtype, moving.dtype
    if first not in _INPUTS or second not in _INPUTS:
        raise invalid(f"nc_matmul: operands must be floats of at most 32 bits: {stationary!r}, {moving!r}")
    if (first in _FLOAT32) != (second in _FLOAT32):
        raise invalid(f"nc_matmul: float32 goes with float32 only: {stationary!r}, {moving!r}")
    if dst.dtype != "float32" and not transpose and chip_for(recorder().target).generation < 4:
        raise invalid(f"nc_matmul: dst must be float32 on {recorder().target}: {dst!r}")


def _double_row_sizes(stationary: NkiTensor, moving: NkiTensor) -> tuple[int, int]:
    for key, value in (("stationary", stationary), ("moving", moving)):
        if value.dtype not in _FLOAT8:
            raise invalid(f"nc_matmul: double_row needs float8 operands; {key} is {value!r}")
        if len(value.shape) < 3 or value.shape[1] != 2:
            raise invalid(f"nc_matmul: double_row needs a first free dimension of 2; {key} is {value!r}")
    return check.free(stationary) // 2, check.free(moving) // 2


def _tiling(stationary: NkiTensor, position: Any, size: Any, attributes: dict[str, Any]) -> None:
    position, size = [int(at) for at in position], [int(at) for at in size]
    if len(position) != 2 or len(size) != 2:
        raise invalid("nc_matmul: tile_position and tile_size must both be (row, column)")
    for at, extent, edge in zip(position, size, ("row", "column")):
        if extent not in (32, 64, 128) or at % extent or at + extent > 128:
            raise invalid(f"nc_matmul: {edge} tile of {extent} at {at} does not divide the 128 x 128 array")
    if stationary.shape[0] > size[0] or check.free(stationary) > size[1]:
        raise invalid(f"nc_matmul: {stationary!r} exceeds tile_size {tuple(size)}")
    attributes["tile_position"], attributes["tile_size"] = position, size


def check_bank(op: str, dst: NkiTensor) -> None:
    """Check that a matmul writes inside one PSUM bank (2 KiB of each partition)."""
    storage = dst.storage
    start, room = storage.address or 0, storage.free * storage.itemsize
    if start % PSUM_BANK_BYTES + room <= PSUM_BANK_BYTES and (not start or dst._access is not True):
        return  # whatever lies in the tensor lies in one bank
    width = SIZE_BYTES[dst.dtype]
    first = dst.offset * width % room + start
    last = first + sum((size - 1) * step for size, step in zip(dst.shape[1:], dst.strides[1:])) * width
    if first // PSUM_BANK_BYTES != last // PSUM_BANK_BYTES or last >= PSUM_BANKS * PSUM_BANK_BYTES:
        raise invalid(f"{op}: dst crosses a PSUM bank of 2 KiB (bytes {first} to {last}): {dst!r}")
