"""Where the rules on shapes and dtypes begin: how many instructions, and how small their work is."""

import msgspec
import pytest

from tests.viewer.test_advice_boundaries import advice
from tests.viewer.test_advice_rules import on_tile, product, rows

COLUMNS, PARTITIONS, ELEMENTS = "Move more columns", "Fill the 128 partitions", "Give Vector more elements"
STEPS, WIDE = "Lay tiles out so that Vector reads neighbours", "Keep what Vector works on in bfloat16"


def vector(count, **tile):
    return rows("Vector", "TENSOR_TENSOR", on_tile(**{"free": 512, **tile}), count)


@pytest.mark.parametrize(
    ("title", "small", "large", "at_most"),
    [
        (COLUMNS, lambda size, count: rows("Tensor", "MATMUL", product(size), count), 512, 127),
        (PARTITIONS, lambda size, count: vector(count, partitions=size), 128, 64),
        (ELEMENTS, lambda size, count: vector(count, free=size), 512, 127),
        (STEPS, lambda size, count: rows("Vector", "TENSOR_REDUCE", on_tile(256, step=size), count), 1, None),
    ],
)
def test_work_is_small_up_to_a_size_and_worth_a_word_from_eight_instructions(title, small, large, at_most):
    """A step in bfloat16 is large from 9 elements on, which are 18 bytes."""
    first = at_most if at_most is not None else 9
    beyond = at_most + 1 if at_most is not None else 8
    assert advice(title, small(first, 8)) and not advice(title, small(first, 7))
    assert not advice(title, small(beyond, 8)) and not advice(title, small(large, 8))


@pytest.mark.parametrize(
    ("title", "make", "share"),
    [
        (COLUMNS, lambda size, count: rows("Tensor", "MATMUL", product(size), count), 0.2),
        (ELEMENTS, lambda size, count: vector(count, free=size), 0.2), (PARTITIONS, lambda size, count: vector(count, partitions=size), 0.5),
    ],
)  # fmt: skip
def test_small_work_is_worth_a_word_where_it_is_a_part_of_all(title, make, share):
    most = int(10 / share) - 10
    whole = 512 if title != PARTITIONS else 128
    later = [msgspec.structs.replace(row, timestamp=row.timestamp + 1e5) for row in make(whole, most + 1)]
    assert advice(title, [*make(16, 10), *later[:-1]]) and not advice(title, [*make(16, 10), *later])


@pytest.mark.parametrize(("count", "opcode", "chip", "said_so"), [
    (8, "COPY", "trn2.3xlarge", True), (7, "COPY", "trn2.3xlarge", False), (8, "TENSOR_REDUCE", "trn2.3xlarge", False), (8, "COPY", "inf2.xlarge", False),
])  # fmt: skip
def test_four_bytes_are_worth_a_word_for_copies_where_the_chip_is_faster_on_two(count, opcode, chip, said_so):
    work = rows("Vector", opcode, on_tile(256, dtype="fp32"), count)
    assert (advice(WIDE, work, instance_type=chip) is not None) == said_so


@pytest.mark.parametrize("engine", ["Vector", "Scalar"])
def test_small_work_of_scalar_is_told_of_scalar(engine):
    found = advice(f"Give {engine} more elements", rows(engine, "TENSOR_TENSOR", on_tile(16), 8))
    assert found.metric == f"{engine.lower()}_active_us" and f"8 of 8 instructions of {engine} " in found.evidence
    assert not advice("Give", rows("GpSimd", "TENSOR_TENSOR", on_tile(16), 8))
