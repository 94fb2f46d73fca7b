import importlib

import pytest

pytestmark = pytest.mark.usefixtures("validation")


def transfers(steps):
    return [step for step in steps if step.op == "dma_copy"]


def dtypes(program):
    return {program.buffers[index].dtype for index in program.inputs}


REPORT = """\
K,M,N,baseline_hbm_bytes_model,config,dtype,kernel,p50_us,p99_us
128,256,512,1,256x128x512,fp32,baseline,37.0,37.0
128,256,512,1,256x128x512,fp32,fused_pwl,21.0,22.0
128,256,512,1,256x128x512,bf16,fused_taylor,23.0,24.0
"""


def test_a_row_that_is_taken_out_of_the_lists_is_missed():
    from validation.correlation import heads, scores, searched, squares

    assert len(heads.KERNELS) == 15 + 6 + 12 + 4 + 4
    assert len(scores.SCORES) == 18
    assert len(searched.WRITTEN) == 3
    assert len(searched.STEPS) == 4
    assert len(squares.SQUARES) == 7


def test_rows_of_the_fourth_set_are_new_test_rows_of_families_that_nobody_studied(monkeypatch, tmp_path):
    from validation.correlation import gelu, heads, norms, scores, searched, squares
    from validation.correlation.measured import NKIBENCH, SEEN, STUDIED

    labs = f"{heads.REPOSITORY}/projects"
    for file in (
        *(f"{labs}/Team14 _(65-69)_Hashbrowns/{one.file}.py" for one in heads.KERNELS),
        f"{labs}/03-fused-token-scoring/kernel.py",
        *(f"{labs}/03-chipboost/experiments/astra-trial/{one.file}.py" for one in searched.WRITTEN),
        *(f"{squares.SOURCE[0]}/scripts/{one.file}.py" for one in squares.SQUARES),
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    monkeypatch.setattr(gelu, "data", lambda *_: REPORT.encode())
    monkeypatch.setattr(searched, "data", lambda *_: b"")
    monkeypatch.setattr(norms, "library", lambda _: ())
    sources = (gelu.kernels, heads.kernels, scores.kernels, searched.written, searched.steps, squares.kernels)
    rows = [row for source in sources for row in source(tmp_path)]
    assert len(rows) == 2 + 41 + 18 + 6 + 4 + 7
    assert len({(row.repository, row.family, row.name) for row in rows}) == len(rows)
    assert all(row.new and row.is_test for row in rows)
    assert not {row.family for row in rows} & (NKIBENCH | SEEN | STUDIED)
    assert all(0 < us < row.total_us for row in rows for us in row.active_us.values())


@pytest.mark.parametrize(
    ("module", "source"), [("heads", "kernels"), ("scores", "kernels"), ("searched", "written"), ("squares", "kernels")]
)
def test_a_checkout_without_the_kernel_is_named(module, source, tmp_path):
    rows = getattr(importlib.import_module(f"validation.correlation.{module}"), source)
    with pytest.raises(FileNotFoundError, match=r"no .*\.py"):
        list(rows(tmp_path))


def test_a_report_has_a_row_for_each_fused_kernel():
    from validation.correlation.gelu import Fused, reported

    assert list(reported(REPORT)) == [
        Fused("pwl", 256, 128, 512, "float32", 21.0),
        Fused("taylor", 256, 128, 512, "bfloat16", 23.0),
    ]


GELU = """
from neuronxcc import nki
import neuronxcc.nki.language as nl


@nki.jit
def fused_mlp_pwl(lhsT, rhs, bias):
    assert (lhsT.shape, rhs.shape, bias.shape) == ((128, 256), (128, 512), (1, 512))
    out = nl.ndarray((128, 512), dtype=rhs.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(rhs))
    return out
"""


def test_a_fused_kernel_leaves_the_second_core_idle():
    from validation.correlation.gelu import Fused, recorded

    program = recorded(GELU, Fused("pwl", 256, 128, 512, "bfloat16", 1.0))
    assert [len(transfers(core)) for core in program.cores] == [2, 0]
    assert dtypes(program) == {"bfloat16"}


HEADS = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def nki_mha_(q, k, v):
    tokens, heads, channels = q.shape
    out = nl.ndarray((tokens, channels), dtype=q.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((tokens, channels), dtype=q.dtype, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.0)
    for _ in range(heads if nl.program_ndim() == 0 else heads // nl.num_programs(0)):
        nisa.dma_copy(dst=out, src=tile)
    return out
"""


@pytest.mark.parametrize(("lnc", "stores"), [(1, [8]), (2, [4, 4])])
def test_heads_are_on_as_many_cores_as_were_measured(tmp_path, lnc, stores):
    from validation.correlation.heads import KERNELS, recorded

    kernel = tmp_path / "mha_fast.py"
    kernel.write_text(HEADS)
    (one,) = (one for one in KERNELS if (one.file, one.lnc, one.inputs.get("q")) == ("mha_fast", lnc, (96, 8, 32)))
    program = recorded(kernel, one)
    assert [len(transfers(core)) for core in program.cores] == stores
    assert dtypes(program) == {"float32"}


SCORES = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def separate_score(logits, indices, row_tile=128, vocab_tile=8192):
    out = nl.ndarray((row_tile, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((row_tile, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.0)
    for _ in range(logits.shape[1] // vocab_tile + nl.program_id(0)):
        nisa.dma_copy(dst=out, src=tile)
    return out
"""


def test_tokens_have_the_tiles_that_were_measured(tmp_path):
    from validation.correlation.scores import Scores, recorded

    kernel = tmp_path / "kernel.py"
    kernel.write_text(SCORES)
    program = recorded(kernel, (), Scores("separate", 128, 8192, (64, 4096), 1.0, "0" * 7))
    assert [len(transfers(core)) for core in program.cores] == [2, 3]
    assert dtypes(program) == {"bfloat16", "int32"}


def test_both_times_of_a_written_product_add_up_to_the_told_sum():
    from validation.correlation.chipboost import START_US
    from validation.correlation.searched import WRITTEN

    for one in WRITTEN:
        found = sum(start / faster for start, faster in zip(START_US, one.faster, strict=True))
        assert found == pytest.approx(one.sum_us, rel=1e-3)


SQUARE = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def {name}({left}, {right}):
    assert {left}.shape == {right}.shape
    tile = nl.ndarray((128, 128), dtype={left}.dtype, buffer=nl.sbuf)
    out = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=tile, src={left}[0:128, 0:128])
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def test_a_product_has_the_inputs_of_its_search(tmp_path):
    from validation.correlation.searched import recorded

    kernel = tmp_path / "candidate.py"
    kernel.write_text(SQUARE.format(name="nki_matmul_tiled_", left="lhsT", right="rhs"))
    program = recorded(f"{kernel}:nki_matmul_tiled_", (256, 512, 512), "bfloat16")
    assert [program.buffers[index].shape for index in program.inputs] == [(256, 512), (256, 512)]
    assert dtypes(program) == {"bfloat16"}


def test_a_square_has_static_descriptors(tmp_path):
    from validation.correlation.squares import SQUARES, recorded

    kernel = tmp_path / "nki_tiled_matmul.py"
    kernel.write_text(SQUARE.format(name="tiled_matmul_kernel", left="a_t", right="b"))
    program = recorded(kernel, SQUARES[0])
    assert [step.attributes["dge_mode"] for step in transfers(program.cores[0])] == ["disabled", "disabled"]
    assert [program.buffers[index].shape for index in program.inputs] == [(256, 256), (256, 256)]
