"""Kernels of the old dialect whose tiles do not fit into SBUF at once: what leaves, and that every result is what it was."""

import numpy as np
import pytest

from neff_bench.simulator.compiler.passes.spilling import moved_to_their_use
from neff_bench.simulator.errors import CapacityError
from neff_bench.simulator.nki.beta import language as nl
from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.simulate import simulate
from tests.simulator.nki.beta.kernels import recorded

WIDE = 16384
"""float32 columns of a tile of 64 KiB in each partition. SBUF of trn1 has room for two, beside what the compiler keeps."""
X = np.random.default_rng(3).standard_normal((32, 4 * WIDE)).astype(np.float32)


@pytest.fixture(autouse=True)
def trn1(monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn1")


def kept(x):
    """x + 1 + 1, with all of x + 1 kept between two loops."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tiles = nl.ndarray((x.shape[1] // WIDE, nl.par_dim(x.shape[0]), WIDE), dtype=x.dtype, buffer=nl.sbuf)
    for part in nl.affine_range(x.shape[1] // WIDE):
        tiles[part] = nl.load(x[:, nl.ds(WIDE * part, WIDE)])
        tiles[part] += 1.0
    for part in nl.affine_range(x.shape[1] // WIDE):
        tiles[part] += 1.0
        nl.store(out[:, nl.ds(WIDE * part, WIDE)], tiles[part])
    return out


def copies(program):
    """Each DMA, with the kinds of HBM tensor from and to which it goes, "" for SBUF."""
    kinds = {index: buffer.kind for index, buffer in enumerate(program.buffers) if buffer.memory == "hbm"}
    found = [step for step in program.cores[0] if step.op == "dma_copy"]
    return [(s, (kinds.get(s.reads["src"].buffer, ""), kinds.get(s.writes["dst"].buffer, ""))) for s in found]


def moves(program):
    return [move for _, move in copies(program)]


def test_tiles_without_room_are_written_to_hbm_and_read_back():
    rows = (128, 4 * WIDE)
    program = recorded(kept, rows, target="trn1", middle_end=True)
    spills = moves(program).count(("", "internal"))
    assert 2 <= spills <= 3
    assert moves(program).count(("internal", "")) == spills
    assert program.spilled_bytes == program.reloaded_bytes == spills * 128 * WIDE * 4
    assert program.before_middle_end
    assert np.array_equal(simulate(jit(kept))(np.tile(X, (4, 1))), np.tile(X, (4, 1)) + 1 + 1)


def test_a_kernel_that_turns_the_middle_end_off_is_refused():
    with pytest.raises(CapacityError, match="SBUF of core 0 is full"):
        recorded(kept, (128, 4 * WIDE), target="trn1")


def test_a_kernel_that_fits_spills_nothing():
    program = recorded(kept, (128, 2 * WIDE), target="trn1", middle_end=True)
    assert (program.spilled_bytes, program.before_middle_end) == (0, False)


def test_a_kernel_that_fits_as_it_is_written_loads_nothing_more_often():
    """Its tiles take 191 KiB, more than the compiler has when it keeps 16 KiB for itself."""

    def repeated(x):
        out = nl.ndarray((2, x.shape[0], 1024), dtype=x.dtype, buffer=nl.shared_hbm)
        whole = nl.load(x)
        for part in nl.affine_range(2):
            nl.store(out[part], nl.add(whole[:, nl.ds(1024 * part, 1024)], nl.load(x[:, nl.ds(0, 1024)])))
        nl.store(out[0], nl.add(whole[:, nl.ds(0, 1024)], 1.0))
        return out

    program = recorded(repeated, (128, 46848), target="trn1", middle_end=True)
    assert [step.reads["src"].columns for step, move in copies(program) if move == ("input", "")] == [46848, 1024]


def test_a_kernel_is_refused_when_the_operands_of_one_instruction_do_not_fit():
    def summed(x, y):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.add(nl.load(x), nl.load(y)))
        return out

    with pytest.raises(CapacityError, match="SBUF of core 0 is full"):
        recorded(summed, (128, 2 * WIDE), (128, 2 * WIDE), target="trn1", middle_end=True)


def test_a_tile_that_only_holds_loads_is_loaded_again_and_not_written():
    """Tile g is loaded in two halves, and its next use is behind that of the others."""

    def scaled(x, g):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        last = nl.ndarray(g.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        held = nl.ndarray(g.shape, dtype=x.dtype, buffer=nl.sbuf)
        for half in nl.affine_range(2):
            columns = nl.ds(WIDE // 2 * half, WIDE // 2)
            held[:, columns] = nl.load(g[:, columns])
        first = nl.add(held[:, 0:1], held[:, WIDE - 1 : WIDE])
        tiles = nl.ndarray((2, nl.par_dim(x.shape[0]), WIDE), dtype=x.dtype, buffer=nl.sbuf)
        for part in nl.affine_range(2):
            tiles[part] = nl.load(x[:, nl.ds(WIDE * part, WIDE)])
            tiles[part] += first
        for part in nl.affine_range(2):
            tiles[part] += 1.0
            nl.store(out[:, nl.ds(WIDE * part, WIDE)], tiles[part])
        held += 1.0
        nl.store(last, held)
        return out, last

    program = recorded(scaled, (128, 2 * WIDE), (128, WIDE), target="trn1", middle_end=True)
    assert program.spilled_bytes == 0
    assert moves(program).count(("input", "")) == 2 + 2 + 2
    x, g = np.tile(X[:, : 2 * WIDE], (4, 1)), np.tile(X[:, -WIDE:], (4, 1))
    out, last = simulate(jit(scaled))(x, g)
    assert np.array_equal(out, x + (g[:, :1] + g[:, -1:]) + 1)
    assert np.array_equal(last, g + 1)


def test_a_load_of_what_changes_before_its_next_use_is_spilled():
    def swapped(x):
        scratch = nl.ndarray((x.shape[0], WIDE), dtype=x.dtype, buffer=nl.hbm)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(scratch, nl.add(nl.load(x[:, nl.ds(0, WIDE)]), 5.0))
        old = nl.load(scratch)
        nl.store(out[:, nl.ds(0, 1)], nl.add(old[:, 0:1], 1.0))
        nl.store(scratch, nl.add(nl.load(x[:, nl.ds(WIDE, WIDE)]), 7.0))
        tiles = nl.ndarray((3, nl.par_dim(x.shape[0]), WIDE), dtype=x.dtype, buffer=nl.sbuf)
        for part in nl.affine_range(3):
            tiles[part] = nl.load(x[:, nl.ds(WIDE * part, WIDE)])
            tiles[part] += 1.0
        for part in nl.affine_range(3):
            tiles[part] += 1.0
            nl.store(out[:, nl.ds(WIDE * part, WIDE)], tiles[part])
        old += 1.0
        nl.store(out[:, nl.ds(0, WIDE)], old)
        return out

    program = recorded(swapped, (128, 3 * WIDE), target="trn1", middle_end=True)
    assert program.spilled_bytes > 0
    x = np.tile(X[:, : 3 * WIDE], (4, 1))
    expected = x + 1 + 1
    expected[:, :WIDE] = x[:, :WIDE] + 5 + 1
    assert np.array_equal(simulate(jit(swapped))(x), expected)


def test_a_tile_that_is_half_written_spills_what_was_written():
    def halves(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        blocks = x.shape[1] // WIDE
        tiles = nl.ndarray((blocks, nl.par_dim(x.shape[0]), WIDE), dtype=x.dtype, buffer=nl.sbuf)
        for half in nl.affine_range(2):
            for part in nl.affine_range(blocks):
                loaded = nl.load(x[:, nl.ds(WIDE * part + WIDE // 2 * half, WIDE // 2)])
                tiles[part, :, nl.ds(WIDE // 2 * half, WIDE // 2)] = nl.add(loaded, 1.0)
        for part in nl.affine_range(blocks):
            nl.store(out[:, nl.ds(WIDE * part, WIDE)], nl.add(tiles[part], 1.0))
        return out

    program = recorded(halves, (128, 4 * WIDE), target="trn1", middle_end=True)
    spills = [step.reads["src"].columns for step, move in copies(program) if move == ("", "internal")]
    assert {WIDE // 2} <= set(spills) <= {WIDE // 2, WIDE}
    assert program.spilled_bytes == 128 * 4 * sum(spills)
    assert np.array_equal(simulate(jit(halves))(np.tile(X, (4, 1))), np.tile(X, (4, 1)) + 1 + 1)


def test_loads_move_to_their_use_and_stores_to_their_source():
    def early(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tiles = [nl.load(x[:, nl.ds(64 * part, 64)]) for part in range(2)]
        done = [nl.add(tile, 1.0) for tile in tiles]
        for part in range(2):
            nl.store(out[:, nl.ds(64 * part, 64)], done[part])
        return out

    program = recorded(early, (128, 128))
    order = [step.op for step in moved_to_their_use(program, program.cores[0])]
    assert [step.op for step in program.cores[0]] == ["dma_copy"] * 2 + ["tensor_scalar"] * 2 + ["dma_copy"] * 2
    assert order == ["dma_copy", "tensor_scalar", "dma_copy"] * 2
