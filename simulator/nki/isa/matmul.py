"""Tensor engine: `nc_matmul` and `nc_transpose` (AWS docs, nki.isa.nc_matmul, nki.isa.nc_transpose)."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.dtypes import SIZE_BYTES
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import engine as engine_enum
from neff_bench.simulator.recording.enums import matmul_perf_mode, word
from neff_bench.simulator.recording.recorder import NkiInstruction, Recorder, invalid, not_modelled, recorder
from neff_bench.simulator.recording.regions import PSUM_BANK_BYTES, PSUM_BANKS
from neff_bench.simulator.recording.tensor import NkiTensor, access

_FLOAT32 = frozenset({"float32", "tfloat32"})
_FLOAT8 = frozenset({"float8_e4m3", "float8_e5m2", "float8_e4m3fn"})
_INPUTS = _FLOAT32 | _FLOAT8 | {"bfloat16", "float16"}
_NO_PERF = matmul_perf_mode.none


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
    """`dst` [M, N] in PSUM = `stationary` [K, M].T @ `moving` [K, N], both in SBUF; K, M <= 128, N <= 512."""
    now = recorder()
    attributes: dict[str, Any] = {}
    if perf_mode is not _NO_PERF and perf_mode is not None:
        mode = word(matmul_perf_mode, perf_mode)
        if mode != "none":
            attributes["perf_mode"] = mode
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
    if form not in now.valid_matmuls:
        _check_matmul(now, dst, stationary, moving, "perf_mode" in attributes, is_transpose)
        now.valid_matmuls.add(form)
    _check_bank("nc_matmul", dst)
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
    return now.emit(
        "nc_matmul",
        "tensor",
        {"dst": access(dst)},
        {"stationary": access(stationary), "moving": access(moving)},
        attributes,
    )


def _check_matmul(
    now: Recorder, dst: NkiTensor, stationary: NkiTensor, moving: NkiTensor, double_row: bool, transpose: bool
) -> None:
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
    if length > 512:
        raise invalid(f"nc_matmul: moving has {length} free elements, at most 512: {moving!r}")
    if dst.shape[0] != columns or check.free(dst) != length:
        raise invalid(f"nc_matmul: dst must be [{columns}, {length}] for these operands: {dst!r}")
    first, second = stationary.dtype, moving.dtype
    if first not in _INPUTS or second not in _INPUTS:
        raise invalid(f"nc_matmul: operands must be floats of at most 32 bits: {stationary!r}, {moving!r}")
    if (first in _FLOAT32) != (second in _FLOAT32):
        raise invalid(f"nc_matmul: float32 goes with float32 only: {stationary!r}, {moving!r}")
    if dst.dtype != "float32" and not transpose and now.target != "trn3":
        raise invalid(f"nc_matmul: dst must be float32 on {now.target}: {dst!r}")


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


def _check_bank(op: str, dst: NkiTensor) -> None:
    """A matmul writes inside one PSUM bank (2 KiB of each partition)."""
    storage = dst.storage
    width = SIZE_BYTES[dst.dtype]
    if storage.free * storage.itemsize <= PSUM_BANK_BYTES and not storage.address:
        return
    first = dst.offset * width % (storage.free * storage.itemsize) + (storage.address or 0)
    last = first + sum((size - 1) * step for size, step in zip(dst.shape[1:], dst.strides[1:])) * width
    if first // PSUM_BANK_BYTES != last // PSUM_BANK_BYTES or last >= PSUM_BANKS * PSUM_BANK_BYTES:
        raise invalid(f"{op}: dst crosses a PSUM bank of 2 KiB (bytes {first} to {last}): {dst!r}")


def nc_transpose(
    dst: NkiTensor, data: NkiTensor, engine: Any = engine_enum.unknown, name: str | None = None
) -> NkiInstruction:
    """`dst` [F, P] = `data` [P, F].T: on Tensor from SBUF to PSUM up to 128 x 128, on Vector up to 32 x 32."""
    now = recorder()
    check.on_chip("nc_transpose", dst=dst, data=data)
    rows, columns = data.shape[0], check.free(data)
    default = "tensor" if dst.storage.memory == "psum" and data.storage.memory == "sbuf" else "vector"
    chosen = check.chosen_engine("nc_transpose", engine, ("tensor", "vector"), default)
    if dst.shape[0] != columns or check.free(dst) != rows:
        raise invalid(f"nc_transpose: dst must be [{columns}, {rows}]: {dst!r} from {data!r}")
    if chosen == "tensor":
        if dst.storage.memory != "psum" or data.storage.memory != "sbuf":
            raise invalid(f"nc_transpose: the Tensor engine reads SBUF and writes PSUM: {data!r} to {dst!r}")
        if data.dtype not in _INPUTS:
            raise not_modelled(f"nc_transpose of {data.dtype} on the Tensor engine")
        limit = 128
        _check_bank("nc_transpose", dst)
    else:
        limit = 32
    if rows > limit or columns > limit:
        raise invalid(f"nc_transpose: at most {limit} x {limit} on {chosen}: {data!r}")
    if SIZE_BYTES[dst.dtype] < SIZE_BYTES[data.dtype] or (chosen == "vector" and dst.dtype != data.dtype):
        raise invalid(f"nc_transpose: dst must have the dtype of data: {data!r} to {dst!r}")
    return now.emit("nc_transpose", chosen, {"dst": access(dst)}, {"data": access(data)}, {})
