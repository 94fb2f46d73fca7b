import pytest

pytestmark = pytest.mark.usefixtures("validation")


def transfers(steps):
    return [step for step in steps if step.op == "dma_copy"]


def test_a_row_that_is_taken_out_of_the_lists_is_missed():
    from validation.correlation import assignments, blocked, chipboost, contributed, samples

    assert len(blocked.PRODUCTS) == 30
    assert len(chipboost.KERNELS) == 29
    assert len(assignments.ASSIGNMENTS) == 4
    assert len(samples.KERNELS) == 12
    assert len(contributed.KERNELS) == 12


def test_rows_of_the_third_set_are_studied_but_for_those_of_nkibench(monkeypatch, tmp_path):
    from validation.correlation import (
        assignments,
        blocked,
        chipboost,
        contributed,
        nkibench,
        projections,
        replayed,
        samples,
    )
    from validation.correlation.measured import NKIBENCH, STUDIED

    for module in (assignments, replayed, samples):
        monkeypatch.setattr(module, "data", lambda *_: b"")
    monkeypatch.setattr(projections, "data", lambda *_: BASELINES.encode())
    projects = "yahavb/trainium-agent-labs/projects"
    for file in (
        f"{projects}/skywalker-kerneltune/kernels/matmul_blocked.py",
        *(f"{projects}/03-chipboost/kernels/{one.file}.py" for one in chipboost.KERNELS),
        *(f"{contributed.REPOSITORY}/contributed/{one.file}.py" for one in contributed.KERNELS),
        *(f"{nkibench.TASKS[0]}/NKIBench/kernels/{stem}_0.py" for stem in nkibench.STEMS.values()),
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    sources = (
        projections.projections, blocked.products, chipboost.kernels, assignments.assignments, samples.kernels,
        replayed.kernels, contributed.kernels,
    )  # fmt: skip
    rows = [row for source in sources for row in source(tmp_path)]
    assert len(rows) == 2 + 30 + 29 + 4 + 12 + 6 + 12
    assert {row.family for row in rows if row.is_test} == set(replayed.TASKS_US) <= NKIBENCH
    assert {row.family for row in rows if not row.is_test} <= STUDIED
    assert {row.target for row in rows} == {"trn1", "trn2"}


BASELINES = """
class TestProjections:
    qkv_tkg_kernel_performance_bsd_test_params = \\
        "lnc_degree, batch, seqlen, hidden_dim, fused_qkv_dim, d_head, cyclesQoR, norm_type, quantization_type, fused_add, qkv_bias"
    qkv_tkg_kernel_performance_bsd_test_perms = [
        [2, 14, 5, 8192, 104, 26, (None, 72_189_720), NormType.RMS_NORM, QuantizationType.NONE, False, False],
        [2, 14, 5, 8192, 1280, 128, (None, 72_189_720), NormType.RMS_NORM, QuantizationType.STATIC, False, False],
        [2, 3, 1, 2048, 104, 26, (None, None), NormType.RMS_NORM, QuantizationType.NONE, False, False],
        [2, 1, 1, 8448, 1920, 128, (None, 105_167_419), NormType.NO_NORM, QuantizationType.NONE, True, False],
    ]
"""


def test_a_baseline_is_a_row_once_and_cases_without_one_are_none():
    from validation.correlation.projections import cases

    found = list(cases(BASELINES))
    assert [case.picoseconds for case in found] == [72_189_720, 105_167_419]
    assert [case.name for case in found] == [
        "b14 s5 h8192 i104 d26 rms_norm LNC 2",
        "b1 s1 h8448 i1920 d128 no_norm residuals LNC 2",
    ]


def test_a_test_without_the_list_is_an_error():
    from validation.correlation.projections import cases

    with pytest.raises(ValueError, match="no list qkv_tkg_kernel_performance_bsd_test_perms"):
        list(cases("x = 1\n"))


@pytest.mark.parametrize(
    ("module", "source"), [("blocked", "products"), ("chipboost", "kernels"), ("contributed", "kernels")]
)
def test_a_checkout_without_the_kernel_is_named(module, source, tmp_path):
    import importlib

    rows = getattr(importlib.import_module(f"validation.correlation.{module}"), source)
    with pytest.raises(FileNotFoundError, match=r"no .*\.py"):
        list(rows(tmp_path))


BLOCKED = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def nki_matmul_(lhsT, rhs, TILES_IN_BLOCK_M=1, TILES_IN_BLOCK_N=1, TILES_IN_BLOCK_K=1):
    result = nl.ndarray((lhsT.shape[1], rhs.shape[1]), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 64), dtype=lhsT.dtype, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.0)
    for _ in range(TILES_IN_BLOCK_M * 100 + TILES_IN_BLOCK_N * 10 + TILES_IN_BLOCK_K):
        nisa.dma_copy(dst=result[0:128, 0:64], src=tile)
    return result
"""


def test_a_product_has_the_blocks_that_were_measured(tmp_path):
    from validation.correlation.blocked import Product, recorded

    kernel = tmp_path / "matmul_blocked.py"
    kernel.write_text(BLOCKED)
    program = recorded(kernel, Product(128, 128, 512, (2, 1, 3), 1.0, 0.5, 0.5))
    assert len(transfers(program.cores[0])) == 213
    assert {buffer.dtype for buffer in (program.buffers[index] for index in program.inputs)} == {"float32"}


SPLIT = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def nki_matmul_tiled_(lhsT, rhs):
    result = nl.ndarray((lhsT.shape[1], rhs.shape[1]), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 64), dtype=lhsT.dtype, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.0)
    for _ in range(1 if nl.program_ndim() == 0 else 2 + nl.program_id(0)):
        nisa.dma_copy(dst=result[0:128, 0:64], src=tile)
    return result
"""


@pytest.mark.parametrize(("lnc", "stores"), [(1, [1]), (2, [2, 3])])
def test_a_product_is_launched_on_as_many_cores_as_were_measured(tmp_path, lnc, stores):
    from validation.correlation.chipboost import Kernel, recorded

    kernel = tmp_path / "split.py"
    kernel.write_text(SPLIT)
    inputs = {"lhsT": (128, 128), "rhs": (128, 512)}
    program = recorded(kernel, Kernel("f", "split", "nki_matmul_tiled_", "0" * 7, inputs, 1.0, lnc))
    assert [len(transfers(core)) for core in program.cores] == stores


ASSIGN = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def flash_assign_body(xT, cT, c_sq, out_idx, *, n_shards=1):
    per = xT.shape[1] // 128 // n_shards
    base = (nl.program_id(0) * per) if n_shards > 1 else 0
    for tile in nl.affine_range(per):
        start = (base + tile) * 128
        nl.store(out_idx[start:start + 128, :], nl.zeros((128, 1), dtype=nl.int32, buffer=nl.sbuf))


def _flash_assign_kernel(xT, cT, c_sq):
    return None


flash_assign_kernel_baremetal = nki.baremetal()(_flash_assign_kernel)
"""


@pytest.mark.parametrize(("cores", "firsts"), [(1, [0]), (2, [0, 256])])
def test_points_are_split_between_the_cores_that_were_measured(cores, firsts):
    from validation.correlation.assignments import Assignment, recorded

    program = recorded(ASSIGN, Assignment(512, 128, 1.0, cores, 512))
    assert [min(store.writes["dst"].offset for store in transfers(core)) for core in program.cores] == firsts


POOL = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def adaptive_avg_pool2d_kernel(in_tensor, output_size):
    height, width = (output_size, output_size) if isinstance(output_size, int) else output_size
    out = nl.ndarray((128, height * width), dtype=in_tensor.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.zeros(out.shape, dtype=in_tensor.dtype, buffer=nl.sbuf))
    return out
"""


@pytest.mark.parametrize(("output", "columns"), [(3, 9), ((2, 5), 10)])
def test_a_pool_has_the_output_of_its_test_and_static_descriptors(output, columns):
    from validation.correlation.samples import Kernel, recorded

    given = {"in_tensor": (1, 128, 8, 8)}, "float16", 1.0, {"output_size": output}
    program = recorded(POOL, Kernel("f", "0" * 7, "vision", "adaptive_avg_pool2d_kernel", *given))
    assert [step.attributes["dge_mode"] for step in transfers(program.cores[0])] == ["disabled"]
    assert [program.buffers[index].shape for index in program.outputs] == [(128, columns)]


SOLUTION = """
@nki.jit
def solution(in_tensor: nki.tensor, pool_size: int) -> nki.tensor:
    out = nl.ndarray((128, pool_size), dtype=in_tensor.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(in_tensor[0:128, 0:pool_size]))
    return out
"""


def test_a_solution_without_imports_is_recorded_with_descriptors_that_may_be_dynamic():
    from validation.correlation.replayed import Solution, recorded

    given = {"in_tensor": (128, 64)}, {"pool_size": 3}
    program = recorded(SOLUTION, Solution("2_maxpool_ref.py", *given, 1.0))
    assert [step.attributes.get("dge_mode") for step in transfers(program.cores[0])] == [None, None]


def test_rows_of_scores_are_cut_into_pieces_that_fill_the_partitions():
    from validation.correlation.contributed import KERNELS

    masks = [one for one in KERNELS if one.family == "topk_mask"]
    assert [one.inputs["sc"] for one in masks] == [(128, 132), (256, 2112), (128, 528), (128, 4096)]
    assert [(one.numbers["g"], one.numbers["lg"], one.numbers["nbits"]) for one in masks] == [
        (16, 4, 12),
        (1, 0, 12),
        (16, 4, 14),
        (2, 1, 14),
    ]


def test_a_delta_rule_has_a_decay_for_each_channel_or_each_head(tmp_path):
    from validation.correlation.contributed import KERNELS, recorded

    kernel = tmp_path / "chunked_delta_rule.py"
    kernel.write_text(DELTA_RULE)
    shapes = {
        one.family: one.inputs["g"] for one in KERNELS if one.family != "topk_mask" and one.name == "2 heads 512 tokens"
    }
    assert shapes == {"delta_rule_kda": (512, 2, 128), "delta_rule_gdn": (512, 2)}
    programs = [recorded(kernel, one) for one in KERNELS if one.name == "2 heads 512 tokens"]
    stores = [transfers(program.cores[0]) for program in programs]
    assert [len(found) for found in stores] == [2, 1]
    assert {step.attributes["dge_mode"] for found in stores for step in found} == {"disabled"}


DELTA_RULE = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def chunked_delta_rule_fwd(q, k, v, g, beta, s0, consts, kind: int, units: int = 2):
    out = nl.ndarray((128, 128), dtype=q.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 128), dtype=q.dtype, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.0)
    for _ in range(1 + kind):
        nisa.dma_copy(dst=out, src=tile)
    return out
"""
