"""Programs built by hand, instruction by instruction."""

from __future__ import annotations

import numpy as np
import pytest

from neff_bench.simulator.program import Access, Dynamic
from neff_bench.simulator.recording.recorder import recording
from tests.simulator.programs import ProgramBuilder


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


@pytest.fixture
def now():
    """A recording context on trn2."""
    with recording("trn2") as recorder:
        yield recorder
