"""Tensors that kernels place at addresses of their own."""

import pytest

from neff_bench.simulator.errors import NkiValidationError
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record


def trace(kernel):
    return record(Call(kernel, "kernel", [InputSpec("x", (64, 512), "float32")]), "trn2", 1)


ALL, LEFT, RIGHT = slice(0, 512), slice(0, 256), slice(256, 512)


def kernel(second, *steps):
    """Tiles "early" at (0, 0) and "late" at `second`, 2048 bytes each; steps are ("load" or "store", tile, columns)."""

    def made(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        tiles = {
            "early": nl.ndarray(x.shape, x.dtype, name="early", address=(0, 0)),
            "late": nl.ndarray(x.shape, x.dtype, name="late", address=second),
        }
        for step, tile, columns in steps:
            if step == "load":
                nisa.dma_copy(tiles[tile][:, columns], x[:, columns])
            else:
                nisa.dma_copy(out[:, columns], tiles[tile][:, columns])
        return out

    return made


LOADS = ("load", "early", ALL), ("load", "late", ALL)


@pytest.mark.parametrize("second", [(0, 0), (0, 2044), (32, 1024)])
def test_a_tensor_that_is_written_over_too_early_is_named(second):
    with pytest.raises(
        NkiValidationError, match=r"test_placement\.py:\d+: dma_copy reads tensor 'early' .* after 'late' .*SBUF"
    ):
        trace(kernel(second, *LOADS, ("store", "early", ALL), ("store", "late", ALL)))


@pytest.mark.parametrize("second", [(0, 2048), (64, 0)])
def test_neighbours_do_not_disturb_each_other(second):
    assert trace(kernel(second, *LOADS, ("store", "early", ALL), ("store", "late", ALL)))


def test_an_address_is_free_after_the_last_read():
    early = ("load", "early", ALL), ("store", "early", ALL)
    late = ("load", "late", ALL), ("store", "late", ALL)
    assert trace(kernel((0, 0), *early, *late, *early, *late))


def test_what_is_loaded_again_only_in_part_is_still_lost():
    again = kernel((0, 0), *LOADS, ("load", "early", RIGHT), ("store", "early", RIGHT))
    assert trace(again)
    with pytest.raises(NkiValidationError, match="reads tensor 'early'"):
        trace(kernel((0, 0), *LOADS, ("load", "early", RIGHT), ("store", "early", LEFT)))


def test_the_rest_of_a_tensor_stays_readable():
    assert trace(kernel((0, 1024), *LOADS, ("store", "early", LEFT), ("store", "late", ALL)))
    with pytest.raises(NkiValidationError, match="reads tensor 'early'"):
        trace(kernel((0, 1024), *LOADS, ("store", "early", RIGHT), ("store", "late", ALL)))


def test_sbuf_and_psum_are_different_memories():
    def two_memories(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        early = nl.ndarray(x.shape, x.dtype, address=(0, 0))
        late = nl.ndarray(x.shape, x.dtype, buffer=nl.psum, address=(0, 0))
        nisa.dma_copy(early, x)
        nisa.tensor_copy(late, early)
        nisa.tensor_tensor(early, early, late, nl.add)
        nisa.dma_copy(out, early)
        return out

    assert trace(two_memories)
