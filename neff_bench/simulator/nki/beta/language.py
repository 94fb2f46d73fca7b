"""Provides `neuronxcc.nki.language`: the old dialect's names over the current one's functions."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

from neff_bench.simulator.nki import isa, names
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.beta import masked
from neff_bench.simulator.nki.beta.allocation import Placed
from neff_bench.simulator.nki.beta.arguments import tile_operand
from neff_bench.simulator.nki.beta.blocks import Blocks
from neff_bench.simulator.nki.beta.grid import nc, num_programs, program_id, program_ndim, spmd_dim
from neff_bench.simulator.nki.beta.index import Grid, Index, arange, whole_numbers
from neff_bench.simulator.nki.beta.isa import _once, affine_select, nc_matmul, reduced_box
from neff_bench.simulator.nki.beta.loops import affine_range, loop_reduce, sequential_range, static_range
from neff_bench.simulator.nki.beta.mask import Box, Mask, whole
from neff_bench.simulator.nki.beta.precision import finfo, host_dtype, of_result
from neff_bench.simulator.nki.beta.psum import asked, wrote, zeroed
from neff_bench.simulator.nki.beta.tile import Tile, plain, result
from neff_bench.simulator.nki.beta.transfers import atomic_rmw, in_sbuf
from neff_bench.simulator.nki.beta.views import of_one_rank, write
from neff_bench.simulator.nki.language.operators import Operator, in_order
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.dtype_names import dtype_of
from neff_bench.simulator.recording.recorder import invalid, not_modelled, recorder
from neff_bench.simulator.recording.tensor import NkiTensor

__all__ = [
    "affine_range", "arange", "atomic_rmw", "finfo", "loop_reduce", "mgrid", "nc", "num_programs", "program_id",
    "program_ndim", "sequential_range", "spmd_dim", "static_range",
]  # fmt: skip

mgrid = Grid()


class par_dim(int):
    """The size of the partition dimension, wherever it stands in a shape."""


class _Float32(str):
    """`nl.fp32`: the dtype, with its limits."""

    __slots__ = ()
    min = -3.4028234663852886e38
    max = 3.4028234663852886e38


fp32 = _Float32("float32")


def ndarray(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **_: Any) -> Any:
    """Return a new tensor, uninitialised. Dimensions before `par_dim` are blocks, each a tile of its own."""
    return _new(shape, dtype, buffer, name, None)


def full(shape: Any, fill_value: Any, dtype: Any, *, buffer: Any = None, name: str = "", **_: Any) -> Any:
    """Return a new tensor with `fill_value` in every element."""
    return _new(shape, dtype, buffer, name, fill_value)


def zeros(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **_: Any) -> Any:
    """Make zeros as `lazy_initialization` does in PSUM: only what is read before it is written is filled."""
    return _new(shape, dtype, buffer, name, 0)


def ones(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **_: Any) -> Any:
    """Return a new tensor of ones."""
    return _new(shape, dtype, buffer, name, 1)


def zeros_like(a: Any, dtype: Any = None, *, buffer: Any = None, name: str = "", **_: Any) -> Any:
    """Return a new tensor of zeros with the shape of `a`, and its dtype unless one is given."""
    return _new(a.shape, a.dtype if dtype is None else dtype, buffer, name, 0)


def empty_like(a: Any, dtype: Any = None, *, buffer: Any = None, name: str = "", **_: Any) -> Any:
    """Return a new, uninitialised tensor with the shape of `a`, and its dtype unless one is given."""
    return _new(a.shape, a.dtype if dtype is None else dtype, buffer, name, None)


def _new(shape: Any, dtype: Any, buffer: Any, name: str, fill: Any) -> Any:
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    count = next((at for at, size in enumerate(sizes) if isinstance(size, par_dim)), 0)
    whole_sizes = whole_numbers("a shape", sizes)
    blocks, tile = whole_sizes[:count], whole_sizes[count:]
    region = nl.sbuf if buffer is None else buffer.region if isinstance(buffer, Placed) else buffer
    kind = dtype_of(dtype)
    source = recorder().source()
    if isinstance(region, nl.MemoryRegion) and region.memory == "hbm":
        blocks, tile = (), (*blocks, *tile)

    def make(at: tuple[int, ...]) -> Tile:
        address = None
        if isinstance(buffer, Placed) and recorder().dialect.get("places", True):
            address = buffer.place(at, tile[0], prod(tile[1:]) * nl_itemsize(kind))
        view = nl.ndarray(tile, kind, region, name if not blocks else "", address)
        view.storage.source = source
        if view.storage.memory == "psum":
            asked(view)
        return _filled(view, fill)

    return Blocks(blocks, tile, kind, region, make) if blocks else make(())


def nl_itemsize(kind: str) -> int:
    """Return the bytes of one element of a canonical dtype."""
    from neff_bench.chips.dtypes import SIZE_BYTES

    return SIZE_BYTES[kind]


def _filled(view: NkiTensor, fill: Any) -> Tile:
    if fill is None:
        return Tile(view)
    if view.storage.memory == "psum" and plain(fill) == 0:
        zeroed(view)
        return Tile(view)
    if view.on_chip:
        return result(lambda: _set(view, fill))
    return Tile(nl.full(view.shape, fill, view.dtype, view.buffer))


def _set(view: NkiTensor, fill: Any) -> NkiTensor:
    isa.memset(view, fill)
    wrote(view)
    return view


def rand(shape: Any, dtype: Any = "float32", **options: Any) -> Tile:
    """Return uniform random numbers in [0, 1] in a new tile."""
    found: Tile = result(lambda: nl.rand(tuple(map(int, shape)), dtype, **options))
    return found


def random_seed(seed: Any, *, mask: Any = None) -> None:
    """Seed the generator with a tile of one 32-bit element, or with a number."""
    if mask is not None:
        raise not_modelled("nl.random_seed with a mask")
    nl.random_seed(seed.read() if isinstance(seed, Tile) else nl.full((1, 1), int(seed), "int32"))


def shared_constant(constant: Any, dtype: Any = None) -> Tile:
    """Return a constant in HBM, in `dtype`."""
    if dtype is not None:
        import numpy as np

        constant = np.asarray(constant).astype(host_dtype(dtype))
    return Tile(nl.shared_constant(constant))


def shared_identity_matrix(n: int, dtype: Any = "uint8") -> Tile:
    """Return the identity [n, n] as a constant in HBM, which a kernel loads (AWS docs nki/test/test_psum_modulo_alloc.py)."""
    import numpy as np

    return shared_constant(np.eye(n), dtype)


def load(src: Tile, *, mask: Any = None, dtype: Any = None) -> Tile:
    """Return a new SBUF tile with the values of an HBM tensor, where `mask` holds."""
    if isinstance(src, NkiTensor):
        raise invalid("load: a kernel of neuronxcc.nki is decorated with its nki.jit; this one is not")
    if not isinstance(src, Tile):
        raise invalid(f"load: src must be a tensor in HBM, not {type(src).__name__}")
    if not nl.is_hbm(src.buffer):
        raise invalid(f"load: src must be in HBM: {src!r}")
    flat = src.ndim == 1
    return masked.under(
        mask,
        src.shape,
        {"src": src},
        lambda parts: nl.load(parts["src"].read(), dtype),
        (lambda box: (*box, (0, 1))) if flat else (lambda box: box),
        src.dtype if dtype is None else dtype,
    )


def store(dst: Tile, value: Any, *, mask: Any = None) -> None:
    """Write a tile or a number into an HBM tensor, where `mask` holds."""
    masked.each(
        mask,
        dst.shape,
        {"dst": dst, "value": value},
        lambda parts: write(parts["dst"].place(), plain(parts["value"])),
    )


def load_transpose2d(src: Tile, *, mask: Any = None, dtype: Any = None) -> Tile:
    """Return the transposed values of a 2-d tensor in HBM, where `mask` holds."""
    kind = src.dtype if dtype is None else dtype_of(dtype)

    def compute(parts: dict[str, Any]) -> NkiTensor:
        loaded = nl.load_transpose2d(parts["src"].read())
        if loaded.dtype == kind:
            return loaded
        made = nl.ndarray(loaded.shape, kind)
        isa.tensor_copy(made, loaded)
        return made

    return masked.under(mask, src.shape, {"src": src}, compute, lambda box: (box[1], box[0]), kind)


def _reduced(function: Any, x: Tile, axis: Any, dtype: Any, mask: Any, keepdims: bool) -> Tile:
    """Reduce any free axes: those that stay are moved before those that go."""
    axes = check.free_axes(f"nl.{function.__name__.removeprefix('reduce_')}", x, axis)
    kept = [at for at in range(x.ndim) if at not in axes]

    def compute(parts: dict[str, Any]) -> NkiTensor:
        view = parts["x"].read()
        turned = view.permute([*kept, *axes])
        made: NkiTensor = function(turned, axis=list(range(len(kept), view.ndim)), dtype=dtype, keepdims=True)
        return made.reshape(tuple(stop - first for first, stop in project(whole(view.shape))))

    def project(box: Box) -> Box:
        return reduced_box(box, axes, not keepdims)

    _once(mask, x.shape, axes)
    return masked.under(mask, x.shape, {"x": x}, compute, project, x.dtype if dtype is None else dtype)


def sum(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False) -> Tile:
    """Return the sum over `axis`."""
    return _reduced(nl.sum, x, axis, dtype, mask, keepdims)


def max(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False) -> Tile:
    """Return the largest element over `axis`."""
    return _reduced(nl.max, x, axis, dtype, mask, keepdims)


def min(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False) -> Tile:
    """Return the smallest element over `axis`."""
    return _reduced(nl.min, x, axis, dtype, mask, keepdims)


def prod_(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False) -> Tile:
    """Return the product over `axis`."""
    return _reduced(nl.prod, x, axis, dtype, mask, keepdims)


def mean(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False) -> Tile:
    """Return the mean over `axis`."""
    return _reduced(nl.mean, x, axis, dtype, mask, keepdims)


class Function(Operator):
    """An operator of the current dialect that takes and returns tiles."""

    __slots__ = ()

    def __call__(self, *given: Any, dtype: Any = None, mask: Any = None, **named: Any) -> Any:
        if unknown := named.keys() - {"x", "y"}:
            raise invalid(f"nl.{self.__name__} has no argument {sorted(unknown)[0]!r}; it takes x, y, dtype, mask")
        operands = in_order(self.__name__, given, named)
        tiles = [value for value in operands if isinstance(value, Tile)]
        if not tiles:
            raise invalid(
                f"nl.{self.__name__} works on tiles, not on {type(operands[0]).__name__ if operands else '()'}"
            )
        kind = of_result(self.__name__, operands) if dtype is None else dtype
        shape = tuple(_most(sizes) for sizes in zip(*(tile.shape for tile in tiles if tile.ndim == tiles[0].ndim)))
        named = {str(at): value for at, value in enumerate(operands)}
        call = super().__call__
        return masked.under(
            mask, shape, named, lambda parts: call(*of_one_rank(*map(plain, parts.values())), dtype=kind), dtype=kind
        )


def _most(sizes: tuple[int, ...]) -> int:
    most = sizes[0]
    for size in sizes[1:]:
        most = size if size > most else most
    return most


def copy(src: Tile, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """Return a new SBUF tile with the values of `src`."""
    kind = src.dtype if dtype is None else dtype

    def compute(parts: dict[str, Any]) -> NkiTensor:
        view = parts["src"].read()
        made = nl.ndarray(view.shape, kind)
        isa.tensor_copy(made, view)
        return made

    return masked.under(mask, src.shape, {"src": src}, compute, dtype=kind)


def static_cast(value: Any, dtype: Any, *, mask: Any = None) -> Any:
    """Return a tile or an array of the host in another dtype: a copy. A number stays a number."""
    if isinstance(value, Tile):
        return copy(value, dtype=dtype, mask=mask)
    return value.astype(host_dtype(dtype)) if hasattr(value, "astype") else value


def matmul(x: Tile, y: Tile, *, transpose_x: bool = False, mask: Any = None, **_: Any) -> Tile:
    """Return `x` @ `y`, or `x`.T @ `y` with `transpose_x`, in PSUM."""
    tile_operand({"x": x}, "x", "matmul")
    tile_operand({"y": y}, "y", "matmul")
    if mask is not None and not (isinstance(mask, bool) and mask):
        left = x if transpose_x else Tile(in_sbuf(transpose(x).read()))
        return nc_matmul(left, y, mask=mask)
    return result(lambda: nl.matmul(in_sbuf(x.read()), in_sbuf(y.read()), transpose_x))


def transpose(x: Tile, *, dtype: Any = None, mask: Any = None) -> Tile:
    """Return the transposed tile."""
    return masked.under(
        mask,
        x.shape,
        {"x": x},
        lambda parts: nl.transpose(in_sbuf(parts["x"].read()), dtype),
        lambda box: (box[1], box[0]),
        x.dtype,
    )


def where(condition: Any, x: Any, y: Any, *, dtype: Any = None, mask: Any = None) -> Tile:
    """Choose by a tile, or by affine comparisons, which GpSimd evaluates: into the result, or into ones and zeros that select."""
    if isinstance(condition, Mask) and isinstance(x, Tile) and not isinstance(y, Tile):
        return affine_select(condition, x, y, mask=mask, dtype=dtype)
    if isinstance(condition, Mask):
        shape = next((value.shape for value in (x, y) if isinstance(value, Tile)), None)
        if shape is None:
            raise invalid("where: x or y must be a tile")
        condition = affine_select(condition, ones(shape, "float32"), 0.0)
    if mask is not None:
        raise not_modelled("nl.where with a mask")
    return result(lambda: nl.where(plain(condition), plain(x), plain(y), dtype))


def broadcast_to(src: Tile | Index, *, shape: Any) -> Tile | Index:
    """Return the tile, or the index, under numpy's broadcasting rules."""
    return src.broadcast_to(tuple(shape))


def device_print(*_: Any, **__: Any) -> None:
    """Print nothing: no value is known while recording."""


_OF_ITS_SHAPE = {"softmax": 1, "rms_norm": 2, "dropout": None}
"""Functions whose result has the shape of their first tile, with the place of the reduced axis among the arguments."""


def _of_its_shape(found: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], mask: Any) -> Tile:
    """Return the function on each box that `mask` holds."""
    x, place = args[0], _OF_ITS_SHAPE[name]
    if place is not None:
        axis = args[place] if len(args) > place else kwargs.get("axis", -1)
        _once(mask, x.shape, [int(at) % x.ndim for at in (axis if isinstance(axis, (list, tuple)) else (axis,))])
    operands = {str(at): value for at, value in enumerate(args)} | kwargs

    def compute(parts: dict[str, Any]) -> NkiTensor:
        given = plain(parts)
        made: NkiTensor = found(*(given[str(at)] for at in range(len(args))), **{key: given[key] for key in kwargs})
        return made

    return masked.under(mask, x.shape, operands, compute, dtype=x.dtype)


_TAKEN_AS_THEY_ARE = frozenset({"ds", "NKIObject"})


@lru_cache(maxsize=512)
def __getattr__(name: str) -> Any:
    """Return a name of the current dialect: operators and functions take tiles, the rest is as it is."""
    if name == "prod":
        return prod_
    found = vars(nl).get(name)
    if found is None or name in ("annotations",):
        raise names.missing("neuronxcc.nki.language", name)
    if isinstance(found, Operator):
        return Function(found.__name__)
    if not callable(found) or isinstance(found, type) or found is range:
        return found

    def function(*args: Any, mask: Any = None, **kwargs: Any) -> Any:
        if mask is None or (isinstance(mask, bool) and mask):
            return result(lambda: found(*plain(args), **plain(kwargs)))
        if name not in _OF_ITS_SHAPE or not args or not isinstance(args[0], Tile):
            raise not_modelled(f"nl.{name} with a mask")
        return _of_its_shape(found, name, args, kwargs, mask)

    return function


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor or a tile."""
    return isinstance(value, (Tile, NkiTensor))
