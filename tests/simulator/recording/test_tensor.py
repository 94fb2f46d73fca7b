"""Views: shapes, strides and offsets against numpy's, and the bounds that numpy does not have."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neff_bench.simulator.errors import NkiValidationError
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.recording import views
from neff_bench.simulator.recording.recorder import recording
from neff_bench.simulator.recording.tensor import access


def numpy_twin(shape):
    """An array whose elements are their own row-major positions."""
    return np.arange(int(np.prod(shape))).reshape(shape)


def elements(tensor):
    """The positions that a view reads, in its order."""
    at = np.full(tensor.shape, tensor.offset)
    for dim, stride in enumerate(tensor.strides):
        at += stride * np.arange(tensor.shape[dim]).reshape([-1 if d == dim else 1 for d in range(tensor.ndim)])
    return at


@pytest.mark.parametrize(
    "key",
    [
        np.s_[2],
        np.s_[-1],
        np.s_[1:5],
        np.s_[..., 3],
        np.s_[:, 2, 1:7:2],
        np.s_[3, ..., -2:],
        np.s_[:, :, :],
        np.s_[np.int64(2), 1],
        np.s_[np.int64(1) : np.int64(5), :, np.int32(2) :],
        np.s_[::3, 0:2],
    ],
)
def test_hbm_is_indexed_as_numpy_does(now, key):
    shape = (6, 4, 8)
    view = nl.ndarray(shape, nl.float32, buffer=nl.shared_hbm)[key]
    assert np.array_equal(elements(view), np.atleast_1d(numpy_twin(shape)[key]))
    assert {type(number) for number in (view.offset, *view.shape, *view.strides)} == {int}  # what a file can hold


def test_a_fully_indexed_hbm_tensor_keeps_one_dimension(now):
    assert nl.ndarray((4, 4), nl.float32, buffer=nl.shared_hbm)[1, 2].shape == (1,)


@pytest.mark.parametrize(
    ("key", "shape"),
    [(np.s_[3], (1, 4, 8)), (np.s_[:, 2], (128, 8)), (np.s_[:, 2, 3], (128, 1)), (np.s_[5, 2, 3], (1, 1))],
)
def test_on_chip_the_partition_dimension_stays(now, key, shape):
    view = nl.ndarray((128, 4, 8), nl.float32)[key]
    assert view.shape == shape
    assert access(view).pattern[0][0] == 32


@pytest.mark.parametrize("buffer", [nl.sbuf, nl.shared_hbm])
def test_a_range_is_the_slice_with_its_bounds(now, buffer):
    tile = nl.ndarray((128, 64), nl.float32, buffer=buffer)
    assert np.array_equal(elements(tile[nl.affine_range(128), range(8, 32, 2)]), elements(tile[:, 8:32:2]))


def test_ds_is_a_start_and_a_size(now):
    tile = nl.ndarray((128, 64), nl.float32)
    assert np.array_equal(elements(tile[nl.ds(32, 16), nl.ds(8, 4)]), elements(tile[32:48, 8:12]))


@pytest.mark.parametrize("key", [np.s_[0:129], np.s_[:, 64], np.s_[:, -65], np.s_[6:5], np.s_[:, 10:70]])
def test_an_index_outside_the_tensor_is_an_error(now, key):
    with pytest.raises(NkiValidationError, match=r"test_tensor\.py:\d+: .*outside"):
        nl.ndarray((128, 64), nl.float32)[key]


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.integers(1, 3),
    st.randoms(),
)
@settings(max_examples=200, deadline=None)
def test_reshape_gives_the_elements_of_numpys_or_refuses(shape, wanted, step, random):
    array = np.arange(int(np.prod(shape)) * step).reshape([*shape, step])[..., 0].reshape(-1)
    steps = [step * s for s in views.row_major(tuple(shape))]
    order = list(range(len(shape)))
    random.shuffle(order)
    turned = array.reshape(shape).transpose(order)
    made = views.reshape(tuple(shape[at] for at in order), tuple(steps[at] for at in order), tuple(wanted))
    if int(np.prod(wanted)) != turned.size:
        return
    expected = turned.reshape(wanted)
    if made is None:
        assert not np.shares_memory(expected, turned) or turned.size == 1
        return
    at = np.zeros(wanted, dtype=int)
    for dim, stride in enumerate(made):
        at = at + stride * np.arange(wanted[dim]).reshape([-1 if d == dim else 1 for d in range(len(wanted))])
    assert np.array_equal(at, expected)


@pytest.mark.parametrize("shape", [(6, 2, 1, 16, 2), (1, 384), (384, 1), (6, 1, 1, 64), (1, 1)])
def test_a_dimension_of_one_element_steps_as_in_row_major_order(shape):
    """A register may index it by more than 0: nki-library chooses the head of a rank so."""
    assert views.reshape((int(np.prod(shape)),), (1,), shape) == views.row_major(shape)


def test_reshape_keeps_the_partition_dimension(now):
    tile = nl.ndarray((128, 4, 6), nl.float32)
    assert tile.reshape((128, 24)).strides == (24, 1)
    assert tile.reshape((128, 2, -1)).shape == (128, 2, 12)
    with pytest.raises(NkiValidationError, match="partition dimension is fixed"):
        tile.reshape((64, 48))
    with pytest.raises(NkiValidationError, match="in place"):
        tile[:, :, 0:3].reshape((128, 12))


def test_named_views_are_numpys(now):
    shape = (8, 6, 4)
    tensor, twin = nl.ndarray(shape, nl.float32, buffer=nl.shared_hbm), numpy_twin(shape)
    pairs = [
        (tensor.permute((2, 0, 1)), twin.transpose(2, 0, 1)),
        (tensor.slice(1, 1, 6, 2), twin[:, 1:6:2]),
        (tensor.select(1, 3), twin[:, 3]),
        (tensor.expand_dim(1), twin[:, None]),
        (tensor.expand_dim(1).squeeze_dim(1), twin),
        (tensor.expand_dim(0).broadcast(0, 3), np.broadcast_to(twin, (3, *shape))),
        (tensor.reshape_dim(1, (2, -1)), twin.reshape(8, 2, 3, 4)),
        (tensor.flatten_dims(0, 1), twin.reshape(48, 4)),
        (
            tensor.rearrange((("a", "b"), "c", "d"), ("b", "a", ("c", "d")), {"a": 2}),
            twin.reshape(2, 4, 6, 4).transpose(1, 0, 2, 3).reshape(4, 2, 24),
        ),
    ]
    for view, expected in pairs:
        assert np.array_equal(elements(view), expected)


def test_view_scales_the_last_dimension(now):
    tile = nl.ndarray((128, 64), nl.float32)
    assert tile.view(nl.uint8).shape == (128, 256)
    assert access(tile[:, 8:16].view(nl.bfloat16)).offset == 16
    with pytest.raises(NkiValidationError, match="not contiguous"):
        tile[:, ::2].view(nl.uint8)


def test_ap_is_a_pattern_over_the_storage(now):
    tile = nl.ndarray((128, 64), nl.float32)
    view = access(tile[32:64, 8:16].ap([[64, 16], [2, 4]], offset=1))
    assert (view.offset, view.pattern) == (32 * 64 + 8 + 1, ((64, 16), (2, 4)))
    half = access(tile.ap([[128, 128], [1, 128]], dtype=nl.bfloat16))
    assert (half.dtype, half.pattern[0]) == ("bfloat16", (128, 128))


@pytest.mark.parametrize(
    ("pattern", "offset", "text"),
    [
        ([[64, 129], [1, 1]], 0, "partition 128"),
        ([[64, 128], [1, 65]], 0, "element 64 of the 64"),
        ([[64, 128], [1, 64]], 1, "element 64 of the 64"),
        ([[63, 128], [1, 1]], 0, "not a multiple"),
        ([[32, 128], [1, 1]], 0, "not a multiple"),
        ([[64, 0], [1, 1]], 0, "empty"),
    ],
)
def test_a_pattern_outside_the_tile_is_an_error_when_it_is_used(now, pattern, offset, text):
    view = nl.ndarray((128, 64), nl.float32).ap(pattern, offset=offset)
    with pytest.raises(NkiValidationError, match=text):
        access(view)


def test_ap_of_a_narrow_view_counts_in_the_views_own_rows(now):
    half = nl.ndarray((128, 64), nl.float32)[:, 32:64]
    assert access(half.ap([[32, 128], [1, 32]])) == access(half)
    assert access(half.ap([[32, 64], [1, 8]], offset=2 * 32 + 4)) == access(half[2:66, 4:12])


def test_a_vector_offset_replaces_the_step_of_the_rows(now):
    table = nl.ndarray((1000, 64), nl.float32, buffer=nl.shared_hbm)
    rows = nl.ndarray((128, 1), nl.uint32)
    gather = access(table.ap([[64, 128], [1, 64]], vector_offset=rows))
    assert gather.pattern == ((0, 128), (1, 64))
    assert gather.dynamic[0].step == 64
    assert gather.dynamic[0].index == access(rows)


def test_a_scalar_offset_adds_to_the_pattern(now):
    table = nl.ndarray((10, 128, 64), nl.float32, buffer=nl.shared_hbm)
    index = nl.ndarray((1, 1), nl.int32)
    block = access(table.ap([[64, 128], [1, 64]], scalar_offset=index, indirect_dim=0))
    assert (block.pattern, block.dynamic[0].step) == (((64, 128), (1, 64)), 128 * 64)
    assert access(table.select(0, index)).dynamic == block.dynamic
    assert access(table[nl.ds(index, 2)]).dynamic == block.dynamic
    with pytest.raises(NkiValidationError, match="one element"):
        table.select(0, nl.ndarray((2, 1), nl.int32))


def test_a_tensor_is_true_where_a_kernel_asks_whether_there_is_one(now):
    argument = nl.ndarray((128, 64), nl.float32, nl.shared_hbm)
    assert argument
    assert nl.ndarray((128, 64), nl.float32)
    assert nl.ndarray((1,), nl.float32, nl.shared_hbm)


def test_one_element_does_not_steer_python(now):
    argument = nl.ndarray((128, 64), nl.float32, nl.shared_hbm)
    for data in (argument[0, 0], nl.ndarray((1, 1), nl.int32), nl.ndarray((128, 64), nl.int32)[0:1, 3]):
        with pytest.raises(NkiValidationError, match="cannot steer"):
            bool(data)


@pytest.mark.parametrize("buffer", [nl.sbuf, nl.shared_hbm])
def test_a_slice_may_be_empty_and_no_instruction_takes_it(now, buffer):
    tensor, twin = nl.ndarray((128, 64), nl.float32, buffer), np.zeros((128, 64))
    for empty, same in (
        (tensor[:, nl.ds(0, 0)], twin[:, 0:0]),
        (tensor[:, 64:64], twin[:, 64:64]),
        (tensor.slice(0, 5, 5), twin[5:5]),
        (tensor[:, 3:3][:, :], twin[:, 3:3]),
        (tensor[:, 3:3].reshape((128, 0)), twin[:, 3:3]),
        (tensor[5:5][:, 2:6], twin[5:5, 2:6]),
    ):
        assert empty.shape == same.shape
        with pytest.raises(NkiValidationError, match="is empty"):
            access(empty)


def test_hbm_equals_where_an_argument_lies(now):
    shared, private = (nl.ndarray((4,), nl.float32, at).buffer for at in (nl.shared_hbm, nl.private_hbm))
    assert shared == nl.hbm == private
    assert shared != private
    assert nl.ndarray((4, 4), nl.float32).buffer != nl.hbm
    assert len({shared, nl.hbm}) == 1


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
def test_views_take_the_whole_numbers_of_numpy(now, kind):
    tensor = nl.ndarray((128, 640), nl.float32, nl.shared_hbm)
    three, two = kind(3), kind(2)
    for view, same in (
        (tensor[three, two:], tensor[3, 2:]),
        (tensor[:, nl.ds(two, three)], tensor[:, nl.ds(2, 3)]),
        (tensor.select(0, three), tensor.select(0, 3)),
        (tensor.slice(0, two, three), tensor.slice(0, 2, 3)),
        (tensor.ap([[two, three], [1, two]], offset=three), tensor.ap([[2, 3], [1, 2]], offset=3)),
        (tensor.ap([[1, two]], scalar_offset=three), tensor.ap([[1, 2]], scalar_offset=3)),
        (tensor.reshape((two, 64, 640)), tensor.reshape((2, 64, 640))),
        (tensor[0:1].broadcast(0, three), tensor[0:1].broadcast(0, 3)),
        (tensor[0:1].broadcast_to((three, 640)), tensor[0:1].broadcast_to((3, 640))),
    ):
        assert (view.offset, view.shape, view.strides) == (same.offset, same.shape, same.strides)
        assert {type(number) for number in (view.offset, *view.shape, *view.strides)} == {int}


def test_tensors_need_a_kernel():
    from neff_bench.simulator.errors import KernelError

    with pytest.raises(KernelError, match="inside a kernel"):
        nl.ndarray((128, 64), nl.float32)


def test_the_collector_runs_again_after_a_recording():
    import gc

    with recording("trn2"):
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_collector_finds_circles_between_small_recordings():
    import gc

    class Circle:
        alive = 0

        def __init__(self):
            self.itself = self
            Circle.alive += 1

        def __del__(self):
            Circle.alive -= 1

    for _ in range(50):
        with recording("trn2"):
            pass
        for _ in range(100):
            Circle()
    assert Circle.alive < 4000
    gc.collect()


def test_a_pattern_holds_integers_whoever_asked_for_an_equal_one_before():
    first, second = views.pattern((771, True), (3, 2)), views.pattern((771, 1), (3, 2))
    assert [type(number) for pair in (*first, *second) for number in pair] == [int] * 8
