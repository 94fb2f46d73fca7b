"""What the compiler of the old dialect does before it allocates: loads that are not repeated, copies on two engines."""

import numpy as np
import pytest

from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.compiler.code.assembler import assemble
from neff_bench.simulator.nki.beta import isa as nisa
from neff_bench.simulator.nki.beta import language as nl
from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.simulate import simulate
from tests.simulator.nki.beta.kernels import recorded

X = np.random.default_rng(8).standard_normal((512, 64)).astype(np.float32)
G = np.random.default_rng(9).standard_normal((128, 64)).astype(np.float32)


def scaled(x, g):
    """x * g, for which g is loaded again for every tile of x."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for tile in nl.affine_range(4):
        rows = nl.ds(128 * tile, 128)
        nl.store(out[rows, :], nl.multiply(nl.load(x[rows, :]), nl.load(g)))
    return out


def loads(program):
    return [step for step in program.cores[0] if step.op == "dma_copy" and step.reads["src"].buffer in program.inputs]


def test_a_load_of_what_is_on_chip_is_removed():
    program = recorded(scaled, X.shape, G.shape, middle_end=True)
    assert len(loads(program)) == 1 + 1  # those of x are one DMA
    assert (program.before_middle_end, program.what_changes) == (True, "loads that the kernel repeats")
    assert np.array_equal(simulate(jit(scaled))(X, G), X * np.tile(G, (4, 1)))


def test_a_load_that_cuts_a_row_into_parts_is_removed_too():
    """Its view of the tile has three dimensions (swiglu and matmul of zhang677/AccelOpt)."""

    def cut(x):
        outs = [nl.ndarray((128, 1024), dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(2)]
        rows, parts, columns = nl.arange(128)[:, None, None], nl.arange(8)[None, :, None], nl.arange(128)[None, None, :]
        for number, out in enumerate(outs):
            tile = nl.ndarray((nl.par_dim(128), 1024), dtype=x.dtype, buffer=nl.sbuf)
            tile[rows, 128 * parts + columns] = nl.load(x[rows, parts, columns])
            nl.store(out, nl.add(tile, float(number)))
        return tuple(outs)

    program = recorded(cut, (128, 8, 128), middle_end=True)
    assert (len(loads(program)), program.before_middle_end) == (1, True)
    x = np.random.default_rng(5).standard_normal((128, 8, 128)).astype(np.float32)
    first, second = simulate(jit(cut))(x)
    assert np.array_equal(first, x.reshape(128, 1024)) and np.array_equal(second, x.reshape(128, 1024) + 1)


def test_a_program_without_repeated_loads_is_what_the_compiler_makes_of_it():
    def copied(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for tile in nl.affine_range(4):
            rows = nl.ds(128 * tile, 128)
            nl.store(out[rows, :], nl.add(nl.load(x[rows, :]), 1.0))
        return out

    assert not recorded(copied, X.shape, middle_end=True).before_middle_end
    assert not recorded(scaled, X.shape, G.shape).before_middle_end


@pytest.mark.parametrize(("columns", "known"), [(45_000, True), (47_000, False)])
def test_a_program_that_needs_the_bytes_of_the_compiler_says_so(columns, known):
    def copied(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x))
        return out

    program = recorded(copied, (128, columns), middle_end=True, target="trn1")
    assert (len(loads(program)), program.before_middle_end) == (1, not known)


def test_a_transpose_on_the_pe_loads_an_identity_once_for_each_dtype():
    def turned(x):
        out = nl.ndarray((64, 512), dtype=x.dtype, buffer=nl.shared_hbm)
        for tile in nl.affine_range(4):
            rows = nl.ds(128 * tile, 128)
            nl.store(out[:, rows], nl.copy(nisa.nc_transpose(nl.load(x[rows, :]))))
        return out

    program = recorded(turned, X.shape, middle_end=True)
    copies = [step.reads["src"] for step in program.cores[0] if step.op == "dma_copy"]
    [identity] = [source for source in copies if program.buffers[source.buffer].kind == "constant"]
    assert (identity.shape, identity.dtype) == ((128, 128), "float32")
    assert np.array_equal(simulate(jit(turned))(X), X.T)


def test_a_kernel_that_turns_the_middle_end_off_repeats_the_loads_of_what_has_left_sbuf():
    def twice(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for tile in (0, 1, 0):
            rows = nl.ds(128 * tile, 128)
            nl.store(out[rows, :], nl.add(nl.load(x[rows, :]), 1.0))
        return out

    assert len(loads(recorded(twice, (256, 64)))) == 2
    assert len(loads(recorded(twice, (256, 8_000)))) == 2
    assert len(loads(recorded(twice, (256, 16_000)))) == 3


def test_memory_that_changed_is_loaded_again():
    def twice(x):
        scratch = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.hbm)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(scratch, nl.load(x))
        first = nl.load(scratch)
        nl.store(scratch, nl.add(first, 1.0))
        nl.store(out, nl.add(nl.load(scratch), first))
        return out

    assert np.array_equal(simulate(jit(twice))(G), (G + 1) + G)


def test_a_tile_that_changed_is_loaded_again():
    def changed(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        first = nl.load(x)
        first += 1.0
        nl.store(out, nl.add(nl.load(x), first))
        return out

    assert np.array_equal(simulate(jit(changed))(G), G + (G + 1))


def test_where_repeated_loads_have_no_room_none_is_left_out_and_the_program_says_so():
    def wide(parts):
        def kernel(x):
            outs = [nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(2)]
            for out in outs:
                for part in nl.affine_range(parts):  # each takes 32 KiB of a partition, and its sum as much
                    columns = nl.ds(8192 * part, 8192)
                    nl.store(out[:, columns], nl.add(nl.load(x[:, columns]), 1.0))
            return tuple(outs)

        return recorded(kernel, (128, 8192 * parts), target="trn1", middle_end=True)

    assert (len(loads(wide(2))), wide(2).before_middle_end) == (2, True)
    program = wide(8)
    assert (len(loads(program)), program.before_middle_end, program.spilled_bytes) == (16, True, 0)


def in_rounds(lines):
    """The same sum in each round, which multiplies it with a line of y; each line is loaded twice."""

    def kernel(x, y):
        out = nl.ndarray((2, lines, *x.shape), dtype=x.dtype, buffer=nl.shared_hbm)
        first = nl.load(x)
        for half in nl.affine_range(2):
            for line in nl.affine_range(lines):
                total = nisa.tensor_tensor(first, first, op=nl.add)
                row = nl.load(y[nl.ds(line, 1), :])
                nl.store(out[half, line, 0:1, :], nisa.tensor_tensor(row, total[0:1, :], op=nl.multiply))
        return out

    return recorded(kernel, (128, 2048), (lines, 2048), target="trn1", middle_end=True)


@pytest.mark.parametrize(("lines", "rows"), [(8, 8), (24, 48)], ids=["room for all", "no room for the rows"])
def test_work_is_done_once_where_loads_have_no_room(lines, rows):
    """A row of y takes 8 KiB of its partition, and SBUF has 176."""
    program = in_rounds(lines)
    loaded = [step.reads["src"] for step in loads(program)]
    assert sum(view.elements for view in loaded if view.buffer == program.inputs[1]) == 2048 * rows
    assert [step.attributes["op"] for step in program.cores[0] if step.op == "tensor_tensor"].count("add") == 1


def test_tiles_are_merged_only_where_there_is_room_for_them():
    """Four tiles take 1 KiB of a partition one after the other, and 4 KiB when they are merged."""

    def beside(columns):
        def kernel(x, wide):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            kept = nl.load(wide)
            kept += 1.0
            for tile in nl.affine_range(4):
                rows = nl.ds(128 * tile, 128)
                nl.store(out[rows, :], nl.add(nl.load(x[rows, :]), 1.0))
            kept += 1.0
            last = nl.ndarray(wide.shape, dtype=wide.dtype, buffer=nl.shared_hbm)
            nl.store(last, kept)
            return out, last

        return recorded(kernel, (512, 256), (128, columns), target="trn1", middle_end=True)

    assert (len(loads(beside(16384))), beside(16384).before_middle_end) == (1 + 1, False)
    assert (len(loads(beside(48384))), beside(48384).before_middle_end) == (4 + 1, True)


def test_copies_that_name_no_engine_are_shared():
    def copies(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile, copied = nl.load(x), nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        for part in nl.affine_range(6):
            columns = nl.ds(512 * part, 512)
            copied[:, columns] = nl.copy(tile[:, columns])
        nl.store(out, nisa.tensor_copy(copied, engine=nisa.vector_engine))
        return out

    def engines(**options):
        program = recorded(copies, (128, 3072), **options)
        return [step.engine for step in program.cores[0] if step.op == "tensor_copy"]

    for skips in (False, True):
        found = engines(middle_end=not skips)
        assert 1 <= found[:6].count("scalar") <= 5
        assert found[6] == "vector"


@pytest.mark.parametrize(("dtype", "loaded"), [("bfloat16", 1), ("float32", 4)])
def test_weights_that_the_pe_holds_are_not_loaded_again(dtype, loaded):
    """A float32 product takes two passes, with weights of their own."""

    def twice(x, y):
        weights, moving = nl.load(x), nl.load(y)
        out = nl.ndarray((128, 1024), dtype=nl.float32, buffer=nl.shared_hbm)
        for part in range(2):
            columns = nl.ds(512 * part, 512)
            nl.store(out[:, columns], nisa.tensor_copy(nisa.nc_matmul(weights, moving[:, columns]), dtype=nl.float32))
        return out

    for skips in (False, True):
        program = recorded(twice, (128, 128), (128, 1024), dtype=dtype, middle_end=not skips)
        assert assemble(program)[0].opcode.tolist().count(OPCODES["LDWEIGHTS"]) == loaded
