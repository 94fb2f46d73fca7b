"""The compiled core and the plain path give the same bits."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from neff_bench.simulator import native
from neff_bench.simulator.compiler.assembler import assemble
from neff_bench.simulator.timing.schedule import schedule
from tests.simulator.native.random_programs import programs
from tests.simulator.programs import matmul

pytestmark = pytest.mark.skipif(native.library() is None, reason="the core is not compiled here")


def same(one, other, where=""):
    """Both hold the same columns, bit by bit and of the same type."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes()), where
    elif hasattr(one, "__dataclass_fields__"):
        for field in fields(one):
            same(getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}")
    elif isinstance(one, tuple) and type(one) is tuple:
        assert len(one) == len(other), where
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            same(left, right, f"{where}[{number}]")
    else:
        assert one == other, where


def plain(work):
    """What `work` gives where nothing is compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "library", lambda: None)
        return work()


@given(programs())
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_of_random_programs(program):
    same(assemble(program), plain(lambda: assemble(program)))
    same(schedule(program), plain(lambda: schedule(program)))


@pytest.mark.parametrize(("tiles", "lnc"), [(1, 1), (30, 2)])
def test_of_a_matmul(tiles, lnc):
    program = matmul(tiles=tiles, lnc=lnc)
    same(schedule(program), plain(lambda: schedule(program)))
