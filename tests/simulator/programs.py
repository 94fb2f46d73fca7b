"""Small programs built by hand, for the tests of the simulator's rooms."""

import math

from neff_bench.simulator.execution.execute import execute
from neff_bench.simulator.numpy_dtypes import dtype_name
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


def _row_major(shape):
    return tuple((math.prod(shape[axis + 1 :]), size) for axis, size in enumerate(shape))


class ProgramBuilder:
    """Collects buffers and the instructions of one or two cores."""

    def __init__(self, lnc=1, target="trn2"):
        self.target = target
        self.buffers = []
        self.inputs = []
        self.outputs = []
        self.cores = [[] for _ in range(lnc)]
        self.sources = [""]
        self.findings = []

    def buffer(self, memory, shape, dtype, kind="internal", core=None, name=None, data=b""):
        index = len(self.buffers)
        self.buffers.append(Buffer(name or f"b{index}", memory, tuple(shape), dtype, kind, core, data))
        return self.access(index)

    def input(self, name, shape, dtype):
        self.inputs.append(len(self.buffers))
        return self.buffer("hbm", shape, dtype, "input", name=name)

    def output(self, name, shape, dtype):
        self.outputs.append(len(self.buffers))
        return self.buffer("hbm", shape, dtype, "output", name=name)

    def sbuf(self, shape, dtype, core=0):
        return self.buffer("sbuf", shape, dtype, core=core)

    def psum(self, shape, dtype="float32", core=0):
        return self.buffer("psum", shape, dtype, core=core)

    def access(self, index):
        return Access(index, 0, _row_major(self.buffers[index].shape), self.buffers[index].dtype)

    def do(self, op, /, writes, reads=None, engine="vector", core=0, line=None, **attributes):
        source = 0
        if line is not None:
            self.sources.append(line)
            source = len(self.sources) - 1
        self.cores[core].append(Instruction(op, engine, writes, reads or {}, attributes, source))

    def copy(self, dst, src, core=0, **attributes):
        self.do("dma_copy", {"dst": dst}, {"src": src}, "sync", core, **attributes)

    def program(self):
        return Program(
            "test",
            self.target,
            len(self.cores),
            tuple(self.buffers),
            tuple(self.inputs),
            tuple(self.outputs),
            tuple(tuple(core) for core in self.cores),
            tuple(self.sources),
        )

    def run(self, **inputs):
        self.findings.clear()
        return execute(self.program(), inputs, self.findings)

    def load(self, name, array, memory="sbuf"):
        """An on-chip tile that holds an input from HBM."""
        tile = self.buffer(memory, array.shape, dtype_name(array.dtype), core=0)
        self.copy(tile, self.input(name, array.shape, dtype_name(array.dtype)))
        return tile

    def hbm(self, shape, dtype):
        return self.buffer("hbm", shape, dtype)

    def load_of(self, name, shape, dtype):
        """An on-chip tile that holds an input of this shape."""
        tile = self.sbuf(shape, dtype)
        self.copy(tile, self.input(name, shape, dtype))
        return tile

    def columns(self, access, count):
        """The first columns of a tile."""
        (rows, (step, _)) = access.pattern
        return Access(access.buffer, access.offset, (rows, (step, count)), access.dtype)

    def step(self, op, source, shape, dtype, engine, more=None, operand="data", /, **attributes):
        """An operation on `source` (its operand of that name) into a new tile, which is returned."""
        tile = self.sbuf(shape, dtype)
        self.do(op, {"dst": tile}, {operand: source, **(more or {})}, engine, **attributes)
        return tile


def meeting():
    """Two cores that load a tile each, of which the second has more to do, meet, and store."""
    b = ProgramBuilder(lnc=2)
    source, out = b.input("x", (128, 512), "float32"), b.output("y", (128, 512), "float32")
    for core in range(2):
        tile = b.sbuf((128, 512), "float32", core)
        b.copy(tile, source, core, line="k.py:1")
        for _ in range(12 * core):
            b.do("tensor_copy", {"dst": tile}, {"src": tile}, "vector", core, "k.py:2")
        b.do("core_barrier", {"data": tile}, {"data": tile}, "gpsimd", core, "k.py:3", cores=[0, 1], sync=0)
        b.copy(out, tile, core, line="k.py:4")
    return b.program()
