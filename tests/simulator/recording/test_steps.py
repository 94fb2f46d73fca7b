"""The columns of a recording are the instructions that a list would hold."""

import msgspec
import pytest

from neff_bench.simulator.compiler.program.columns import table_of
from neff_bench.simulator.native.recorder import compiled
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, traced
from neff_bench.simulator.program import decode, encode
from neff_bench.simulator.recording.recorder import recording

pytestmark = pytest.mark.skipif(compiled() is None, reason="the recorder is not compiled here")


def kernel(x, rows):
    out = nl.ndarray((128, 64), x.dtype, buffer=nl.shared_hbm)
    index = nl.ndarray((1, 1), nl.int32)
    tile = nl.ndarray((128, 64), x.dtype)
    nisa.dma_copy(dst=index, src=rows)
    for _ in range(2):
        nisa.dma_copy(dst=tile, src=x.select(0, index))
        nisa.activation(dst=tile, op=nl.exp, data=tile, scale=2.0)
        nisa.tensor_copy(dst=tile[0:64, 0:32], src=tile[0:64, 32:64])
    nisa.dma_copy(dst=out, src=tile)
    return out


@pytest.fixture
def program():
    inputs = [InputSpec("x", (4, 128, 64), "float32"), InputSpec("rows", (1, 1), "int32")]
    return traced(Call(kernel, "kernel", inputs), "trn2", 1)[0]


def test_instructions_are_those_of_a_list_and_come_back_from_a_file(program):
    [steps] = program.cores
    made = list(steps)
    assert [step.op for step in made[:3]] == ["dma_copy", "dma_copy", "activation"]
    assert made[1].reads["src"].dynamic and made[2].attributes["scale"] == 2.0
    assert steps == made and steps == tuple(made) and steps != made[:-1] and len(steps) == len(made) == 8
    assert steps[-1] == made[-1] and steps[5:1:-2] == made[5:1:-2]
    with pytest.raises(IndexError):
        steps[8]
    assert decode(encode(program)).cores == (tuple(made),)
    assert compiled().Steps(made) == made


@pytest.mark.parametrize("count", [0, 1, 15, 16, 65535, 65536])
def test_instructions_are_written_as_those_of_a_list(program, count):
    many = (list(program.cores[0]) * (count // 8 + 1))[:count]
    written = encode(msgspec.structs.replace(program, cores=(compiled().Steps(many),)))
    assert written == encode(msgspec.structs.replace(program, cores=(tuple(many),)))


def test_what_is_left_out_and_renamed_is_seen_in_the_rest_only(program):
    [steps], columns = program.cores, table_of(program).cores[0]
    buffer = columns.views.buffer.copy()
    buffer[columns.view[-1]] += 100
    rest = steps.without(bytes([0, *[1] * 7]), buffer.tobytes())
    assert rest[:-1] == steps[1:-1] and rest.has_words_of(steps)
    assert rest[-1].writes["dst"].buffer == steps[-1].writes["dst"].buffer + 100
    with pytest.raises(ValueError):
        steps.without(b"", b"")


def test_columns_that_somebody_reads_take_no_more_instructions(program):
    with recording("trn2") as now:
        tile = nl.ndarray((128, 64), nl.float32)
        nisa.memset(tile, 0)
        held = [memoryview(column) for column in now.instructions.columns()]
        with pytest.raises(BufferError):
            nisa.memset(tile, 1)
        for column in held:
            column.release()
        nisa.memset(tile, 1)
        assert [step.attributes["value"] for step in now.instructions] == [0, 1]
        assert now.written() is now.instructions is now.cores[0]
        nisa.memset(tile, 2)
        assert [step.attributes["value"] for step in now.instructions] == [0, 1, 2]


def test_operands_that_are_none_are_refused_with_their_instruction_left_out():
    with recording("trn2") as now:
        tile = nl.ndarray((128, 64), nl.float32)
        with pytest.raises(AttributeError):
            compiled().emit("memset", "vector", {"dst": 5}, {"src": tile}, {})
        nisa.memset(tile, 0)
        [step] = now.instructions
        assert step.writes["dst"].shape == (128, 64) and not step.reads
