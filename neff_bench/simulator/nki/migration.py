"""What a kernel of the old dialect (`neuronxcc.nki`) has to change for the current one: each use, with file and line.

It reads the source and runs nothing. `nl.load` and `nl.store` are still there, as experimental helpers (NKI 0.3). What
replaces the others follows the signatures of the current dialect.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from neff_bench.simulator.errors import SpecError

OLD = "neuronxcc.nki"

_REMOVED = {
    "neuronxcc.nki.language.arange": "slices and nl.ds(start, size); tile.ap(...) for other patterns",
    "neuronxcc.nki.language.mgrid": "slices and nl.ds(start, size); tile.ap(...) for other patterns",
    "neuronxcc.nki.language.par_dim": "the partition dimension first in the shape; a list of tiles for block dimensions",
    "neuronxcc.nki.language.loop_reduce": "an accumulator tile and nisa.tensor_tensor(dst=acc, data1=acc, data2=x, op=...)",
    "neuronxcc.nki.language.static_cast": "nisa.tensor_copy(dst=tile_of_the_other_dtype, src=x)",
    "neuronxcc.nki.language.spmd_dim": "kernel[2] for the two cores of LNC 2; a loop for other programs",
    "neuronxcc.nki.language.nc": "kernel[2] for the two cores of LNC 2",
    "neuronxcc.nki.language.atomic_rmw": "nisa.dma_compute(dst, [dst, value], reduce_op=nl.add)",
    "neuronxcc.nki.language.fp32": "the number itself, -3.4028235e38 for fp32.min",
    "neuronxcc.nki.isa.tensor_copy_dynamic_src": "nisa.tensor_copy with src.ap(..., scalar_offset=...)",
    "neuronxcc.nki.isa.tensor_copy_dynamic_dst": "nisa.tensor_copy with dst.ap(..., scalar_offset=...)",
    "neuronxcc.nki.baremetal": "nki.jit, and a call on the arrays of torch or jax",
    "neuronxcc.nki.trace": "nki.jit",
    "neuronxcc.nki.simulate_kernel": "nki.simulate(kernel)(...)",
    "neuronxcc.nki.compiler.skip_middle_end_transformations": "nothing: the current compiler takes instructions as they are",
    "neuronxcc.nki.compiler.enable_stack_allocator": "nothing",
    "neuronxcc.nki.compiler.force_auto_alloc": "tensors without address=",
    "neuronxcc.nki.compiler.sbuf.alloc": "nl.ndarray(..., address=(partition, byte))",
    "neuronxcc.nki.compiler.sbuf.mod_alloc": "nl.ndarray(..., address=(partition, byte)) for each tile, modulo in Python",
    "neuronxcc.nki.compiler.psum.alloc": "nl.ndarray(..., address=(partition, byte)), 2048 bytes for each bank",
    "neuronxcc.nki.compiler.psum.mod_alloc": "nl.ndarray(..., address=(partition, byte)) for each tile, modulo in Python",
}
_PREFIXES = {
    "neuronxcc.nki.kernels": "the kernel of nki-library (nkilib) of the same purpose",
    "neuronxcc.nki._private_kernels": "the kernel of nki-library (nkilib) of the same purpose",
    "neuronxcc.nki._pre_prod_kernels": "the kernel of nki-library (nkilib) of the same purpose",
}


@dataclass(frozen=True)
class Use:
    """One thing to change. `name`: what stands in the source; `instead`: what takes its place."""

    line: int
    name: str
    instead: str


def uses(source: str, file: str) -> list[Use]:
    """What a source has to change, by line. Raises SpecError when it is no Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise SpecError(f"SyntaxError: {error.msg}", f"{file}:{error.lineno}") from error
    names = _imported(tree)
    if not any(name == OLD or name.startswith(f"{OLD}.") for name in names.values()):
        return []
    return sorted(set(_found(tree, names)), key=lambda use: (use.line, use.name))


def _imported(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _found(tree: ast.Module, names: dict[str, str]) -> Iterator[Use]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from _imports(node)
        elif isinstance(node, (ast.Attribute, ast.Name)):
            full = _full(node, names)
            instead = _instead(full)
            if instead:
                yield Use(node.lineno, ast.unparse(node), instead)
        elif isinstance(node, ast.Call):
            yield from _call(node, names)
        elif isinstance(node, ast.AugAssign) and _full(getattr(node.value, "func", None), names).endswith(
            ("isa.nc_matmul", "language.matmul")
        ):
            yield Use(node.lineno, "+= product", "nisa.nc_matmul(dst=psum, ..., accumulate=True after the first)")


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[Use]:
    module = node.module if isinstance(node, ast.ImportFrom) else None
    for alias in node.names:
        name = f"{module}.{alias.name}" if module else alias.name
        if name == OLD or name.startswith(f"{OLD}.") or module == "neuronxcc":
            kept = _instead(name) or name.replace(OLD, "nki", 1)
            yield Use(node.lineno, f"import {name}", kept if " " in kept else f"import {kept}")


def _call(node: ast.Call, names: dict[str, str]) -> Iterator[Use]:
    """Instructions take their destination and no mask."""
    full = _full(node.func, names)
    if not full.startswith(f"{OLD}."):
        return
    given = {word.arg for word in node.keywords}
    if "mask" in given and not any(
        word.arg == "mask" and isinstance(word.value, ast.Constant) and word.value.value is None
        for word in node.keywords
    ):
        yield Use(node.lineno, f"{ast.unparse(node.func)}(mask=)", "slices of the part that the mask lets through")
    if full.startswith(f"{OLD}.isa.") and "dst" not in given and full not in _REMOVED:
        function = full.rpartition(".")[2]
        if not function.startswith(("get_", "register_", "core_barrier", "nc_version")):
            yield Use(node.lineno, ast.unparse(node.func), f"nisa.{function}(dst=..., ...), into a tile made before")


def _full(node: ast.AST | None, names: dict[str, str]) -> str:
    """The full name of `a.b.c`, "" for any other expression."""
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute):
        before = _full(node.value, names)
        return f"{before}.{node.attr}" if before else ""
    return ""


def _instead(full: str) -> str:
    if full in _REMOVED:
        return _REMOVED[full]
    return next((text for prefix, text in _PREFIXES.items() if full.startswith(f"{prefix}.")), "")
