"""Every scalar type of numpy in every scalar parameter gives the program that Python's number gives."""

import ml_dtypes
import msgspec
import numpy as np
import pytest

from neff_bench.simulator.errors import NkiValidationError
from neff_bench.simulator.native.recorder import PLAIN
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.recording.numbers import number_of
from neff_bench.simulator.recording.recorder import recording

FLOATS = [np.float16, np.float32, np.float64, np.longdouble, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def tile(width=64, dtype=nl.float32):
    return nl.ndarray((128, width), dtype)


SCALARS = {
    "memset": lambda s: nisa.memset(tile(), s),
    "activation": lambda s: nisa.activation(tile(), nl.exp, tile(), bias=s, scale=s),
    "activation_reduce": lambda s: nisa.activation_reduce(tile(), nl.exp, tile(), nl.add, tile(1), bias=s, scale=s),
    "activate2": lambda s: nisa.activate2(tile(), nl.exp, tile(), s, s, nl.multiply, nl.add, relu_param=s),
    "exponential": lambda s: nisa.exponential(tile(), tile(), s, reduce_cmd="load_reduce", reduce_init=s),
    "tensor_scalar": lambda s: nisa.tensor_scalar(tile(), tile(), nl.multiply, s, op1=nl.add, operand1=s),
    "scalar_tensor_tensor": lambda s: nisa.scalar_tensor_tensor(tile(), tile(), nl.multiply, s, nl.add, tile()),
    "tensor_scalar_reduce": lambda s: nisa.tensor_scalar_reduce(
        tile(), tile(), nl.multiply, s, nl.add, reduce_cmd="load_reduce", reduce_init=s
    ),
    "tensor_tensor_scan": lambda s: nisa.tensor_tensor_scan(tile(), tile(), tile(), s, nl.multiply, nl.add),
    "tensor_scalar_cumulative": lambda s: nisa.tensor_scalar_cumulative(tile(), tile(), nl.multiply, nl.add, s, s),
    "affine_select": lambda s: nisa.affine_select(tile(), [[1, 64]], 1, tile(), s),
    "range_select": lambda s: nisa.range_select(
        tile(), tile(), nl.greater, nl.less, tile(1), tile(1), on_false_value=s
    ),
    "select_reduce": lambda s: nisa.select_reduce(tile(), tile(dtype="uint8"), tile(), s),
    "tensor_copy_predicated": lambda s: nisa.tensor_copy_predicated(tile(), s, tile(dtype="uint8")),
    "nc_match_replace8": lambda s: nisa.nc_match_replace8(tile(), tile(), tile(8), s),
    "dropout": lambda s: nisa.dropout(tile(), tile(), s),
    "rand2": lambda s: nisa.rand2(tile(), s, s),
    "dma_compute": lambda s: nisa.dma_compute(tile(), [tile(), tile()], nl.add, [s, s]),
    "nl.multiply": lambda s: nl.multiply(tile(), s),
    "nl.subtract": lambda s: nl.subtract(s, tile()),
    "nl.where": lambda s: nl.where(tile(dtype="uint8"), tile(), s),
    "nl.full": lambda s: nl.full((128, 64), s, nl.float32),
    "nl.rms_norm": lambda s: nl.rms_norm(tile(), tile(), 1, 64, epsilon=s),
    "nl.dropout": lambda s: nl.dropout(tile(), s),
    "an assignment": lambda s: tile().__setitem__((slice(None), slice(3)), s),
}
WHOLE = {
    "iota": lambda s: nisa.iota(tile(dtype="int32"), [[s, 64]], offset=s, channel_multiplier=s),
    "affine_select": lambda s: nisa.affine_select(tile(), [[s, 64]], s, tile(), 0.0, offset=s),
    "register_alloc": lambda s: nisa.register_alloc(s),
    "dma_copy": lambda s: nisa.dma_copy(tile(), tile(), priority=s),
    "nonzero_with_count": lambda s: nisa.nonzero_with_count(tile(65, "int32"), tile(), s, s),
    "a place": lambda s: nisa.memset(nl.ndarray((1, 64), nl.float32, address=(s, s)), 0),
    "a shape": lambda s: nisa.memset(nl.ndarray((s, s), nl.float32), 0),
}


def recorded(call, value):
    """The bytes of what a call records on trn3."""
    with recording("trn3") as now:
        call(value)
        return msgspec.msgpack.encode(
            (list(now.instructions), [(s.shape, s.partition, s.address) for s in now.storages])
        )


@pytest.mark.parametrize("call", SCALARS.values(), ids=SCALARS)
def test_scalar_operands(call):
    for value in (1.0, 0.5):
        expected = recorded(call, value)
        for given in (*(kind(value) for kind in FLOATS), np.array(value), np.array([value], np.float32)):
            assert recorded(call, given) == expected, (type(given), value)


@pytest.mark.parametrize("call", (SCALARS | WHOLE).values(), ids=SCALARS | WHOLE)
def test_whole_numbers(call):
    expected = recorded(call, 3)
    for kind in INTEGERS:
        assert recorded(call, kind(3)) == expected, kind


def test_the_plain_recorder_takes_the_same():
    for kind in (float, *FLOATS):
        attributes = {}
        PLAIN["operand"]("tensor_scalar", "operand0", kind(0.5), 128, {}, attributes)
        assert [type(value) for value in attributes.values()] == [float]


@pytest.mark.parametrize("value", [np.complex64(1), 1j, "1", np.zeros(2), np.array([]), object(), np.str_("1")])
def test_what_is_no_number_is_refused(value):
    assert number_of(value) is None
    with recording("trn2"), pytest.raises(NkiValidationError, match="operand0 must be a number or a tensor"):
        nisa.tensor_scalar(tile(), tile(), nl.multiply, value)
