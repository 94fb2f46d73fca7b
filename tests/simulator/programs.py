"""Small programs built by hand, for the tests of the simulator's rooms."""

from neff_bench.simulator.program import Access, Buffer, Instruction, Program


def whole(index: int, buffers: list[Buffer]) -> Access:
    """The whole of a buffer as a view."""
    shape = buffers[index].shape
    steps = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        steps[i] = steps[i + 1] * shape[i + 1]
    return Access(index, 0, tuple(zip(steps, shape, strict=True)), buffers[index].dtype)


def matmul(m: int = 128, k: int = 128, n: int = 512, dtype: str = "bfloat16", lnc: int = 1, tiles: int = 1) -> Program:
    """out[M, N] = lhsT[K, M].T @ rhs[K, N], one tile repeated `tiles` times on each core."""
    buffers = [
        Buffer("lhsT", "hbm", (k, m), dtype, "input"),
        Buffer("rhs", "hbm", (k, n), dtype, "input"),
        Buffer("out", "hbm", (lnc * m, n), dtype, "output"),
    ]
    cores = []
    for core in range(lnc):
        instructions: list[Instruction] = []
        for _ in range(tiles):
            base = len(buffers)
            buffers += [
                Buffer(f"a{base}", "sbuf", (k, m), dtype, "internal", core),
                Buffer(f"b{base}", "sbuf", (k, n), dtype, "internal", core),
                Buffer(f"p{base}", "psum", (m, n), "float32", "internal", core),
                Buffer(f"c{base}", "sbuf", (m, n), dtype, "internal", core),
            ]
            a, b, p, c = (whole(base + i, buffers) for i in range(4))
            out = Access(2, core * m * n, ((n, m), (1, n)), dtype)
            instructions += [
                Instruction("dma_copy", "sync", {"dst": a}, {"src": whole(0, buffers)}, {}, 1),
                Instruction("dma_copy", "sync", {"dst": b}, {"src": whole(1, buffers)}, {}, 1),
                Instruction("nc_matmul", "tensor", {"dst": p}, {"stationary": a, "moving": b}, {}, 2),
                Instruction("tensor_copy", "vector", {"dst": c}, {"src": p}, {}, 3),
                Instruction("dma_copy", "sync", {"dst": out}, {"src": c}, {}, 4),
            ]
        cores.append(tuple(instructions))
    return Program(
        "matmul", "trn2", lnc, tuple(buffers), (0, 1), (2,), tuple(cores),
        ("", "mm.py:1", "mm.py:2", "mm.py:3", "mm.py:4"),
    )  # fmt: skip
