import dataclasses
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNEL = """
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.compiler.skip_middle_end_transformations
@nki.jit
def vector_add_stream(a_vec, b_vec):
    FREE_DIM = 2  # of the handout
    rows = a_vec.reshape((128, a_vec.shape[0] // 128)), b_vec.reshape((128, b_vec.shape[0] // 128))
    out = nl.ndarray(rows[0].shape, dtype=a_vec.dtype, buffer=nl.hbm)
    for m in nl.affine_range(rows[0].shape[1] // FREE_DIM):
        tiles = [nl.ndarray((128, FREE_DIM), dtype=a_vec.dtype, buffer=nl.sbuf) for _ in rows]
        for tile, row in zip(tiles, rows):
            nisa.dma_copy(src=row[:, m * FREE_DIM : (m + 1) * FREE_DIM], dst=tile)
        nisa.dma_copy(src=nisa.tensor_tensor(*tiles, op=nl.add), dst=out[:, m * FREE_DIM : (m + 1) * FREE_DIM])
    return out
"""


pytestmark = pytest.mark.usefixtures("validation")


@pytest.fixture
def clone(tmp_path):
    """A clone whose first commit has the kernel, and whose second has it no more; and the name of the first."""

    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        done = subprocess.run(
            ["git", "-C", tmp_path, *identity, *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    (tmp_path / "part1").mkdir()
    (tmp_path / "part1" / "kernels.py").write_text(KERNEL)
    git("add", ".")
    git("commit", "-q", "-m", "with")
    first = git("rev-parse", "HEAD")
    git("rm", "-q", "part1/kernels.py")
    git("commit", "-q", "-m", "without")
    return tmp_path, first


def transfers(program):
    return [step for step in program.cores[0] if step.op == "dma_copy"]


def test_a_kernel_is_that_of_its_commit_with_the_constant_of_its_trace(clone):
    from validation.correlation.coursework import added, recorded

    program = recorded(*clone, added("vector_add_stream", 128 * 12, FREE_DIM=4), "trn2")
    assert len(transfers(program)) == 3 * 3
    assert {step.attributes["dge_mode"] for step in transfers(program)} == {"disabled"}


def test_a_constant_that_the_kernel_lacks_is_an_error_and_no_other_kernel(clone):
    from validation.correlation.coursework import added, recorded

    with pytest.raises(ValueError, match="no ROW_CHUNK to set to 4"):
        recorded(*clone, added("vector_add_stream", 1536, ROW_CHUNK=4), "trn2")


def test_a_folder_is_that_of_its_commit(clone):
    from validation.correlation.origin import tree

    checkout, first = clone
    assert (tree(checkout, first, "part1") / "kernels.py").read_text() == KERNEL
    with pytest.raises(FileNotFoundError, match="no part1 at HEAD"):
        tree(checkout, "HEAD", "part1")


def test_a_file_that_a_commit_lacks_is_named(clone):
    from validation.correlation.origin import data

    checkout, first = clone
    assert data(checkout, first, "part1/kernels.py").decode() == KERNEL
    with pytest.raises(FileNotFoundError, match=r"no part1/kernels\.py at HEAD"):
        data(checkout, "HEAD", "part1/kernels.py")


@pytest.mark.parametrize(
    ("trace", "family", "shape", "dtype", "numbers"),
    [
        ("part1/stream_256k_fd2k", "vector_add", (256_000,), "float32", {}),
        ("part1/transpose_1024_0", "matrix_transpose", (1024, 1024), "float32", {}),
        ("part2/conv2d_2_float16", "conv2d_maxpool", (1, 256, 224, 224), "float16", {"pool_size": 1}),
        ("part2/my_convpool_kernel_float32_smaller", "conv2d_maxpool", (1, 256, 32, 16), "float32", {"pool_size": 1}),
        ("part2/profile/final_pool_float16", "conv2d_maxpool", (1, 256, 224, 224), "float16", {"pool_size": 2}),
    ],
)
def test_a_trace_says_in_its_name_what_was_run(trace, family, shape, dtype, numbers):
    from validation.correlation.coursework import run_of

    run = run_of(trace)
    assert (run.family, run.numbers) == (family, numbers)
    assert next(iter(run.inputs.values())) == (shape, dtype)


def test_candidates_come_in_the_order_of_the_search():
    from validation.correlation.autocomp import codes

    last = "CodeCandidate(parent=CodeCandidate(parent=None, plan='p', code='''a''', score=20.9), plan='q', code='''b''', score=6.9)"
    assert codes(last) == [("a", 20.9), ("b", 6.9)]


def test_a_candidate_without_a_score_is_an_error():
    from validation.correlation.autocomp import codes

    with pytest.raises(KeyError, match="score"):
        codes("CodeCandidate(parent=None, code='''a''')")


@pytest.fixture
def row():
    """Rows of a source, each with what records it."""
    from validation.correlation.measured import Measured

    def made(name, program, new=True):
        return Measured("a/a", "0" * 40, "rope_single_freq_apply", "t", name, "trn2", 1, "nki", 20.0, program, new=new)

    return made


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """What the command prints for these rows of one source."""
    from validation.correlation import __main__ as command

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def made(which, new=(), others=(), studied=()):
        monkeypatch.setattr(command, "NEW_SOURCES", (lambda _: iter(new),))
        monkeypatch.setattr(command, "STUDIED_SOURCES", (lambda _: iter(studied),))
        monkeypatch.setattr(command, "SOURCES", (lambda _: iter(others),))
        return command.main([".", "--rows", which]), capsys.readouterr()

    return made


def program():
    from neff_bench.doors.estimation import record_kernel

    def kernel(x):
        import nki.isa as nisa
        import nki.language as nl

        out, tile = nl.ndarray((128, 64), x.dtype, nl.shared_hbm), nl.ndarray((128, 64), x.dtype, nl.sbuf)
        nisa.dma_copy(dst=tile, src=x)
        nisa.dma_copy(dst=out, src=tile)
        return out

    return record_kernel(kernel, {"x": ((128, 64), "float32")}, "trn2", 1, {})


def refused():
    from neff_bench.simulator.errors import KernelError

    raise KernelError("kernel.py:7: a tile of 256 partitions")


def lacking():
    raise FileNotFoundError("clone: no kernel.py at 0000000")


def test_a_program_is_traced_once(row, monkeypatch, tmp_path):
    from neff_bench.simulator.nki import trace
    from neff_bench.simulator.program import encode
    from validation.correlation.recorded import program_of

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    traced = program_of(row("first", program))
    monkeypatch.setattr(trace, "traced", refused)
    assert encode(program_of(row("first", program))) == encode(traced)


def test_a_row_that_cannot_be_driven_says_why_beside_the_others(row, run):
    code, printed = run("new", [row("first", refused), row("second", program), row("third", lacking)])
    assert code == 0
    _, _, last = printed.out.partition("## Rows without a simulated time")
    assert "first: refused: kernel.py:7: a tile of 256 partitions" in last
    assert "third: FileNotFoundError: clone: no kernel.py at 0000000" in last
    assert "second" not in last
    assert "a/a@0000000 rope_single_freq_apply second" in printed.out


def test_rows_none_of_which_can_be_driven_say_why_too(row, run):
    code, printed = run("new", [row("first", refused)])
    assert code == 1
    assert "a tile of 256 partitions" in printed.err


@pytest.mark.parametrize("which", ["all", "test", "development"])
def test_new_rows_are_run_when_they_are_asked_for_only(row, run, which):
    code, printed = run(which, new=[row("kept", program)], others=[row("seen", refused, new=False)])
    assert code == 1
    assert "kept" not in printed.out + printed.err


def test_studied_rows_can_be_run_alone(row, run):
    code, printed = run("studied", studied=[row("once kept", program, new=False)], others=[row("other", refused)])
    assert code == 0
    assert "once kept" in printed.out
    assert "other" not in printed.out + printed.err


@pytest.mark.parametrize("family", ["conv2d_maxpool", "moe_tkg", "tutorial_gemm"])
def test_a_family_that_was_studied_is_a_development_family(family):
    from validation.correlation.measured import is_test

    assert not is_test(family)


def test_every_family_of_the_studied_sources_is_named_in_the_rule():
    from validation.correlation import (
        autocomp,
        chipboost,
        contributed,
        coursework,
        megakernel,
        nakb,
        replayed,
        samples,
        tutorials,
    )
    from validation.correlation.measured import STUDIED

    families = {coursework.run_of(path).family for paths in coursework.TRACES.values() for path in paths}
    families |= {version.task.split()[0] for version in megakernel.VERSIONS}
    families |= {search.family for search in autocomp.SEARCHES.values()}
    for module in (tutorials, chipboost, contributed, samples):
        families |= {kernel.family for kernel in module.KERNELS}
    families |= {f"replayed_{name}" for name in replayed.SOLUTIONS}
    further = "rmsnorm_tkg tuned_matmul tutorial_layernorm attention_block selective_scan pipelined_matmul gather_mean"
    further += " qkv_tkg blocked_matmul kmeans_assign nakb_rmsnorm_quant"
    families |= {f"nakb_{one.name.partition(' ')[0]}" for one in nakb.DEVELOPMENT}
    assert families | set(further.split()) == STUDIED


def test_a_row_is_kept_for_the_ranges_as_it_was_said_first(row, monkeypatch, tmp_path):
    from neff_bench.simulator.timing import interval
    from validation.correlation import __main__ as command
    from validation.correlation.modelled import Modelled
    from validation.correlation.report import Compared

    def compared(name, total_us, comparable=True):
        return Compared(
            dataclasses.replace(row("one", program, new=False), name=name), Modelled(total_us, {}, 10.0, comparable, {})
        )

    file = tmp_path / "evidence.json"
    file.write_text("[]")
    monkeypatch.setattr(interval, "EVIDENCE_FILE", file)
    try:
        for us in (10.0, 20.0):
            interval.evidence.cache_clear()
            command._keep([compared("first", us), compared("other program", us, comparable=False)])
        interval.evidence.cache_clear()
        known = interval.evidence()
    finally:
        interval.evidence.cache_clear()
        interval.intervals.cache_clear()
    assert [one.name for one in known] == ["first"] and known[0].ratio == row("one", program).total_us / 10


def test_a_new_row_is_a_test_row_whatever_its_family(row):
    assert row("new", program).is_test
    assert not row("seen", program, new=False).is_test


def test_a_row_that_is_taken_out_of_the_lists_is_missed():
    from validation.correlation import autotune, coursework, megakernel, norms

    assert sum(map(len, coursework.TRACES.values())) == 53
    assert len(coursework.WRITTEN) == 15
    assert len(megakernel.VERSIONS) == 82
    assert len(norms.BASELINES) == 12
    assert len(autotune.PRODUCTS) == 7


def test_variants_of_one_task_are_ordered_whoever_measured_them():
    from validation.correlation.measured import Measured
    from validation.correlation.modelled import Modelled
    from validation.correlation.report import Compared, report

    def compared(repository, model_us, measured_us, variants=True):
        model = Modelled(model_us, {"dma": model_us}, model_us, True, {})
        of_row = ("conv", "one task", "n", "trn2", 1, "nki", measured_us, program)
        return Compared(Measured(repository, "0" * 40, *of_row, variants=variants, new=True), model)

    rows = [
        compared("a/a", 10.0, 12.0),
        compared("b/b", 20.0, 25.0),
        compared("c/c", 30.0, 18.0),
        compared("d/d", 1.0, 99.0, False),
    ]
    assert any("Order of variants, model: 2 of 3 pairs right" in line for line in report(rows))


def test_a_trace_that_was_committed_after_its_kernel_changed_has_the_kernel_that_ran(monkeypatch):
    from validation.correlation import coursework
    from validation.correlation.origin import Traced

    read = []
    monkeypatch.setattr(coursework, "data", lambda _, commit, path: read.append((commit, path)) or b"")
    monkeypatch.setattr(coursework, "traced", lambda *_: Traced(1.0, {}, "trn2"))
    rows = {row.name: row for row in coursework.traces(ROOT)}
    assert rows["conv2d 32x16 float16 pool 1, part2/conv2d_3_float16_smaller.ntff"].commit == "cd405b2"
    assert ("00f68f3", "part2/conv2d_3_float16_smaller.ntff") in read
    assert rows["conv2d 32x16 float16 pool 1, part2/conv2d_4_float16_smaller.ntff"].commit == "00f68f3"
