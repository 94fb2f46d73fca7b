"""The programs whose simulated times are pinned: built-in kernels, programs made by hand for one part of the chip each, and
kernels of nki-library, which a checkout of it has."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Callable
from pathlib import Path

from neff_bench.chips import CHIPS
from neff_bench.simulator.compiler.code.allocation import open_sbuf_bytes
from neff_bench.simulator.compiler.code.descriptors import made_at_compile_time
from neff_bench.simulator.costs import table
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec
from neff_bench.simulator.nki.trace import Call, record
from neff_bench.simulator.operations import OPERATIONS
from neff_bench.simulator.program import Access, Dynamic, Program
from tests.golden.gaps import gaps, held_weights
from tests.simulator.programs import ProgramBuilder

_KERNELS = "neff_bench.stage1_generate.kernels"
_MLP = ("hidden", "gate_w", "up_w", "down_w")


def _recorded(entry: str, dtype: str, path: tuple[str, ...] = (), arguments=None, **shapes) -> Callable[[str], Program]:
    """A recorded kernel, on all cores of a logical core. `shapes`: by input."""

    def build(target: str) -> Program:
        inputs = tuple(InputSpec(name, shape, dtype) for name, shape in shapes.items())
        spec = KernelSpec(entry, inputs, path, arguments or {})
        with contextlib.redirect_stderr(io.StringIO()):
            return trace_kernel(spec, target, CHIPS[target].max_lnc)

    return build


def _mlp_shapes(names: tuple[str, ...], b: int, s: int, h: int, i: int) -> dict[str, tuple[int, ...]]:
    return dict(zip(names, ((b, s, h), (h, i), (h, i), (i, h)), strict=True))


def _mlp_of_xla(target: str) -> Program:
    from neff_bench.simulator.hlo.lower import lower_hlo
    from neff_bench.stage1_generate.kernels.mlp_xla import mlp
    from neff_bench.stage1_generate.toolchains.xla import trace

    shapes = _mlp_shapes(_MLP, 1, 128, 512, 256).values()
    return lower_hlo(trace(mlp, [(shape, "bfloat16") for shape in shapes]), target, CHIPS[target].max_lnc)


def _one_copy(target: str) -> Program:
    """Nearly nothing: what surrounds every kernel is most of its time."""
    b = ProgramBuilder(target=target)
    b.copy(b.output("out", (128, 64), "float32"), b.load_of("x", (128, 64), "float32"))
    return b.program()


def _engines(target: str) -> Program:
    """Chains and streams of operations on Scalar, Vector and GpSimd, narrow and wide, in SBUF and PSUM."""
    b = ProgramBuilder(target=target)
    wide, narrow = (b.load_of(f"x{n}", (128, n), "float32") for n in (512, 8))
    half = b.load_of("half", (128, 512), "bfloat16")
    scale = b.load_of("scale", (128, 1), "float32")
    for n, data in ((512, wide), (8, narrow)):
        for engine in ("scalar", "vector", "gpsimd"):
            last = data
            for _ in range(6):
                last = b.step("tensor_copy", last, (128, n), "float32", engine, None, "src")
                b.step("tensor_copy", data, (128, n), "float32", engine, None, "src")
        for function in ("exp", "exp", "silu", "copy"):
            b.step("activation", data, (128, n), "float32", "scalar", op=function)
            b.step("activation_reduce", data, (128, n), "float32", "scalar", op=function)
        for op in ("reciprocal", "tensor_scalar", "max8"):
            b.step(op, data, (128, n), "float32", "vector", op="multiply")
        b.step("tensor_scalar", data, (128, n), "float32", "vector", {"operand0": scale}, op="multiply")
        b.step("tensor_tensor", data, (128, n), "float32", "vector", {"data2": data}, "data1", op="add")
        b.step("tensor_reduce", data, (128, 1), "float32", "vector", op="max")
        b.step("iota", data, (128, n), "int32", "gpsimd")
    for shape in ((128, 512), (128, 1)):
        b.step("tensor_reduce", half, shape, "bfloat16", "vector", op="add")
    b.step("tensor_copy", half, (128, 512), "bfloat16", "vector", None, "src")
    psum = b.psum((128, 512))
    b.do("tensor_copy", {"dst": psum}, {"src": half}, "vector")
    b.step("tensor_copy", psum, (128, 512), "bfloat16", "vector", None, "src")
    b.step("tensor_tensor", psum, (128, 512), "float32", "vector", {"data2": psum}, "data1", op="divide")
    b.do("register_load", {}, {"src": scale}, "sync")
    b.copy(b.output("out", (128, 512), "float32"), wide)
    return b.program()


def _products(target: str) -> Program:
    """Products wide and narrow, with weights that load fast and slowly, in chains and streams, and PE transposes."""
    b = ProgramBuilder(target=target)
    for dtype in ("bfloat16", "float32"):
        weights = b.load_of(f"w_{dtype}", (128, 128), dtype)
        moving = b.load_of(f"m_{dtype}", (128, 512), dtype)
        for rows, columns, repeats in ((128, 512, 12), (128, 32, 40), (8, 8, 120)):
            left, right = b.columns(weights, rows), b.columns(moving, columns)
            for _ in range(repeats):
                b.do("nc_matmul", {"dst": b.psum((rows, columns))}, {"stationary": left, "moving": right}, "tensor")
        last = weights
        for _ in range(6):
            product = b.psum((128, 128))
            b.do("nc_matmul", {"dst": product}, {"stationary": weights, "moving": last}, "tensor")
            last = b.step("tensor_copy", product, (128, 128), dtype, "vector", None, "src")
        b.do("nc_transpose", {"dst": b.psum((128, 128), dtype)}, {"data": weights}, "tensor")
        # The weights are there long before what moves through them.
        late = b.load_of(f"late_{dtype}", (128, 512), dtype)
        fresh = b.step("tensor_copy", weights, (128, 128), dtype, "vector", None, "src")
        for _ in range(4):
            late = b.step("tensor_copy", late, (128, 512), dtype, "scalar", None, "src")
        b.do("nc_matmul", {"dst": b.psum((128, 512))}, {"stationary": fresh, "moving": late}, "tensor")
        b.copy(b.output(f"out_{dtype}", (128, 512), dtype), late)
    return b.program()


def _throttle(target: str) -> Program:
    """Groups of products that grow and shrink beside a steady beat of Scalar: the PE crosses each bound of the throttle
    slowly."""
    b = ProgramBuilder(target=target)
    wide = b.load_of("m", (128, 512), "bfloat16")
    moving = b.columns(wide, 64)
    beat = wide
    for products in (*range(12, 24), *range(24, 12, -1)):
        for _ in range(4):
            for _ in range(2):
                beat = b.step("tensor_copy", beat, (128, 512), "bfloat16", "scalar", None, "src")
            weights = b.columns(beat, 64)
            for _ in range(products):
                b.do("nc_matmul", {"dst": b.psum((64, 64))}, {"stationary": weights, "moving": moving}, "tensor")
    b.copy(b.output("out", (128, 512), "bfloat16"), beat)
    return b.program()


def _transfers(target: str) -> Program:
    """DMAs of each kind, one after the other and side by side: descriptors, packet lengths, gathered rows, rows that change their dtype."""
    b = ProgramBuilder(target=target)
    for mode, engine in (("hwdge", "sync"), ("none", "scalar"), ("swdge", "gpsimd")):
        for columns in (16, 128, 1024):
            source = b.input(f"{mode}{columns}", (128, columns), "float32")
            for _ in range(3):
                tile, back = b.sbuf((128, columns), "float32"), b.hbm((128, columns), "float32")
                b.do("dma_copy", {"dst": tile}, {"src": source}, engine, dge_mode=mode)
                b.do("dma_copy", {"dst": back}, {"src": tile}, engine, dge_mode=mode)
                source = back
            many = b.input(f"{mode}many{columns}", (128, columns), "float32")
            for _ in range(8):
                b.do("dma_copy", {"dst": b.sbuf((128, columns), "float32")}, {"src": many}, engine, dge_mode=mode)
        wide = b.input(f"{mode}wide", (128, 1024), "float32")
        tile = b.sbuf((128, 1024), "bfloat16")
        b.do("dma_copy", {"dst": tile}, {"src": wide}, engine, dge_mode=mode)
        b.do("dma_copy", {"dst": b.output(f"{mode}out", (128, 1024), "bfloat16")}, {"src": tile}, engine, dge_mode=mode)
    return b.program()


def _transposes(target: str) -> Program:
    """Transposes by DMA, one after the other: from HBM, then within SBUF."""
    b = ProgramBuilder(target=target)
    source = b.input("x", (1024, 128), "bfloat16")
    for n in range(4):
        tile = b.sbuf((128, 1024), "bfloat16")
        b.do("dma_transpose", {"dst": tile}, {"src": source}, "sync", dge_mode="hwdge")
        part = b.columns(tile, 128)
        for _ in range(4):
            turned = b.sbuf((128, 128), "bfloat16")
            b.do("dma_transpose", {"dst": turned}, {"src": part}, "sync", dge_mode="hwdge")
            part = turned
        b.do("dma_copy", {"dst": b.output(f"out{n}", (128, 128), "bfloat16")}, {"src": part}, "sync", dge_mode="hwdge")
    return b.program()


def _static_copies(target: str) -> Program:
    """Copies through HBM, one after the other, whose descriptors the kernel has made at compile time."""
    b = ProgramBuilder(target=target)
    source = b.input("x", (128, 256), "float32")
    for _ in range(6):
        tile, back = b.sbuf((128, 256), "float32"), b.hbm((128, 256), "float32")
        b.do("dma_copy", {"dst": tile}, {"src": source}, "scalar", dge_mode="none")
        b.do("dma_copy", {"dst": back}, {"src": tile}, "scalar", dge_mode="none")
        source = back
    b.copy(b.output("out", (128, 256), "float32"), tile)
    return b.program()


def _pointers(target: str) -> Program:
    """Vector operations with one value for each partition, or with two tensors, one after the other."""
    b = ProgramBuilder(target=target)
    last, scale = b.load_of("x", (128, 64), "float32"), b.load_of("scale", (128, 1), "float32")
    for _ in range(12):
        last = b.step("tensor_scalar", last, (128, 64), "float32", "vector", {"operand0": scale}, op="multiply")
        last = b.step("tensor_tensor", last, (128, 64), "float32", "vector", {"data2": last}, "data1", op="add")
    b.copy(b.output("out", (128, 64), "float32"), last)
    return b.program()


def _gathered_rows(target: str) -> Program:
    """Software descriptors that gather many short rows to a packet, on their way to HBM, and rows whose addresses a tile has."""
    b = ProgramBuilder(target=target)
    index, tile = b.load_of("rows", (128, 1), "int32"), b.sbuf((128, 128), "float32")
    source = b.input("x", (128, 128), "float32")
    rows = Access(source.buffer, 0, source.pattern, source.dtype, (Dynamic(128, index),))
    b.do("dma_copy", {"dst": tile}, {"src": rows}, "gpsimd")
    for n in range(12):
        b.do("dma_copy", {"dst": b.output(f"out{n}", (128, 128), "float32")}, {"src": tile}, "gpsimd")
    return b.program()


def _hbm(target: str) -> Program:
    """Long copies within HBM, on all cores of a logical core: nothing but its bandwidth limits them."""
    b = ProgramBuilder(CHIPS[target].max_lnc, target)
    for core in range(len(b.cores)):
        source = b.input(f"x{core}", (512, 4096), "float32")
        for mode in ("hwdge", "none"):
            copy = b.output(f"{mode}{core}", (512, 4096), "float32")
            b.do("dma_copy", {"dst": copy}, {"src": source}, "sync", core, dge_mode=mode)
    return b.program()


def _full_memory(target: str) -> Program:
    """Tiles that fill SBUF and products that fill PSUM: each next one waits until there is room. Two of the first tiles just fit, two of
    the others just do not."""
    b = ProgramBuilder(target=target)
    half = open_sbuf_bytes(CHIPS[target]) // 2 // 4
    for columns in (half - 60, half + 60):
        source = b.input(f"x{columns}", (128, columns), "float32")
        for _ in range(6):
            tile = b.sbuf((128, columns), "float32")
            b.do("dma_copy", {"dst": tile}, {"src": source}, "sync", dge_mode="hwdge")
            b.do("activation", {"dst": tile}, {"data": tile}, "scalar", op="exp")
    b.do("dma_copy", {"dst": b.output("out", (128, columns), "float32")}, {"src": tile}, "sync", dge_mode="hwdge")
    weights, moving = b.load_of("w", (128, 128), "bfloat16"), b.load_of("m", (128, 512), "bfloat16")
    for _ in range(24):
        product = b.psum((128, 512))
        b.do("nc_matmul", {"dst": product}, {"stationary": weights, "moving": moving}, "tensor")
        b.step("tensor_copy", product, (128, 512), "float32", "gpsimd", None, "src")
    return b.program()


def _every_operation(target: str) -> Program:
    """An instruction of each row of the cost table whose cost is not in the chip's constants alone, wide enough to be seen in the
    time of its engine. Tensor runs narrow products, so that weights are as long as what moves through them."""
    b = ProgramBuilder(target=target)
    tiles: dict[tuple[str, str], Access] = {}
    for dtype in ("bfloat16", "float32"):
        tiles[dtype, "sbuf"] = b.load_of(dtype, (128, 1024), dtype)
        tiles[dtype, "psum"] = b.psum((128, 1024), dtype)
        b.do("tensor_copy", {"dst": tiles[dtype, "psum"]}, {"src": tiles[dtype, "sbuf"]}, "scalar")
    for row in table.TABLES[CHIPS[target].generation]:
        if row.operation in OPERATIONS and (row.cycles or row.ns):
            _one_operation(b, row, tiles)
    # GpSimd computes run-time addresses in registers, for which no operation stands alone.
    index, rows = b.load_of("index", (1, 1), "int32"), b.input("rows", (8, 16, 64), "bfloat16")
    for _ in range(8):
        chosen = Access(rows.buffer, 0, ((64, 16), (1, 64)), "bfloat16", (Dynamic(16 * 64, index),))
        b.copy(b.sbuf((16, 64), "bfloat16"), chosen)
    b.copy(b.output("out", (128, 1024), "float32"), tiles["float32", "sbuf"])
    return b.program()


def _one_operation(b: ProgramBuilder, row: table.Row, tiles: dict[tuple[str, str], Access]) -> None:
    mode = row.modes[0] if row.modes else "exp"
    small = row.dtypes != table.FLOAT32 if row.engine == "tensor" else row.dtypes == table.SMALL
    dtype = "bfloat16" if small else "float32"
    wide = tiles[dtype, "psum" if row.memory == table.PSUM else "sbuf"]
    if row.engine == "tensor":
        left = b.columns(wide, 256 if mode == table.DOUBLE_ROW else 128)
        right = b.columns(wide, 256 if mode == table.DOUBLE_ROW else 128)
        if row.operation == "nc_transpose":
            b.do("nc_transpose", {"dst": b.psum((128, 128), dtype)}, {"data": left}, "tensor")
        for _ in range(4 if row.operation.startswith("nc_matmul") else 0):
            b.do(row.operation, {"dst": b.psum((128, 128))}, {"stationary": left, "moving": right}, "tensor",
                 is_transpose=mode == table.TRANSPOSE, perf_mode=table.DOUBLE_ROW if mode == table.DOUBLE_ROW else "none",
                 is_stationary_onezero=mode in (table.ONES_STAY, table.ONES_BOTH), is_moving_onezero=mode in (table.ONES_MOVE, table.ONES_BOTH))  # fmt: skip
    elif row.ns is not None:
        for _ in range(math.ceil(500 / row.ns)):
            b.do(row.operation, {}, {"src": b.columns(wide, 1)}, row.engine)
    else:
        columns, repeats = (256, 16) if row.added_cycles else (1024, math.ceil(1 / row.cycles))
        for _ in range(repeats):
            data = b.columns(wide, columns)
            # One result for each engine: none waits for another because of memory.
            to = tiles.setdefault((dtype, f"{row.engine} {columns}"), b.sbuf((128, columns), dtype))
            # Those of GpSimd are a chain, in which each latency counts.
            source = to if row.engine == "gpsimd" else data
            b.do(row.operation, {"dst": to}, {"data": source, "src": source}, row.engine, op=mode)


def _meetings(target: str) -> Program:
    """Barriers of the two cores of a logical core, with work of different length between them."""
    lnc = CHIPS[target].max_lnc
    b = ProgramBuilder(lnc, target)
    for core in range(lnc):
        tile = b.buffer("sbuf", (128, 512), "float32", core=core)
        b.copy(tile, b.input(f"x{core}", (128, 512), "float32"), core)
        for number in range(8):
            for _ in range(1 + core * number):
                b.do("activation", {"dst": tile}, {"data": tile}, "scalar", core, op="exp")
            if lnc > 1:
                b.do("core_barrier", {}, {"data": tile}, "gpsimd", core, cores=[0, 1], sync=number)
        b.copy(b.output(f"out{core}", (128, 512), "float32"), tile, core)
    return b.program()


def _collectives(target: str) -> Program:
    """A short and a long all_reduce, within a device and over the devices of a server."""
    install()
    import nki.collectives as ncc
    import nki.isa as nisa
    import nki.language as nl

    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        last = x
        for ranks in (2, CHIPS[target].cores_of_server // CHIPS[target].max_lnc):
            for rows in (1, x.shape[0]):
                source, sums = (nl.ndarray((rows, x.shape[1]), dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(2))
                nisa.dma_copy(dst=source, src=last[0:rows, :])
                ncc.all_reduce([source], [sums], ncc.ReplicaGroup([list(range(ranks))]), nl.add)
            last = sums
        nisa.dma_copy(dst=out, src=last)
        return out

    return record(Call(kernel, "collectives", [InputSpec("x", (512, 8192), "float32")]), target, CHIPS[target].max_lnc)


OURS: dict[str, Callable[[str], Program]] = {
    "one copy": _one_copy,
    "engines": _engines,
    "transfers": _transfers,
    "transposes": _transposes,
    "static copies": _static_copies,
    "copies with dge disabled": lambda target: made_at_compile_time(_static_copies(target)),
    "pointers": _pointers,
    "every operation": _every_operation,
    "gathered rows": _gathered_rows,
    "hbm": _hbm,
    "full memory": _full_memory,
    "meetings": _meetings,
    "collectives": _collectives,
    "exp 256x8192 float32": _recorded(f"{_KERNELS}.exp_nki:exp", "float32", x=(256, 8192)),
    "matmul 256x512x1024 float32": _recorded(
        f"{_KERNELS}.matmul_nki:matmul", "float32", lhs=(256, 512), rhs=(512, 1024)
    ),
    "matmul 512x1024x512 bfloat16": _recorded(
        f"{_KERNELS}.matmul_nki:matmul", "bfloat16", lhs=(512, 1024), rhs=(1024, 512)
    ),
    "mlp b4 s1 h1024 i512": _recorded(f"{_KERNELS}.mlp_nki:mlp", "bfloat16", **_mlp_shapes(_MLP, 4, 1, 1024, 512)),
    "mlp b1 s128 h1024 i512": _recorded(f"{_KERNELS}.mlp_nki:mlp", "bfloat16", **_mlp_shapes(_MLP, 1, 128, 1024, 512)),
    "mlp of XLA b1 s128 h512 i256": _mlp_of_xla,
    "products": _products,
    "gaps": gaps,
    "held weights": held_weights,
    "throttle": _throttle,
}
"""What is scheduled fast comes first."""


def of_nki_library(checkout: Path) -> dict[str, Callable[[str], Program]]:
    source = checkout / "src"
    path = (str(source), str(source / "nkilib_src"))
    core = "nkilib_src.nkilib.core"
    types = f"{core}.utils.common_types"
    names = tuple(f"{name}_tensor" for name in ("hidden", "gate_proj_weights", "up_proj_weights", "down_proj_weights"))
    mlp = {
        "activation_fn": {"ref": f"{types}:ActFnType.SiLU"},
        "normalization_type": {"ref": f"{types}:NormType.NO_NORM"},
    }
    return {
        "nkilib mlp b1 s128 h1024 i512": _recorded(
            f"{core}.mlp.mlp:mlp", "bfloat16", path, mlp, **_mlp_shapes(names, 1, 128, 1024, 512)
        ),
        "nkilib mlp b4 s1 h1024 i512": _recorded(
            f"{core}.mlp.mlp:mlp", "bfloat16", path, mlp, **_mlp_shapes(names, 4, 1, 1024, 512)
        ),
        "nkilib qkv b1 s128 h1024": _recorded(
            f"{core}.qkv.qkv:qkv", "bfloat16", path, input=(1, 128, 1024), fused_qkv_weights=(1024, 768)
        ),
        "nkilib output_projection_cte b1 s256 n4 h1024": _recorded(
            f"{core}.output_projection.output_projection_cte.output_projection_cte:output_projection_cte",
            "bfloat16",
            path,
            attention=(1, 4, 128, 256),
            weight=(512, 1024),
        ),
    }


NKI_LIBRARY = tuple(of_nki_library(Path()))
"""The names of its programs."""

CHIPS_OF = {name: ("trn2", "trn3") for name in NKI_LIBRARY if name.startswith("nkilib mlp")}
"""The chips of a program that does not fit into the memory of the others."""
