"""Programs built by hand, instruction by instruction."""

from __future__ import annotations

import math

import numpy as np
import pytest

from neff_bench.simulator.dtypes import dtype_name
from neff_bench.simulator.operations.execute import execute
from neff_bench.simulator.program import Access, Buffer, Dynamic, Instruction, Program


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
        self.warnings = []

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
        self.warnings.clear()
        return execute(self.program(), inputs, self.warnings)

    def load(self, name, array, memory="sbuf"):
        """An on-chip tile that holds an input from HBM."""
        tile = self.buffer(memory, array.shape, dtype_name(array.dtype), core=0)
        self.copy(tile, self.input(name, array.shape, dtype_name(array.dtype)))
        return tile


@pytest.fixture
def builder():
    return ProgramBuilder


@pytest.fixture
def apply():
    """Run one instruction: arrays in, arrays out.

    `writes`: the shape and dtype of each written operand, or an array with its contents before. Returns one array for
    one written operand, else a dict.
    """

    def run(op, /, writes, reads=None, engine="vector", target="trn2", **attributes):
        b = ProgramBuilder(target=target)
        inputs, tiles, outputs = {}, {}, {}
        for name, array in (reads or {}).items():
            tiles[name] = b.load(name, array)
            inputs[name] = array
        for name, wanted in writes.items():
            if isinstance(wanted, np.ndarray):
                inputs["before_" + name] = wanted
                outputs[name] = b.load("before_" + name, wanted)
            else:
                outputs[name] = b.sbuf(*wanted)
        b.do(op, outputs, tiles, engine, line="kernel.py:7", **attributes)
        for name, tile in outputs.items():
            b.copy(b.output(name, tile.shape, tile.dtype), tile)
        results = b.run(**inputs)
        return results if len(writes) > 1 else next(iter(results.values()))

    return run


@pytest.fixture
def dynamic():
    """An access whose address grows by `step` elements times the value read from `index`."""

    def build(access, step, index, **changes):
        fields = {name: getattr(access, name) for name in access.__struct_fields__} | changes
        return Access(**{**fields, "dynamic": (Dynamic(step, index),)})

    return build
