"""The compiled parts and the plain path give the same bits."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from neff_bench.simulator import native
from neff_bench.simulator.compiler.code.assembler import assemble
from neff_bench.simulator.compiler.code.descriptors import made_at_compile_time
from neff_bench.simulator.compiler.program import columns
from neff_bench.simulator.compiler.program.capacity import memory_peak
from neff_bench.simulator.compiler.program.dependencies import find_edges
from neff_bench.simulator.compiler.program.lives import lives
from neff_bench.simulator.compiler.program.placement import check_placement
from neff_bench.simulator.costs.transfers import Transfers
from neff_bench.simulator.errors import NkiValidationError
from neff_bench.simulator.program import Program
from neff_bench.simulator.timing.schedule import schedule
from tests.golden.programs import OURS
from tests.simulator.native.random_programs import programs

pytestmark = pytest.mark.skipif(native.compiled_passes() is None, reason="the passes are not compiled here")


def same(one, other, where=""):
    """Both hold the same columns, bit by bit and of the same type."""
    if callable(one) and callable(other):
        one, other = tuple(one()), tuple(other())
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes()), where
    elif hasattr(one, "__dataclass_fields__"):
        for field in fields(one):
            same(getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}")
    elif isinstance(one, Transfers):
        assert list(one) == list(other), where
    elif isinstance(one, tuple):
        assert len(one) == len(other), where
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            same(left, right, f"{where}[{number}]")
    else:
        assert one == other, where


def plain(work, program):
    """What `work` gives where nothing is compiled, of a program that keeps nothing that was compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "compiled_passes", lambda: None)
        vars(program).clear()
        return work(program)


@given(programs())
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_of_random_programs(program):
    for one in (program, made_at_compile_time(program)):
        same(assemble(one), plain(assemble, one))
        same(schedule(one), plain(schedule, one))


@given(programs())
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
def test_of_columns_edges_and_lives(program):
    def found(program):
        edges = tuple(tuple(map(frozenset, find_edges(program, core))) for core in program.cores)
        lived = tuple(lives(program, core, {"dma_copy"}) for core in range(len(program.cores)))
        table = columns.table_of(program)
        return table.buffers, table.kinds, table.cores, edges, lived

    same(found(program), plain(found, program))


@given(programs())
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
def test_of_peaks_and_of_tensors_written_over(program):
    def found(program):
        try:
            check_placement(program)
            refused = ""
        except NkiValidationError as error:
            refused = str(error)
        return tuple(memory_peak(program)), refused

    same(found(program), plain(found, program))


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("target", ["inf2", "trn2"])
def test_of_shipped_kernels(name, target):
    program = OURS[name](target)
    codes = assemble(program)
    same(codes, plain(assemble, program))
    same(schedule(program, codes=codes), plain(lambda program: schedule(program, codes=codes), program))


def test_of_a_program_without_instructions():
    program = Program("empty", "trn2", 1, (), (), (), ((),))
    same(assemble(program), plain(assemble, program))
