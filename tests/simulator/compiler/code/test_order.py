import numpy as np
import pytest

from neff_bench.chips import CHIPS
from neff_bench.simulator.compiler.code.lowering import Numbered, lower, operations_of
from neff_bench.simulator.compiler.code.order import issue_order
from neff_bench.simulator.compiler.program.columns import tabulated
from neff_bench.simulator.compiler.program.dependencies import edges_of, find_edges, settling
from neff_bench.simulator.program import Buffer, Instruction, Program
from tests.simulator.programs import matmul, whole

BUFFERS = [
    Buffer("q", "hbm", (128, 128), "bfloat16", "input"),
    Buffer("v", "hbm", (128, 128), "bfloat16", "input"),
    *[Buffer(f"t{n}", "sbuf", (128, 128), "bfloat16", "internal", 0) for n in range(6)],
    Buffer("p", "psum", (128, 128), "float32", "internal", 0),
]
Q, V, T0, T1, T2, T3, T4, T5, P = range(9)


def copy(dst, src, engine="vector", op="tensor_copy", **attributes):
    return Instruction(op, engine, {"dst": whole(dst, BUFFERS)}, {"src": whole(src, BUFFERS)}, attributes)


def load(dst, src, **attributes):
    return copy(dst, src, "sync", "dma_copy", **attributes)


def order_in(program, core=0):
    chip, instructions = CHIPS["trn2"], program.cores[core]
    table = tabulated(program.buffers, [instructions])
    [columns] = table.cores
    different = [lower(first, program, chip) for first in table.kinds]
    operations = operations_of(different, chip, len(program.cores), Numbered({}, {}))
    edges = edges_of(table.buffers, columns, np.full(len(program.buffers), -1), settling(table.kinds))
    return issue_order(operations, columns.kind, edges, chip).tolist()


def order_of(*instructions):
    return order_in(Program("o", "trn2", 1, tuple(BUFFERS), (), (), (instructions,)))


def test_loads_of_a_queue_come_in_the_order_of_their_first_use():
    # As the compiled fused attention of the trn2 traces: the program loads q first and uses v first.
    assert order_of(load(T0, Q), load(T1, V), copy(T2, T1), copy(T3, T0)) == [1, 0, 2, 3]


def test_what_waits_for_nothing_waits_until_it_is_needed():
    memset = Instruction("memset", "gpsimd", {"dst": whole(T2, BUFFERS)}, {}, {"value": 0.0})
    add = Instruction("tensor_tensor", "vector", {"dst": whole(T3, BUFFERS)},
                      {"data1": whole(T1, BUFFERS), "data2": whole(T2, BUFFERS)}, {"op": "add"})  # fmt: skip
    assert order_of(memset, load(T0, Q), copy(T1, T0), add)[:2] == [1, 0]


def test_what_is_ready_overtakes_what_waits():
    order = order_of(load(T0, Q), copy(T1, T0), copy(T3, T2), copy(T4, T1))
    assert order.index(2) < order.index(1) < order.index(3)


def test_of_what_is_ready_the_first_in_the_program_goes_first():
    assert order_of(copy(T1, T0), copy(T3, T2), copy(T5, T4)) == [0, 1, 2]


def test_products_that_add_to_one_tile_follow_each_other():
    # The PE does not wait for itself: in part2/my_conv_kernel_float16_smaller.ntff of riya-ranjan/cs149-pa4 each of 1080 products loads its
    # weights, since no two that share them come one after the other, as they are written.
    buffers = [*BUFFERS, Buffer("other", "psum", (128, 128), "float32", "internal", 0)]

    def product(dst, weights, adds):
        reads = {"stationary": whole(weights, buffers), "moving": whole(T0, buffers)}
        return Instruction("nc_matmul", "tensor", {"dst": whole(dst, buffers)}, reads, {"accumulate": adds})

    groups = [product(dst, weights, weights != T1) for dst in (P, P + 1) for weights in (T1, T2, T3)]
    assert order_in(Program("p", "trn2", 1, tuple(buffers), (), (), (tuple(groups),))) == [0, 1, 2, 3, 4, 5]


def test_a_store_does_not_hold_up_the_loads_of_its_queue():
    buffers = [*BUFFERS, Buffer("out", "hbm", (128, 128), "bfloat16", "output")]
    out = Instruction("dma_copy", "sync", {"dst": whole(9, buffers)}, {"src": whole(T1, buffers)}, {})
    program = Program(
        "s", "trn2", 1, tuple(buffers), (), (), ((load(T0, Q), copy(T1, T0), out, load(T2, V), copy(T3, T2)),)
    )
    order = order_in(program)
    assert order.index(3) < order.index(2)


def test_memory_that_is_reused_keeps_its_order():
    # T0 is loaded again: not before its reader, though the second load is needed by nobody.
    order = order_of(load(T0, Q), copy(T1, T0), load(T0, V), load(T2, V), copy(T3, T2))
    assert order.index(0) < order.index(1) < order.index(2)


def test_a_buffer_of_hbm_that_is_written_between_two_loads_does_not_tie_a_knot():
    buffers = [*BUFFERS, Buffer("h", "hbm", (128, 128), "bfloat16", "internal")]
    h = whole(9, buffers)
    first = Instruction("dma_copy", "sync", {"dst": whole(T0, buffers)}, {"src": h}, {})
    back = Instruction("dma_copy", "sync", {"dst": h}, {"src": whole(T1, buffers)}, {})
    again = Instruction("dma_copy", "sync", {"dst": whole(T2, buffers)}, {"src": h}, {})
    program = Program("k", "trn2", 1, tuple(buffers), (), (), ((first, back, again, copy(T3, T2), copy(T4, T0)),))
    order = order_in(program)
    assert sorted(order) == [0, 1, 2, 3, 4] and order.index(0) < order.index(1) < order.index(2)


@pytest.mark.parametrize("tiles", [1, 7])
def test_every_order_keeps_every_dependency(tiles):
    program = matmul(tiles=tiles, lnc=2)
    for core, instructions in enumerate(program.cores):
        edges = find_edges(program, instructions)
        order = order_in(program, core)
        place = {index: n for n, index in enumerate(order)}
        assert sorted(order) == list(range(len(instructions)))
        assert all(place[edge.before] < place[index] for index, waits in enumerate(edges) for edge in waits)
