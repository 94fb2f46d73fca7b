"""The columns of a program."""

import msgspec
import pytest

from neff_bench.simulator import native
from neff_bench.simulator.compiler.program.columns import DTYPES, operand_names, tabulated
from neff_bench.simulator.program import Access, Buffer, Dynamic, Instruction
from tests.simulator.programs import whole

BUFFERS = (
    Buffer("x", "hbm", (4, 128, 16), "bfloat16", "input"),
    Buffer("ones", "hbm", (8,), "float32", "constant", data=bytes(32)),
    Buffer("t", "sbuf", (128, 4, 4), "float32", "internal", 0, b"", 64, 0, 32),
    Buffer("p", "psum", (64, 2), "float32", "internal", 1),
)
X, ONES, T, P = range(4)


def copy(dst, src, name="src"):
    return Instruction("tensor_copy", "vector", {"dst": whole(dst, BUFFERS)}, {name: whole(src, BUFFERS)}, {})


@pytest.fixture(params=["compiled", "plain"])
def tabulate(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(native, "compiled_passes", lambda: None)
    elif native.compiled_passes() is None:
        pytest.skip("the passes are not compiled here")
    return tabulated


def test_rows_and_places_of_buffers(tabulate):
    found = tabulate(BUFFERS, [()]).buffers
    assert [column.tolist() for column in found] == [
        [0, 0, 1, 2], [1, 0, 0, 0], [32, 32, 64, 8], [512, 1, 128, 64], [-1, -1, 64, -1], [0, 0, 32, 0]
    ]  # fmt: skip


def test_kinds_are_those_of_all_cores_by_their_first_instruction(tabulate):
    only_in_second = copy(P, T, "data")
    cores = [(copy(T, P), copy(T, P)), (only_in_second, copy(T, P), only_in_second)]
    found = tabulate(BUFFERS, cores)
    assert found.kinds == (cores[0][0], only_in_second)
    assert [core.kind.tolist() for core in found.cores] == [[0, 0], [1, 0, 1]]
    assert operand_names(found.kinds) == ("src", "dst", "data")


def test_a_view_of_other_partitions_or_with_a_run_time_address_is_of_another_kind(tabulate):
    index = Access(T, 0, ((16, 1), (1, 1)), "int32")
    rows = [
        Access(T, 0, ((16, 8), (1, 4)), "float32"),
        Access(T, 4, ((16, 8), (1, 4)), "float32"),
        Access(T, 64, ((16, 8), (1, 4)), "float32"),
        Access(T, 0, ((16, 8), (1, 4)), "float32", (Dynamic(64, index),)),
    ]
    core = [Instruction("memset", "vector", {"dst": row}, {}, {}) for row in rows]
    assert tabulate(BUFFERS, [core]).cores[0].kind.tolist() == [0, 0, 1, 2]


def test_a_dtype_that_is_not_known_is_refused(tabulate):
    other = msgspec.structs.replace(BUFFERS[T], dtype="float7")
    with pytest.raises(KeyError):
        tabulate((other,), [()])
    read = msgspec.structs.replace(whole(T, BUFFERS), dtype="float7")
    with pytest.raises(KeyError):
        tabulate(BUFFERS, [(Instruction("memset", "vector", {"dst": read}, {}, {}),)])


def test_dtypes_have_the_numbers_of_their_sizes(tabulate):
    [core] = tabulate(BUFFERS, [(copy(T, X),)]).cores
    assert [DTYPES[number] for number in core.views.dtype] == ["bfloat16", "float32"]
