import ml_dtypes
import numpy as np
import pytest

from neff_bench.simulator.errors import ExecutionError

RNG = np.random.default_rng(41)
DATA = RNG.permutation(16 * 48).reshape(16, 6, 8).astype(np.float32)


def test_max8_descends(apply):
    out = apply("max8", {"dst": ((16, 8), "float32")}, {"src": DATA})
    for row in range(16):
        assert list(out[row]) == sorted(DATA[row].ravel(), reverse=True)[:8]


def test_max8_keeps_duplicates(apply):
    data = np.array([[5, 5, 1, 7, 7, 7, 2, 3, 0, 5]], np.float32)
    out = apply("max8", {"dst": ((1, 8), "bfloat16")}, {"src": data})
    np.testing.assert_array_equal(out[0].astype(np.float32), [7, 7, 7, 5, 5, 5, 3, 2])


def test_max8_needs_eight(apply):
    with pytest.raises(ExecutionError, match="src has 7 elements a partition, expected at least 8"):
        apply("max8", {"dst": ((1, 8), "float32")}, {"src": np.zeros((1, 7), np.float32)})


@pytest.mark.parametrize("dtype", ["uint32", "uint16"])
def test_find_index8(apply, dtype):
    wanted = np.take_along_axis(DATA.reshape(16, 48), RNG.permuted(np.tile(np.arange(48), (16, 1)), axis=1)[:, :8], 1)
    wanted[0, 3] = -5
    out = apply("nc_find_index8", {"dst": ((16, 8), dtype)}, {"data": DATA, "vals": wanted})
    for row in range(16):
        flat = list(DATA[row].ravel())
        expected = [flat.index(value) if value in flat else np.iinfo(dtype).max for value in wanted[row]]
        assert list(out[row]) == expected


def test_find_index8_gives_duplicates_successive_positions(apply):
    data = np.array([[1, 9, 2, 9, 9, 3, 4, 5, 6]], np.float32)
    wanted = np.array([[9, 9, 9, 6, 5, 4, 3, 2]], np.float32)
    out = apply("nc_find_index8", {"dst": ((1, 8), "uint32")}, {"data": data, "vals": wanted})
    assert list(out[0]) == [1, 3, 4, 8, 7, 6, 5, 2]


def test_match_replace8_documented_example(apply):
    data = np.array([[1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8]], np.float32)
    wanted = np.array([[3, 8, 8, 8, 8, 8, 8, 8]], np.float32)
    out = apply(
        "nc_match_replace8",
        {"dst": ((1, 11), "float32"), "dst_idx": ((1, 8), "uint32")},
        {"data": data, "vals": wanted},
        imm=-1.0,
    )
    replaced, positions = out.values()
    np.testing.assert_array_equal(replaced[0], [1, 2, -1, 4] + [-1] * 7)
    assert list(positions[0]) == [2, 10, 9, 8, 7, 6, 5, 4]


def test_match_replace8_replaces_only_first_occurrences(apply):
    data = np.array([[3, 1, 3, 2, 4, 5, 6, 7, 8, 9]], ml_dtypes.bfloat16)
    wanted = np.array([[3, 1, 2, 4, 5, 6, 7, 100]], ml_dtypes.bfloat16)
    out = apply("nc_match_replace8", {"dst": ((1, 10), "bfloat16")}, {"data": data, "vals": wanted}, imm=float("-inf"))
    low = -np.inf
    np.testing.assert_array_equal(out[0].astype(np.float32), [low, low, 3, low, low, low, low, low, 8, 9])


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_nonzero_with_count_in_the_first_partition_of_each_core(apply, dtype):
    data = RNG.integers(0, 2, (32, 8)).astype(dtype)
    data[0] = [0, 1, 1, 0, 0, 1, 0, 0]
    before = np.full((32, 9), -77, np.int32)
    out = apply("nonzero_with_count", {"dst": before}, {"src": data}, "gpsimd", index_offset=16, padding_val=-1)
    assert list(out[0]) == [17, 18, 21, -1, -1, -1, -1, -1, 3]
    found = list(np.flatnonzero(data[16]) + 16)
    assert list(out[16]) == found + [-1] * (8 - len(found)) + [len(found)]
    assert (np.delete(out, [0, 16], axis=0) == -77).all()
