from hypothesis import given
from hypothesis import strategies as st

from neff_bench.simulator.compiler.program.dependencies import find_edges
from neff_bench.simulator.compiler.program.rectangles import Box, box_of
from neff_bench.simulator.program import Access, Buffer, Instruction, Program
from tests.simulator.programs import matmul, whole


def edges_of(buffers, instructions):
    program = Program("p", "trn2", 1, tuple(buffers), (), (), (tuple(instructions),))
    return [{(edge.before, edge.kind) for edge in edges} for edges in find_edges(program, instructions)]


def copy(dst, src):
    return Instruction("tensor_copy", "vector", {"dst": dst}, {"src": src}, {})


def test_matmul_waits_for_both_loads_and_its_copy_for_the_matmul():
    program = matmul()
    found = find_edges(program, program.cores[0])
    assert {(e.before, e.operand) for e in found[2]} == {(0, "stationary"), (1, "moving")}
    assert {e.before for e in found[3]} == {2}
    assert {e.before for e in found[4]} == {3}


def test_box_of_a_column_slice_names_its_bytes():
    tile = Buffer("t", "sbuf", (128, 512), "bfloat16", "internal")
    assert box_of(Access(0, 256, ((512, 128), (1, 128)), "bfloat16"), tile) == Box(0, 128, 512, 768)
    assert box_of(Access(0, 64 * 512, ((512, 32), (1, 512)), "bfloat16"), tile) == Box(64, 96, 0, 1024)


def test_disjoint_slices_do_not_wait():
    tile = Buffer("t", "sbuf", (128, 512), "float32", "internal")
    left, right = Access(0, 0, ((512, 128), (1, 256)), "float32"), Access(0, 256, ((512, 128), (1, 256)), "float32")
    other = Buffer("o", "sbuf", (128, 256), "float32", "internal")
    whole_other = Access(1, 0, ((256, 128), (1, 256)), "float32")
    memset = Instruction("memset", "gpsimd", {"dst": left}, {}, {"value": 0.0})
    assert edges_of([tile, other], [memset, copy(whole_other, right)]) == [set(), set()]
    assert edges_of([tile, other], [memset, copy(whole_other, left)]) == [set(), {(0, "raw")}]


def test_write_after_read_and_write_after_write():
    buffers = [
        Buffer("a", "sbuf", (128, 8), "float32", "internal"),
        Buffer("b", "sbuf", (128, 8), "float32", "internal"),
    ]
    a, b = whole(0, buffers), whole(1, buffers)
    memset = Instruction("memset", "gpsimd", {"dst": a}, {}, {"value": 0.0})
    assert edges_of(buffers, [memset, copy(b, a), memset])[2] == {(1, "war"), (0, "waw")}


def test_reuse_of_an_address_is_a_dependency():
    def place(address):
        return Buffer(f"t{address}", "sbuf", (128, 64), "float32", "internal", 0, b"", address)

    buffers = [place(0), Buffer("o", "sbuf", (128, 64), "float32", "internal"), place(128), place(256)]
    memset = [Instruction("memset", "gpsimd", {"dst": whole(i, buffers)}, {}, {"value": 0.0}) for i in (0, 2, 3)]
    found = edges_of(buffers, [memset[0], copy(whole(1, buffers), whole(0, buffers)), memset[1], memset[2]])
    assert found[2] == {(1, "war"), (0, "waw")}
    assert found[3] == {(2, "waw")}


def test_dynamic_access_is_the_whole_buffer_and_waits_for_its_index():
    from neff_bench.simulator.program import Dynamic

    buffers = [Buffer("h", "hbm", (64, 32), "float32", "internal"), Buffer("i", "sbuf", (1, 1), "int32", "internal")]
    index = whole(1, buffers)
    row = Access(0, 0, ((32, 1), (1, 32)), "float32", (Dynamic(32, index),))
    store = Instruction(
        "dma_copy", "sync", {"dst": Access(0, 63 * 32, ((32, 1), (1, 32)), "float32")}, {"src": row}, {}
    )
    memset = Instruction("memset", "gpsimd", {"dst": index}, {}, {"value": 1})
    load = Instruction("dma_copy", "sync", {"dst": index}, {"src": row}, {})
    assert edges_of(buffers, [memset, store, load])[2] >= {(1, "raw")}
    assert (0, "raw") in edges_of(buffers, [memset, store])[1]


@st.composite
def accesses(draw):
    """A write or a read of part of one [8, 16] tile: a block, or every other column of one."""
    row, rows = draw(st.integers(0, 7)), draw(st.integers(1, 8))
    column, columns, step = draw(st.integers(0, 15)), draw(st.integers(1, 16)), draw(st.sampled_from((1, 2, 3)))
    rows = min(rows, 8 - row)
    columns = min(columns, (15 - column) // step + 1)
    return draw(st.booleans()), Access(0, row * 16 + column, ((16, rows), (step, columns)), "float32")


@given(st.lists(accesses(), max_size=14))
def test_every_true_conflict_is_ordered(moves):
    buffers = [Buffer("t", "sbuf", (8, 16), "float32", "internal")]
    instructions = [
        Instruction("x", "vector", {"dst": access} if write else {}, {} if write else {"src": access}, {})
        for write, access in moves
    ]
    program = Program("p", "trn2", 1, tuple(buffers), (), (), (tuple(instructions),))
    after = []
    for edges in find_edges(program, instructions):
        direct = {edge.before for edge in edges}
        after.append(direct.union(*(after[i] for i in direct)) if direct else direct)
    touched = []
    for write, access in moves:
        (_, rows), (step, columns) = access.pattern
        touched.append((write, {access.offset + r * 16 + c * step for r in range(rows) for c in range(columns)}))
    for j, (writes, cells) in enumerate(touched):
        for i in range(j):
            if (writes or touched[i][0]) and cells & touched[i][1]:
                assert i in after[j]
