"""What `neuron-sim compile` does, called in this process."""

from click.testing import CliRunner

from neff_bench.simulator.commands.cli import compile_command
from neff_bench.stage1_generate.kernels.matmul_xla import matmul
from neff_bench.stage1_generate.toolchains.xla import trace

WORDS = ["graph.hlo", "--target", "inf2", "--output", "graph.neff"]


def compiled(tmp_path, monkeypatch, *more):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.hlo").write_bytes(trace(matmul, [((128, 128), "float16"), ((128, 512), "float16")]))
    done = CliRunner().invoke(compile_command, [*WORDS, *more])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_verdict_alone_is_printed(tmp_path, monkeypatch):
    assert compiled(tmp_path, monkeypatch) == "Compiler status PASS\n"


def test_verbose_says_what_was_done(tmp_path, monkeypatch):
    lines = compiled(tmp_path, monkeypatch, "--verbose=info").splitlines()
    assert lines[0] == "INFO: matmul: HLO graph lowered for inf2"
    assert "INFO: core 0: 4 dma_copy, 2 nc_matmul, 2 activation" in lines
    # 128 x 128 of A and of the identity, 128 x 512 of B and of the result, two bytes each.
    moved = 2 * (2 * 128 * 128 + 2 * 128 * 512)
    engines = "tensor 6, scalar 3, gpsimd 4, vector 0, sync 1"
    assert f"INFO: core 0: instructions: {engines}; 4 DMAs of {moved} bytes" in lines
    assert any(line.startswith("INFO: core 0: SBUF: ") for line in lines)
    assert lines[-2:] == [
        f"INFO: wrote graph.neff: {(tmp_path / 'graph.neff').stat().st_size} bytes",
        "Compiler status PASS",
    ]
