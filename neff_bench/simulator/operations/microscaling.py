"""Implements microscaling formats of NeuronCore-v4: blocks of 32 values that share a scale, a power of two (OCP Microscaling Formats v1.0).

A block is 8 partitions x one packed element, which holds four values. The scales of the blocks in a quadrant of 32 partitions
lie in four partitions of the same quadrant of another tile, one byte for each block: the exponent plus 127, or 255 for NaN
(AWS docs nki/deep-dives/mxfp-matmul.rst, nki.isa.quantize_mx, nki.isa.nc_matmul_mx).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neff_bench.chips import Chip, chip_for, names_from
from neff_bench.chips.dtypes import VALUES
from neff_bench.parsers.formats.packed import packed, unpacked
from neff_bench.simulator.costs.engine_work import engine_work
from neff_bench.simulator.costs.steps import Lowered
from neff_bench.simulator.costs.table import PRODUCT
from neff_bench.simulator.costs.tensor_engine import on_pe, product_row
from neff_bench.simulator.machine.addressing import bits
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.numpy_dtypes import PACKED, SIZE_BYTES
from neff_bench.simulator.operations.declaration import operation
from neff_bench.simulator.operations.matmul import add_product, adds, check_bank
from neff_bench.simulator.program import Access, Instruction, Program
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.recorder import NkiInstruction, emit, invalid, recorder
from neff_bench.simulator.recording.regions import PSUM_BANK_BYTES, PSUM_BANKS
from neff_bench.simulator.recording.tensor import NkiTensor

BLOCK_PARTITIONS = 8
QUADRANT = 32
"""Partitions."""
SCALES = QUADRANT // BLOCK_PARTITIONS
"""Partitions of a quadrant that hold its scales."""
BIAS, NOT_A_NUMBER = 127, 255
"""The bias and the NaN of the code of a scale."""

_SCALE_DTYPES = ("uint8", "float8_e8m0fnu")
ROOM = 1
"""Powers of two that the scale of quantize_mx leaves above the largest value of a block, so that it can be rounded up: 1 from NKI 0.5 on, 0
before, as in OCP's sample algorithm (AWS release notes of NKI 0.5)."""

LARGEST = {"float8_e4m3fn_x4": (8, 448.0), "float8_e5m2_x4": (15, 57344.0)}
"""What quantize_mx writes: the exponent of the largest power of two that a value of it can be, and the largest value."""
_NAMES = {key: (key, *(f"{key}_{quadrant}" for quadrant in (1, 2, 3))) for key in ("stationary_scale", "moving_scale", "dst_scale")}  # fmt: skip
"""The operands of a scale, one for each quadrant: a tensor is one run of partitions."""


def _quantize_mx(o: Operands) -> None:
    """X = 2 ** (floor(log2 a) - (E - ROOM)) for the largest absolute value a of a block and the largest exponent E, at least
    2 ** -127; each value over X, rounded to nearest even. A block with NaN or an infinity gets the scale NaN, and NaN as values."""
    target = o.dtype("dst")
    exponent, most = LARGEST[target]
    values = o.rows("src")
    blocks = values.reshape(values.shape[0] // BLOCK_PARTITIONS, BLOCK_PARTITIONS, -1, VALUES)
    largest = np.abs(blocks).max((1, 3))
    odd = ~np.isfinite(largest)
    exponents = np.frexp(np.where(odd, 1, largest))[1] - 1 - (exponent - ROOM)  # frexp: 0.5 <= mantissa < 1
    codes = np.where(largest > 0, np.maximum(exponents + BIAS, 0), 0)
    scaled = np.clip(np.ldexp(blocks, (BIAS - codes)[:, None, :, None]), -most, most)
    scaled[np.broadcast_to(odd[:, None, :, None], scaled.shape)] = np.nan
    o.write_bits("dst", packed(scaled.reshape(values.shape), target))
    codes = np.where(odd, NOT_A_NUMBER, codes).astype(np.uint8)
    for quadrant, name in enumerate(_given(o.instruction.writes, "dst_scale")):
        rows = codes[quadrant * SCALES : (quadrant + 1) * SCALES]
        o.write_bits(name, rows.reshape(o.shape(name)))


@operation(execute=_quantize_mx, cost=engine_work(), opcode="QUANTIZE_MX")
def quantize_mx(dst: NkiTensor, src: NkiTensor, dst_scale: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Quantise into `dst` [P, F / 4] and `dst_scale` the blocks of `src` [P, F], bfloat16 or float16, as MXFP8. All in SBUF; P: 32, 64, 96 or 128."""
    _check_target("quantize_mx")
    _check_in_sbuf("quantize_mx", dst=dst, src=src, dst_scale=dst_scale)
    if src.dtype not in ("bfloat16", "float16"):
        raise invalid(f"quantize_mx: src must be bfloat16 or float16: {src!r}")
    if dst.dtype not in LARGEST:
        raise invalid(f"quantize_mx: dst must be one of {', '.join(LARGEST)}: {dst!r}")
    _check_partitions("quantize_mx", "src", src)
    if check.free(src) % VALUES:
        raise invalid(f"quantize_mx: the elements of src in a partition must be a multiple of {VALUES}: {src!r}")
    if dst.shape[0] != src.shape[0] or check.free(dst) * VALUES != check.free(src):
        raise invalid(f"quantize_mx: dst must be [{src.shape[0]}, {check.free(src) // VALUES}] for {src!r}: {dst!r}")
    scales = _scales("quantize_mx", "dst_scale", dst_scale, dst)
    return emit("quantize_mx", "vector", {"dst": dst, **scales}, {"src": src}, {})


def _matmul_mx_cost(instruction: Instruction, program: Program, chip: Chip, opcodes: tuple[int, ...]) -> Lowered:
    """Return what a product costs: a cell of the PE takes four values of the contraction at once, so it is four times as deep in the same time."""
    stationary, moving = instruction.reads["stationary"], instruction.reads["moving"]
    row = product_row("nc_matmul_mx", chip, (stationary.dtype, moving.dtype), PRODUCT)
    return on_pe(chip, row, stationary.pattern[0][1] * VALUES, stationary.columns, moving.columns, stationary,
                 instruction.writes["dst"], False, opcodes, moving_bytes=moving.columns * SIZE_BYTES[moving.dtype])  # fmt: skip


def _nc_matmul_mx(o: Operands) -> None:
    """Compute dst = stationary.T @ moving over the partitions and the four values of an element, each times its scale. The sum is made in
    float64, where no scale overflows, and rounded once to float32. NaN is not known: with zero it gives zero (kernels of nki-library multiply memory that
    nothing has written with zero), with all else NaN."""
    stationary, moving = _values(o, "stationary"), _values(o, "moving")
    product = stationary.T @ moving
    if np.isnan(product).any():
        unknown = np.isnan(stationary), np.isnan(moving)
        product = np.where(unknown[0], 0, stationary).T @ np.where(unknown[1], 0, moving)
        met = _meet(unknown[0], moving != 0) | _meet(stationary != 0, unknown[1])
        product[met] = np.nan
    add_product(o, product.astype(np.float32), adds(o, o.access("dst")))


def _meet(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return which elements of a product have a term whose factors are both marked."""
    return np.asarray(np.matmul(first.T, second, dtype=np.float32) > 0)


@operation(execute=_nc_matmul_mx, cost=_matmul_mx_cost, opcode=("LDWEIGHTS", "MATMUL"))
def nc_matmul_mx(
    dst: NkiTensor,
    stationary: NkiTensor,
    moving: NkiTensor,
    stationary_scale: NkiTensor,
    moving_scale: NkiTensor,
    tile_position: Any = None,
    tile_size: Any = None,
    accumulate: bool | None = None,
    name: str | None = None,
) -> NkiInstruction:
    """Compute `dst` [M, N] in PSUM, float32 or bfloat16 = `stationary` [K, M].T @ `moving` [K, N], both packed, in SBUF and with their scales;
    K: 32, 64, 96 or 128, M even and <= 128, N what PSUM holds."""
    _check_target("nc_matmul_mx")
    _check_in_sbuf("nc_matmul_mx", stationary=stationary, moving=moving, stationary_scale=stationary_scale, moving_scale=moving_scale)  # fmt: skip
    for key, value in (("stationary", stationary), ("moving", moving)):
        if value.dtype not in PACKED:
            raise invalid(f"nc_matmul_mx: {key} must be one of {', '.join(PACKED)}: {value!r}")
        _check_partitions("nc_matmul_mx", key, value)
    columns = check.free(stationary)
    if moving.shape[0] != stationary.shape[0]:
        raise invalid(f"nc_matmul_mx: contraction differs: stationary {stationary!r}, moving {moving!r}")
    if columns > 128 or columns % 2:
        raise invalid(f"nc_matmul_mx: stationary must have an even number of columns, at most 128: {stationary!r}")
    _check_product(check.tensor("nc_matmul_mx", "dst", dst), columns, check.free(moving))
    scales = {
        **_scales("nc_matmul_mx", "stationary_scale", stationary_scale, stationary),
        **_scales("nc_matmul_mx", "moving_scale", moving_scale, moving),
    }
    attributes: dict[str, Any] = {} if accumulate is None else {"accumulate": bool(accumulate)}
    if tile_position or tile_size:
        attributes |= _tiling(stationary, tile_position, tile_size)
    reads = {"stationary": stationary, "moving": moving, **scales}
    return emit("nc_matmul_mx", "tensor", {"dst": dst}, reads, attributes)


def _given(operands: dict[str, Access], key: str) -> list[str]:
    """Return the operands of a scale that an instruction has, by quadrant."""
    return [name for name in _NAMES[key] if name in operands]


def _values(o: Operands, key: str) -> np.ndarray:
    """Return an operand of a product times its scales, float64 [4 partitions, elements]."""
    data = o.raw(key)
    values = unpacked(data.reshape(data.shape[0], -1)).astype(np.float64)
    names = _given(o.instruction.reads, f"{key}_scale")
    codes = np.concatenate([bits(o.raw(name)).reshape(SCALES, -1) for name in names]).astype(np.int32)
    scales = np.where(codes == NOT_A_NUMBER, np.nan, np.ldexp(1.0, codes - BIAS))
    blocks = values.reshape(len(codes), BLOCK_PARTITIONS, -1, VALUES) * scales[:, None, :, None]
    depth = data.shape[0] * VALUES
    return np.reshape(blocks.transpose(0, 1, 3, 2), (depth, -1))


def _check_target(op: str) -> None:
    if not chip_for(recorder().target).mx:
        raise invalid(f"{op}: only on {names_from(generation=4)}, not on {recorder().target}")


def _check_in_sbuf(op: str, **operands: NkiTensor) -> None:
    for key, value in operands.items():
        if check.tensor(op, key, value).storage.memory != "sbuf":
            raise invalid(f"{op}: {key} must be in SBUF: {value!r}")


def _check_partitions(op: str, key: str, value: NkiTensor) -> None:
    if value.shape[0] % QUADRANT or value.shape[0] > 4 * QUADRANT:
        raise invalid(f"{op}: the partitions of {key} must be a multiple of {QUADRANT}, at most 128: {value!r}")


def _scales(op: str, key: str, scale: NkiTensor, data: NkiTensor) -> dict[str, NkiTensor]:
    """Return the scales of each quadrant of `data`: four partitions from the first of `scale` on, and again every 32 partitions."""
    quadrants, columns = data.shape[0] // QUADRANT, check.free(data)
    least = (quadrants - 1) * QUADRANT + SCALES
    if scale.dtype not in _SCALE_DTYPES:
        raise invalid(f"{op}: {key} must be {' or '.join(_SCALE_DTYPES)}: {scale!r}")
    if not least <= scale.shape[0] <= data.shape[0] or check.free(scale) != columns:
        raise invalid(f"{op}: {key} must be [{least} to {data.shape[0]}, {columns}] for {data!r}: {scale!r}")
    storage = scale.storage
    first = (storage.partition + scale.offset // (storage.free * storage.itemsize)) % QUADRANT
    if first not in range(0, 4 * SCALES, SCALES):
        raise invalid(f"{op}: {key} must start 0, 4, 8 or 12 partitions into a quadrant, not {first}: {scale!r}")
    starts = range(0, quadrants * QUADRANT, QUADRANT)
    return {name: scale.slice(0, at, at + SCALES) for name, at in zip(_NAMES[key], starts, strict=False)}


def _check_product(dst: NkiTensor, columns: int, length: int) -> None:
    if dst.storage.memory != "psum" or dst.dtype not in ("float32", "bfloat16"):
        raise invalid(f"nc_matmul_mx: dst must be float32 or bfloat16 in PSUM: {dst!r}")
    most = PSUM_BANKS * PSUM_BANK_BYTES // SIZE_BYTES[dst.dtype]
    if length > most:
        raise invalid(f"nc_matmul_mx: moving has {length} columns, at most {most} of {dst.dtype} fit PSUM")
    if dst.shape[0] != columns or check.free(dst) != length:
        raise invalid(f"nc_matmul_mx: dst must be [{columns}, {length}] for these operands: {dst!r}")
    if length * SIZE_BYTES[dst.dtype] <= PSUM_BANK_BYTES:
        check_bank("nc_matmul_mx", dst)


def _tiling(stationary: NkiTensor, position: Any, size: Any) -> dict[str, Any]:
    """Rows alone can be tiled."""
    try:
        (row, column), (rows, columns) = map(int, position), map(int, size)
    except (TypeError, ValueError):
        raise invalid("nc_matmul_mx: tile_position and tile_size must both be (row, column)") from None
    if rows not in (32, 64, 128) or row % rows or row + rows > 128 or column != 0 or columns != 128:
        raise invalid(
            f"nc_matmul_mx: tile_size must be (32, 64 or 128, 128) and tile_position (a multiple of the rows, 0): {size}, {position}"
        )
    if stationary.shape[0] > rows:
        raise invalid(f"nc_matmul_mx: {stationary!r} exceeds tile_size {tuple(size)}")
    return {"tile_position": [row, column], "tile_size": [rows, columns]}
