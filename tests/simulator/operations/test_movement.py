import ml_dtypes
import numpy as np
import pytest

from neff_bench.simulator.errors import ExecutionError

RNG = np.random.default_rng(51)


def test_stream_shuffle_moves_within_quadrants(apply):
    data = RNG.standard_normal((64, 6)).astype(ml_dtypes.bfloat16)
    before = np.zeros((64, 6), ml_dtypes.bfloat16)
    mask = [int(i) for i in RNG.permutation(32)]
    mask[4] = mask[20] = 255
    out = apply("nc_stream_shuffle", {"dst": before}, {"src": data}, shuffle_mask=mask)
    for row in range(64):
        source = mask[row % 32]
        expected = before[row] if source == 255 else data[row // 32 * 32 + source]
        np.testing.assert_array_equal(out[row], expected)


def test_stream_shuffle_broadcasts_one_partition(apply):
    data = RNG.standard_normal((1, 6)).astype(np.float32)
    out = apply("nc_stream_shuffle", {"dst": ((32, 6), "float32")}, {"src": data}, shuffle_mask=[0] * 32)
    np.testing.assert_array_equal(out, np.tile(data, (32, 1)))


def test_stream_shuffle_from_a_partition_that_is_not_read_is_refused(apply):
    with pytest.raises(ExecutionError, match=r"shuffle_mask\[1\] reads partition 5 of a source with 4"):
        apply(
            "nc_stream_shuffle",
            {"dst": ((4, 2), "float32")},
            {"src": np.zeros((4, 2), np.float32)},
            shuffle_mask=[0, 5] + [0] * 30,
        )


def test_n_gather_takes_elements_of_the_same_partition(apply):
    data = RNG.standard_normal((8, 4, 5)).astype(np.float32)
    indices = RNG.integers(0, 20, (8, 7)).astype(np.uint32)
    out = apply("nc_n_gather", {"dst": ((8, 7), "float32")}, {"data": data, "indices": indices}, "gpsimd")
    for row in range(8):
        np.testing.assert_array_equal(out[row], data[row].ravel()[indices[row]])


def test_n_gather_outside_is_an_error(apply):
    with pytest.raises(ExecutionError, match="index 20 of 20 elements"):
        apply(
            "nc_n_gather",
            {"dst": ((1, 1), "float32")},
            {"data": np.zeros((1, 20), np.float32), "indices": np.array([[20]], np.uint32)},
        )


@pytest.mark.parametrize(("width", "valid"), [(1, None), (4, 64), (4, 50)])
def test_local_gather_reads_with_the_indices_of_its_core(apply, width, valid):
    data = RNG.standard_normal((32, 64 * width)).astype(np.float32)
    places = RNG.integers(0, 64, (32, 4))
    index = (places * width).astype(np.uint16)
    count = valid or 64
    out = apply(
        "local_gather",
        {"dst": ((32, count * width), "float32")},
        {"src_buffer": data, "index": index},
        "gpsimd",
        num_elem_per_idx=width,
        num_valid_indices=valid,
    )
    for core in range(2):
        rows = slice(16 * core, 16 * core + 16)
        flat = places[rows].flatten(order="F")[:count]
        expected = np.take(data[rows].reshape(16, 64, width), flat, axis=1).reshape(16, -1)
        np.testing.assert_array_equal(out[rows], expected)
