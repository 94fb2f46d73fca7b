"""The use of SBUF and PSUM over the time of a schedule."""

import msgspec
import pytest

from neff_bench.chips import chip_for
from neff_bench.simulator.files.usage import memory_use
from neff_bench.simulator.timing.schedule import schedule
from tests.simulator.programs import matmul

CHIP = chip_for("trn2")


def uses(program):
    return memory_use(program, 0, schedule(program).cores[0])


def test_a_tile_takes_memory_from_its_load_to_its_last_use():
    found = uses(matmul())
    assert [use.time_ps for use in found] == sorted(use.time_ps for use in found)
    sbuf = [use.fraction * CHIP.sbuf_partition_bytes for use in found if use.memory == "sbuf"]
    psum = [use.fraction * CHIP.psum_partition_bytes for use in found if use.memory == "psum"]
    # Bytes of a partition: the two operands, 256 and 1024, are free when the copy of the product, 1024, begins.
    assert sbuf == pytest.approx([256, 1280, 1024, 0])
    assert psum == pytest.approx([2048, 0])


def test_tensors_that_the_kernel_put_on_the_same_bytes_count_once():
    program = matmul(tiles=2)
    placed = tuple(
        msgspec.structs.replace(buffer, address=0) if buffer.memory == "psum" else buffer for buffer in program.buffers
    )
    apart = max(use.fraction for use in uses(program) if use.memory == "psum")
    together = max(
        use.fraction for use in uses(msgspec.structs.replace(program, buffers=placed)) if use.memory == "psum"
    )
    assert together * CHIP.psum_partition_bytes == pytest.approx(2048)
    assert apart >= together
