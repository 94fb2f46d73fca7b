"""A kernel launched on arrays, as its script calls it."""

import numpy as np
import pytest

from neff_bench.neffs.dtypes import stored, values_of
from neff_bench.simulator.errors import NotModelledError
from neff_bench.simulator.nki import annotations
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.jit import jit
from neff_bench.simulator.nki.launch import launch, launch_ranks, like_argument

ONES = np.ones((128, 64), np.float32)


def summed(*tensors, **named):
    """The sum of all arguments."""
    total = nl.load(tensors[0])
    for tensor in [*tensors[1:], *named.values()]:
        nisa.tensor_tensor(total, total, nl.load(tensor), op=nl.add)
    out = nl.ndarray(total.shape, dtype=total.dtype, buffer=nl.shared_hbm)
    nl.store(out, total)
    return out


def negated(x, **flags):
    """x, or -x where a flag asks for it."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    nisa.tensor_scalar(tile, tile, op0=nl.multiply, operand0=-1.0 if flags["negate"] else 1.0)
    nl.store(out, tile)
    return out


def test_arrays_that_a_star_or_two_collect_are_inputs():
    done = launch(summed, (ONES, 2 * ONES), {"third": 3 * ONES}, 1, fits=False)
    assert list(done.inputs) == ["tensors.0", "tensors.1", "third"]
    assert np.array_equal(done.result, 6 * ONES)


@pytest.mark.parametrize(("negate", "sign"), [(True, -1), (False, 1)])
def test_each_rank_gets_its_arguments_by_name(negate, sign):
    done = launch_ranks(negated, [{"x": ONES, "negate": negate}, {"x": 2 * ONES, "negate": negate}], 1)
    assert [rank.result[0, 0] for rank in done] == [sign, 2 * sign]


def test_a_schedule_of_named_instructions_is_refused_by_name():
    with pytest.raises(NotModelledError, match=r"negated\.with_schedule is not modelled"):
        jit(negated).with_schedule([("second", "first")])


def test_packed_elements_are_integers_where_an_array_has_no_such_type():
    jnp = pytest.importorskip("jax.numpy")
    array = stored(np.array([[1.0, 2.0, 3.0, 4.0]], np.float32), "float4_e2m1fn_x4")
    assert like_argument(array, np.zeros(1)) is array
    made = like_argument(array, jnp.zeros(1))
    assert (made.dtype.name, made.tolist()) == ("uint16", [[0x6542]])


def test_an_annotation_of_a_packed_type_is_an_array_of_it():
    made = annotations.tensor[[32, 4], "float8_e5m2_x4"].array()
    assert made.shape == (32, 4) and made.dtype == np.dtype("float8_e5m2_x4")
    np.testing.assert_array_equal(values_of(made), values_of(annotations.tensor[[32, 16], "float8_e5m2"].array()))
