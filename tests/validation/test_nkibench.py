"""How many matmuls a published profile has, from its FLOPs and the bytes that the PE writes to PSUM."""

import pytest

from validation.nkibench import Matmul, published_counts

WIDE, TURNED = Matmul(2 * 128 * 128 * 512, 2048), Matmul(2 * 128**3, 512)
ROW = Matmul(2 * 128 * 512, 2048)
"""A row that is repeated over the partitions, by weights of ones."""


def profile(counts):
    """The counters of a profile that has so many instructions of each size."""
    return {
        "hardware_flops": sum(size.flops * count for size, count in counts.items()),
        "transpose_flops": TURNED.flops * counts.get(TURNED, 0),
        "psum_write_bytes": sum(size.written_bytes * count for size, count in counts.items()),
    }


@pytest.mark.parametrize(
    "counts",
    [{WIDE: 61440, TURNED: 30720}, {WIDE: 2048, ROW: 2, TURNED: 2048}, {ROW: 896}, {WIDE: 9216, TURNED: 512}, {}],
)
def test_the_counts_of_a_profile_follow_from_its_counters(counts):
    products, transposes = {size: 1 for size in counts if size != TURNED}, {TURNED: 1} if TURNED in counts else {}
    expected = sum(counts.values()) - counts.get(TURNED, 0), counts.get(TURNED, 0)
    assert published_counts(products, transposes, profile(counts)) == expected


def test_products_of_which_each_byte_has_the_same_flops_cannot_be_told_apart():
    half = Matmul(WIDE.flops // 2, WIDE.written_bytes // 2)
    assert published_counts({WIDE: 1, half: 1}, {}, profile({WIDE: 3, half: 4})) == (None, 0)


def test_products_of_another_size_than_the_kernel_has_are_not_counted():
    assert published_counts({WIDE: 1}, {}, profile({ROW: 1})) == (None, 0)
    assert published_counts({WIDE: 1, ROW: 1}, {}, profile({WIDE: 1}) | {"psum_write_bytes": 1}) == (None, 0)
    assert published_counts({WIDE: 1}, {}, profile({WIDE: 1, TURNED: 1})) == (None, None)
