"""A program of copies and weights whose elements are no neighbours, and of products that add to one place."""

from __future__ import annotations

import msgspec

from neff_bench.simulator.program import Program
from tests.simulator.programs import ProgramBuilder


def gaps(target: str) -> Program:
    """Copies from and to every ninth element, from SBUF and PSUM, on Vector and Scalar, in chains."""
    b = ProgramBuilder(target=target)
    for dtype in ("bfloat16", "float32"):
        for engine in ("vector", "scalar"):
            for memory in ("sbuf", "psum"):
                last = b.load_of(f"{dtype} {engine} {memory}", (128, 128), dtype)
                for _ in range(3):
                    held = last
                    if memory == "psum":
                        held = b.psum((128, 128), dtype)
                        b.do("tensor_copy", {"dst": held}, {"src": last}, "vector")
                    whole = b.sbuf((128, 9 * 128), dtype)
                    wide = msgspec.structs.replace(whole, pattern=((9 * 128, 128), (9, 128)))
                    b.do("tensor_copy", {"dst": wide}, {"src": held}, engine)
                    last = b.step("tensor_copy", wide, (128, 128), dtype, engine, None, "src")
                b.copy(b.output(f"{dtype} {engine} {memory} out", (128, 128), dtype), last)
    return b.program()


def held_weights(target: str) -> Program:
    """Products of strided weights, of weights that are there before what moves, and into one place; copies side by side."""
    b = ProgramBuilder(target=target)
    weights, moving = b.load_of("w", (128, 128), "bfloat16"), b.load_of("m", (128, 1), "bfloat16")
    strided = b.columns(
        msgspec.structs.replace(b.load_of("strided", (128, 9 * 128), "bfloat16"), pattern=((9 * 128, 128), (9, 128))),
        128,
    )
    for _ in range(40):
        b.do("nc_matmul", {"dst": b.psum((128, 1))}, {"stationary": strided, "moving": moving}, "tensor")
    # These weights are there long before what moves through them.
    last = weights
    for _ in range(12):
        fresh = late = b.step("tensor_copy", last, (128, 128), "bfloat16", "vector", None, "src")
        for _ in range(2):
            late = b.step("tensor_copy", late, (128, 128), "bfloat16", "scalar", None, "src")
        product = b.psum((128, 128))
        b.do("nc_matmul", {"dst": product}, {"stationary": fresh, "moving": late}, "tensor")
        last = b.step("tensor_copy", product, (128, 128), "bfloat16", "vector", None, "src")
    b.copy(b.output("last", (128, 128), "bfloat16"), last)
    for _ in range(20):
        b.do("tensor_copy", {"dst": b.sbuf((128, 128), "float32")}, {"src": product}, "scalar")
    sums = b.psum((128, 1))
    for _ in range(40):
        b.do("nc_matmul", {"dst": sums}, {"stationary": weights, "moving": moving}, "tensor")
    b.copy(
        b.output("sums", (128, 1), "float32"), b.step("tensor_copy", sums, (128, 1), "float32", "vector", None, "src")
    )
    return b.program()
