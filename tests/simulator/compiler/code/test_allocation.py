"""Addresses of tensors that the kernel left to the compiler."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.code.allocation import allocate, open_sbuf_bytes
from neff_bench.simulator.compiler.program.columns import tabulated
from neff_bench.simulator.compiler.program.dependencies import find_edges
from neff_bench.simulator.compiler.program.lives import lives_of
from neff_bench.simulator.program import Access, Buffer, Instruction, Program
from tests.simulator.programs import whole

CHIP = chip_for("trn2")
SBUF = open_sbuf_bytes(CHIP)


def tensor(count, memory="sbuf", address=None):
    """`count` bytes of each partition."""
    return Buffer("t", memory, (128, count), "uint8", "internal", 0, b"", address)


def touch(*indices):
    """An instruction that uses these buffers."""
    access = [Access(index, 0, ((1, 1), (1, 1)), "uint8") for index in indices]
    return Instruction("tensor_copy", "vector", {"dst": access[0]}, {"src": access[-1]}, {})


def addresses(buffers, *instructions):
    table = tabulated(buffers, [instructions])
    lives = lives_of(table.cores[0], len(buffers), np.zeros(len(table.kinds), np.int64))
    found = allocate(table.buffers, lives, CHIP)
    return {index: address for index, address in enumerate(found.tolist()) if address >= 0}


def test_what_the_compiler_keeps_is_left_free():
    assert CHIP.sbuf_partition_bytes - CHIP.sbuf_reserved_bytes == SBUF
    half = CHIP.sbuf_partition_bytes // 2
    assert addresses([tensor(half), tensor(half)], touch(0), touch(1)) == {0: 0, 1: 0}


def test_memory_is_reused_as_late_as_possible():
    buffers = [tensor(SBUF // 4) for _ in range(5)]
    found = addresses(buffers, *(touch(index) for index in range(5)))
    assert found == {0: 0, 1: SBUF // 4, 2: SBUF // 2, 3: SBUF // 4 * 3, 4: 0}


def test_what_is_still_in_use_keeps_its_place():
    buffers = [tensor(SBUF // 2), tensor(SBUF // 2), tensor(SBUF // 2)]
    assert addresses(buffers, touch(0), touch(1), touch(2, 0)) == {0: 0, 1: SBUF // 2, 2: SBUF // 2}


def test_what_finds_no_room_takes_the_place_of_what_is_done_with_first():
    buffers = [tensor(SBUF // 2), tensor(SBUF // 2), tensor(SBUF // 4), tensor(SBUF // 4)]
    found = addresses(buffers, touch(0), touch(1), touch(2, 1), touch(3, 2), touch(0))
    assert found == {0: 0, 1: SBUF // 2, 2: SBUF // 2, 3: SBUF // 2 + SBUF // 4}


def test_what_is_larger_than_the_memory_gets_no_address():
    buffers = [tensor(SBUF // 2), tensor(SBUF + 1), tensor(SBUF // 2)]
    assert addresses(buffers, touch(0), touch(1), touch(2, 0)) == {0: 0, 2: SBUF // 2}


def test_what_the_kernel_placed_is_left_alone():
    buffers = [tensor(1000, address=0), tensor(1000, address=500), tensor(64)]
    assert addresses(buffers, touch(0), touch(1), touch(2)) == {2: 1500}


def test_a_product_does_not_cross_a_psum_bank():
    buffers = [tensor(1500, "psum"), tensor(1500, "psum"), tensor(4096, "psum"), tensor(500, "psum")]
    found = addresses(buffers, *(touch(index) for index in range(4)))
    assert found == {0: 0, 1: 2048, 2: 4096, 3: 8192}


def test_a_ninth_product_waits_for_the_first_bank():
    buffers = [tensor(2048, "psum") for _ in range(9)]
    writes = [Instruction("memset", "vector", {"dst": whole(i, buffers)}, {}, {"value": 0}) for i in range(9)]
    program = Program("p", "trn2", 1, tuple(buffers), (), (), (tuple(writes),))
    edges = find_edges(program, writes, addresses(buffers, *writes))
    assert [{edge.before for edge in waits} for waits in edges] == [set()] * 8 + [{0}]


@given(st.lists(st.tuples(st.integers(1, SBUF // 4), st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=30))
def test_tensors_in_use_at_one_time_do_not_overlap_where_there_is_room(given_lives):
    """All of one size, and never more in use than memory holds."""
    size = given_lives[0][0]
    lives: list[tuple[int, int]] = []
    for _, a, b in given_lives:
        begin, end = min(a, b), max(a, b)
        if all(sum(x <= at <= y for x, y in lives) < SBUF // size for at in range(begin, end + 1)):
            lives.append((begin, end))
    steps = [[i for i, life in enumerate(lives) if at in life] for at in range(31)]
    found = addresses([tensor(size) for _ in lives], *(touch(i) for now in steps for i in now))
    for i in found:
        assert 0 <= found[i] <= SBUF - size
        for j in found:
            if i < j and lives[i][0] <= lives[j][1] and lives[j][0] <= lives[i][1]:
                assert abs(found[i] - found[j]) >= size
