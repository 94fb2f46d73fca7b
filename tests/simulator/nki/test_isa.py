"""What each instruction records, and which operands it refuses."""

import numpy as np
import pytest

from neff_bench.simulator.errors import KernelError, NkiValidationError, NotModelledError
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.recording.enums import engine, reduce_cmd, word
from neff_bench.simulator.recording.recorder import recording


def sbuf(*shape, dtype=nl.float32):
    return nl.ndarray(shape, dtype)


def psum(*shape, dtype=nl.float32):
    return nl.ndarray(shape, dtype, buffer=nl.psum)


def hbm(*shape, dtype=nl.float32):
    return nl.ndarray(shape, dtype, buffer=nl.shared_hbm)


def last(now):
    return now.instructions[-1]


def test_nc_matmul_records_only_what_was_given(now):
    stationary, moving = sbuf(128, 64, dtype=nl.bfloat16), sbuf(128, 512, dtype=nl.bfloat16)
    nisa.nc_matmul(psum(64, 512), stationary, moving)
    assert (last(now).engine, last(now).attributes) == ("tensor", {})
    nisa.nc_matmul(
        psum(64, 512),
        stationary,
        moving,
        accumulate=False,
        tile_position=(0, 64),
        tile_size=(128, 64),
        is_transpose=False,
    )
    assert last(now).attributes == {"accumulate": False, "tile_position": [0, 64], "tile_size": [128, 64]}


def test_double_row_contracts_pairs_of_rows(now):
    stationary, moving = (sbuf(128, 2, size, dtype=nl.float8_e4m3) for size in (64, 512))
    nisa.nc_matmul(psum(64, 512), stationary, moving, perf_mode="double_row")
    assert last(now).attributes == {"perf_mode": "double_row"}


@pytest.mark.parametrize(
    ("operands", "text"),
    [
        (lambda: (psum(64, 512), sbuf(128, 64), sbuf(64, 512)), "contraction differs"),
        (lambda: (psum(128, 512), sbuf(128, 129), sbuf(128, 512)), "129 free elements, at most 128"),
        (lambda: (psum(64, 513), sbuf(128, 64), sbuf(128, 513)), "513 free elements, at most 512"),
        (lambda: (psum(64, 511), sbuf(128, 64), sbuf(128, 512)), r"dst must be \[64, 512\]"),
        (lambda: (sbuf(64, 512), sbuf(128, 64), sbuf(128, 512)), "dst must be in PSUM"),
        (lambda: (psum(64, 512), sbuf(128, 64), sbuf(128, 512, dtype=nl.bfloat16)), "float32 goes with float32"),
        (lambda: (psum(64, 512), sbuf(128, 64, dtype=nl.int32), sbuf(128, 512)), "must be floats"),
        (
            lambda: (
                psum(64, 512, dtype=nl.bfloat16),
                sbuf(128, 64, dtype=nl.bfloat16),
                sbuf(128, 512, dtype=nl.bfloat16),
            ),
            "must be float32 on trn2",
        ),
        (lambda: (psum(64, 1024)[:, 256:768], sbuf(128, 64), sbuf(128, 512)), "crosses a PSUM bank"),
        (lambda: (1.0, sbuf(128, 64), sbuf(128, 512)), "dst must be a tensor"),
    ],
)
def test_nc_matmul_refuses(now, operands, text):
    with pytest.raises(NkiValidationError, match=rf"test_isa\.py:\d+: nc_matmul: .*{text}"):
        nisa.nc_matmul(*operands())


def test_nc_transpose_runs_where_its_operands_are(now):
    nisa.nc_transpose(psum(64, 128), sbuf(128, 64))
    assert last(now).engine == "tensor"
    nisa.nc_transpose(sbuf(16, 32), sbuf(32, 16))
    assert last(now).engine == "vector"
    with pytest.raises(NkiValidationError, match="at most 32 x 32"):
        nisa.nc_transpose(sbuf(64, 32), sbuf(32, 64))
    with pytest.raises(NkiValidationError, match=r"dst must be \[64, 128\]"):
        nisa.nc_transpose(psum(128, 64), sbuf(128, 64))


def test_dma_names_its_queue(now):
    nisa.dma_copy(sbuf(128, 8), hbm(128, 8))
    assert (last(now).engine, last(now).attributes) == ("sync", {})
    nisa.dma_copy(sbuf(128, 8), hbm(8, 128), dge_mode=nisa.dge_mode.swdge, oob_mode=1)
    assert (last(now).engine, last(now).attributes) == ("gpsimd", {"dge_mode": "swdge", "oob_mode": "skip"})
    nisa.dma_copy(sbuf(128, 8), hbm(128, 8), engine=nisa.engine.scalar)
    assert (last(now).engine, last(now).attributes) == ("scalar", {"engine": "scalar"})


def test_a_gather_goes_through_software_descriptors(now):
    table = hbm(1000, 8).ap([[8, 128], [1, 8]], vector_offset=sbuf(128, 1, dtype=nl.uint32))
    nisa.dma_copy(sbuf(128, 8), table)
    assert last(now).engine == "gpsimd"


def test_dma_reads_psum_as_nki_0_2_does_and_writes_it_never(now):
    nisa.dma_copy(hbm(128, 64), psum(128, 64))
    assert (last(now).op, last(now).reads["src"].pattern) == ("dma_copy", ((64, 128), (1, 64)))
    with pytest.raises(NkiValidationError, match="dma_copy: dst must be in HBM or SBUF"):
        nisa.dma_copy(psum(128, 64), hbm(128, 64))
    with pytest.raises(NkiValidationError, match="dma_transpose: src must be in HBM or SBUF"):
        nisa.dma_transpose(sbuf(64, 128), psum(128, 64))


def test_dma_compute_takes_both_orders_of_its_parameters(now):
    dst, sources = sbuf(128, 8), [hbm(128, 8), sbuf(128, 8)]
    nisa.dma_compute(dst, sources, nl.add, scales=[1.0, 2.0])
    current = last(now)
    nisa.dma_compute(dst, sources, [1.0, 2.0], nl.add)
    assert current.attributes == last(now).attributes == {"reduce_op": "add", "scales": [1.0, 2.0]}
    assert set(current.reads) == {"src0", "src1"}


def test_engines_are_chosen_as_documented(now):
    integers = [sbuf(128, 8, dtype=nl.int32) for _ in range(3)]
    nisa.tensor_tensor(*integers, nl.add)
    assert last(now).engine == "gpsimd"
    nisa.tensor_tensor(*integers, nl.bitwise_and)
    assert last(now).engine == "vector"
    nisa.tensor_tensor(sbuf(128, 8), sbuf(128, 8), psum(128, 8), nl.add)
    assert last(now).engine == "vector"
    nisa.tensor_tensor(sbuf(128, 8), sbuf(128, 8), sbuf(128, 8), nl.power)
    assert last(now).engine == "gpsimd"
    nisa.memset(sbuf(128, 8), 0)
    assert last(now).engine == "vector"
    nisa.memset(sbuf(128, 8), 0, engine=nisa.gpsimd_engine)
    assert last(now).engine == "gpsimd"
    nisa.memset(psum(128, 8), 0)
    assert last(now).engine == "vector"
    with pytest.raises(NkiValidationError, match="GpSimd cannot access PSUM"):
        nisa.tensor_copy(sbuf(128, 8), psum(128, 8), engine=nisa.gpsimd_engine)


def test_tensor_scalar_separates_numbers_from_tiles(now):
    column = sbuf(128, 1)
    nisa.tensor_scalar(sbuf(64, 8), sbuf(64, 8), nl.multiply, column, op1=np.add, operand1=np.float32(2), reverse1=True)
    assert last(now).attributes == {"op0": "multiply", "op1": "add", "operand1": 2.0, "reverse1": True}
    assert last(now).reads["operand0"].shape == (64, 1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nisa.tensor_scalar(sbuf(64, 8), sbuf(64, 8), nl.multiply), "multiply needs operand0"),
        (lambda: nisa.tensor_scalar(sbuf(64, 8), sbuf(64, 8), nl.add, sbuf(32, 1)), "32 partitions, expected 64"),
        (lambda: nisa.tensor_scalar(sbuf(64, 8), sbuf(64, 8), nl.add, sbuf(64, 2)), "one element"),
        (lambda: nisa.tensor_scalar(sbuf(64, 8), sbuf(64, 8), nl.exp, 1.0), "exp is not supported"),
        (lambda: nisa.tensor_scalar(sbuf(64, 8), sbuf(64, 8), nl.bitwise_or, 1), "integer tensors"),
        (lambda: nisa.tensor_tensor(sbuf(64, 8), sbuf(64, 8), sbuf(64, 9), nl.add), "9 elements in a partition"),
        (lambda: nisa.tensor_tensor(sbuf(64, 8), sbuf(64, 8), hbm(64, 8), nl.add), "in HBM"),
        (lambda: nisa.activation(sbuf(64, 8), nl.maximum, sbuf(64, 8)), "maximum is not supported"),
        (lambda: nisa.activation(sbuf(64, 8), "nonsense", sbuf(64, 8)), "no operator"),
        (lambda: nisa.activation(sbuf(64, 8), nl.exp, sbuf(64, 8), reduce_res=sbuf(64, 1)), "needs reduce_op"),
        (lambda: nisa.bn_stats(sbuf(64, 6), sbuf(64, 513)), "at most 512"),
        (lambda: nisa.bn_aggr(sbuf(64, 2), sbuf(64, 7)), "multiple of three"),
        (lambda: nisa.max8(sbuf(64, 8), sbuf(64, 7)), "8 to 16384"),
        (lambda: nisa.iota(sbuf(64, 8), [[1, 9]]), "does not give the 8 elements"),
        (lambda: nisa.nc_stream_shuffle(sbuf(64, 8), sbuf(64, 8), [0] * 31), "32 numbers"),
        (lambda: nisa.tensor_reduce(sbuf(64, 3), nl.add, sbuf(64, 4, 8), axis=1), "does not give"),
        (lambda: nisa.tensor_copy(sbuf(64, 8), sbuf(64, 8), engine="nowhere"), "no engine"),
    ],
)
def test_operands_that_do_not_fit(now, call, text):
    with pytest.raises(NkiValidationError, match=text):
        call()


def test_tensor_reduce_knows_both_meanings_of_axis(now):
    nisa.tensor_reduce(sbuf(64, 4), nl.add, sbuf(64, 4, 8), axis=2)
    assert last(now).attributes == {"op": "add", "axis": [2]}
    nisa.tensor_reduce(sbuf(64, 4), nl.add, sbuf(64, 4, 8), axis=[-1], negate=True)
    assert last(now).attributes == {"op": "add", "axis": [2], "negate": True}
    nisa.tensor_reduce(sbuf(64, 1), nl.maximum, sbuf(64, 4, 8), axis=(1, 2))
    assert last(now).attributes == {"op": "maximum", "axis": [1, 2]}


def test_tensor_reduce_of_older_dialects_counts_from_the_inside(now):
    nisa.tensor_reduce(sbuf(64, 3, 1), nl.add, sbuf(64, 3, 8), axis=1)
    assert last(now).attributes["axis"] == [2]
    nisa.tensor_reduce(sbuf(64, 1), nl.add, sbuf(64, 3, 8), axis=2)
    assert last(now).attributes["axis"] == [1, 2]


def test_activation_reduces_into_its_registers(now):
    nisa.activation(sbuf(64, 8), nl.exp, psum(64, 8), bias=sbuf(64, 1), scale=0.5)
    assert last(now).attributes == {"op": "exp", "scale": 0.5}
    assert set(last(now).reads) == {"data", "bias"}
    nisa.activation_reduce(sbuf(64, 8), nl.exp, sbuf(64, 8), nl.add, sbuf(64, 1))
    assert last(now).attributes == {"op": "exp", "reduce_cmd": "reset_reduce", "reduce_op": "add"}
    assert set(last(now).writes) == {"dst", "reduce_res"}


def test_registers_are_cells(now):
    register = nisa.register_alloc(3)
    assert last(now).attributes == {"src": 3}
    nisa.register_load(register, sbuf(1, 1, dtype=nl.int32))
    view = hbm(8, 128, 4).ap([[4, 128], [1, 4]], scalar_offset=register)
    nisa.dma_copy(sbuf(128, 4), view)
    assert last(now).reads["src"].dynamic[0].index == now.instructions[0].writes["dst"]
    nisa.register_alloc(sbuf(128, 4, dtype=nl.int32)[0, 0])
    assert last(now).op == "register_load"
    with pytest.raises(NkiValidationError, match="cannot steer"):
        range(register)
    with pytest.raises(NotModelledError, match="register"):
        nl.dynamic_range(register)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: sbuf(64, 8).indirect(sbuf(64, 1)), r"\.indirect"),
        (lambda: nisa.memset(sbuf(64, 8), 0).depends_on(), "depends_on"),
    ],
)
def test_what_is_not_modelled_says_its_name(now, call, name):
    with pytest.raises(NotModelledError, match=rf"test_isa\.py:\d+: .*{name}.* is not modelled"):
        call()


def test_activate2_is_the_last_generations():
    with recording("trn3") as now:
        nisa.activate2(sbuf(64, 8), nl.gelu, sbuf(64, 8), imm0=2.0, imm1=sbuf(64, 1), op0=nl.multiply, op1=nl.add)
        assert last(now).attributes == {"op": "gelu", "op0": "multiply", "op1": "add", "imm0": 2.0, "relu_param": 0.0}
        with pytest.raises(NkiValidationError, match="do not go together"):
            nisa.activate2(sbuf(64, 8), nl.gelu, sbuf(64, 8), 2.0, 1.0, op0=nl.add, op1=nl.add)
    with recording("trn2"), pytest.raises(NkiValidationError, match="only on trn3"):
        nisa.activate2(sbuf(64, 8), nl.gelu, sbuf(64, 8), 2.0, 1.0, op0=nl.multiply, op1=nl.add)


@pytest.mark.parametrize("given", [engine.vector, "vector", 5, "engine.vector"])
def test_a_choice_is_a_member_a_name_or_a_number(given):
    assert word(engine, given) == "vector"


def test_no_choice_is_the_compilers():
    assert word(engine, None) == "unknown"
    with pytest.raises(NkiValidationError, match="no reduce_cmd"):
        word(reduce_cmd, "sum")


def test_a_generation_is_what_the_target_has():
    with recording("trn1"):
        assert nisa.get_nc_version() == nisa.nc_version.gen2 < nisa.nc_version.gen3
    with recording("trn3"):
        assert nisa.get_nc_version() >= nisa.nc_version.gen4


def test_a_source_can_be_given_instead_of_a_line(now):
    with now.at("graph.hlo:dot.3"):
        nisa.memset(sbuf(64, 8), 0)
        with pytest.raises(NkiValidationError, match=r"^graph\.hlo:dot\.3: "):
            nisa.memset(hbm(64, 8), 0)
    nisa.memset(sbuf(64, 8), 0)
    first, second = (now.lines.texts[step.source] for step in now.instructions)
    assert first == "graph.hlo:dot.3"
    assert "test_isa.py" in second


def test_an_operation_outside_a_kernel_says_so():
    with pytest.raises(KernelError, match="inside a kernel only"):
        nisa.tensor_copy(np.zeros((128, 8)), np.zeros((128, 8)))


def test_registers_that_nothing_has_reduced_into_are_not_read(now):
    with pytest.raises(NkiValidationError, match="no instruction has reduced into them"):
        nisa.activation(
            sbuf(64, 8), nl.exp, sbuf(64, 8), reduce_op=nl.add, reduce_res=sbuf(64, 1), reduce_cmd=reduce_cmd.idle
        )
    nisa.activation(sbuf(64, 8), nl.exp, sbuf(64, 8), reduce_op=nl.add, reduce_cmd=reduce_cmd.reset_reduce)
    nisa.activation(
        sbuf(64, 8), nl.exp, sbuf(64, 8), reduce_op=nl.add, reduce_res=sbuf(64, 1), reduce_cmd=reduce_cmd.idle
    )
    assert set(last(now).writes) == {"dst", "reduce_res"}


def test_activation_sums_one_tile_where_only_the_place_of_the_sum_is_said(now):
    nisa.activation(sbuf(64, 8), nl.exp, sbuf(64, 8), reduce_op=nl.add, reduce_res=sbuf(64, 1))
    assert last(now).attributes["reduce_cmd"] == "reset_reduce"
    nisa.activation(sbuf(64, 8), nl.exp, sbuf(64, 8), reduce_op=nl.add)
    assert "reduce_cmd" not in last(now).attributes
