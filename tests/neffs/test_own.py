"""A kernel of the user's own, as plain data."""

import pytest

from neff_bench.neffs.errors import CaseError
from neff_bench.neffs.own import Tensor, resolved

KNOWN = {"enum:A": 7, "maker:sum": lambda *values: sum(values), "maker:none": lambda: "made"}


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ({"ref": "enum:A"}, 7),
        ({"ref": "maker:sum", "args": [1, {"ref": "enum:A"}]}, 8),
        ({"ref": "maker:none", "args": []}, "made"),
        ([{"ref": "enum:A"}, [{"ref": "enum:A"}], 1.5], [7, [7], 1.5]),
        ({"a": {"ref": "enum:A"}, "b": None}, {"a": 7, "b": None}),
        ({"ref": "enum:A", "other": 1}, {"ref": "enum:A", "other": 1}),
        ({"ref": "enum:A", "args": [], "other": {"ref": "enum:A"}}, {"ref": "enum:A", "args": [], "other": 7}),
        ({"args": [1]}, {"args": [1]}),
        ({}, {}),
        ("ref", "ref"),
    ],
)
def test_a_reference_becomes_what_its_name_stands_for_wherever_it_is(said, value):
    assert resolved(said, KNOWN.__getitem__) == value


def test_the_size_of_a_tensor_is_that_of_all_its_elements():
    assert [Tensor("x", shape, "float16").bytes for shape in ((), (3,), (3, 4))] == [2, 6, 24]
    with pytest.raises(CaseError, match="unknown dtype"):
        _ = Tensor("x", (1,), "float64").bytes
