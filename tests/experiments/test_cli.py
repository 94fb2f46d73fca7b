"""The commands as a user calls them."""

import csv
import json

import pytest
from click.testing import CliRunner

from neff_bench.experiments.buckets_cli import buckets
from neff_bench.experiments.latency_cli import PRESETS, latency
from neff_bench.experiments.projection_cli import linear_projection, tile
from neff_bench.experiments.tiling_cli import tiling
from neff_bench.stage1_generate.shapes.presets import NAMES


def run(command, *arguments):
    return CliRunner().invoke(command, [str(a) for a in arguments])


@pytest.fixture
def stairs(tmp_path):
    path = tmp_path / "stairs.csv"
    rows = [f"{m},1024,1024,{-(-m // 128)}.0,measured" for m in range(64, 1025, 64)]
    path.write_text("M,K,N,latency_ms,source\n" + "\n".join(rows) + "\n")
    return path


def test_latency_writes_one_row_for_each_shape(tmp_path):
    out = tmp_path / "l.csv"
    result = run(latency, "8x8x8", "1x4x8x16", "--backend", "numpy", "--iterations", 2, "--output", out)
    assert result.exit_code == 0 and result.stdout == ""
    assert [row["kernel"] for row in csv.DictReader(out.read_text().splitlines())] == ["matmul", "mlp"]


def test_latency_prints_a_table_that_says_where_it_was_measured():
    result = run(latency, "8x8x8", "--backend", "numpy", "--iterations", 2)
    assert "8x8x8" in result.stdout and "measured: numpy" in result.stdout and "1 thread" in result.stdout


def test_latency_takes_presets_and_shapes_files(tmp_path):
    shapes = tmp_path / "s.yaml"
    shapes.write_text("cases: [{kernel: matmul, implementation: nki, dtype: float32, M: [8, 16], K: 8, N: 8}]\n")
    result = run(
        latency, "--shapes", shapes, "--backend", "numpy", "--iterations", 1, "--warmup", 0, "--format", "json"
    )
    assert [row["M"] for row in json.loads(result.stdout)] == [8, 16]


def test_the_command_knows_every_preset():
    assert PRESETS == NAMES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--backend", "sim", "--target", "inf2", "--lnc", "2"], "inf2 has 1"),
        (["8x8"], "expected MxKxN"),
        (["0x8x8"], "M is 0"),
        (["8x8x8", "--iterations", "0"], "--iterations"),
        (["8x8x8", "--backend", "cuda"], "CUDA device not available"),
        (["--shapes", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_latency_refuses_wrong_calls(arguments, message):
    result = run(latency, *arguments)
    assert result.exit_code == 2 and message in result.stderr and "Traceback" not in result.stderr


def test_a_shape_that_does_not_fit_is_a_row_with_its_reason(tmp_path):
    out = tmp_path / "l.csv"
    result = run(latency, "8x8x8", "4000000x4000000x4000000", "--backend", "numpy", "--iterations", 1, "--output", out)
    assert result.exit_code == 1 and "GiB" in result.stderr
    small, huge = csv.DictReader(out.read_text().splitlines())
    assert small["latency_ms"] and not small["reason"]
    assert not huge["latency_ms"] and "GiB" in huge["reason"]


def test_tiling_reports_steps_and_boundaries(stairs, tmp_path):
    svg = tmp_path / "plot.svg"
    result = run(tiling, stairs, "--format", "json", "--plot", svg)
    found = json.loads(result.stdout)
    assert found["boundary_crossings"] == found["steps_at_boundaries"] == 7
    assert found["source"] == "measured" and len(found["rows"]) == 16
    assert svg.read_text().startswith("<svg")


def test_a_simulated_device_time_shows_the_step_that_the_host_time_hides(tmp_path):
    path = tmp_path / "sim.csv"
    shapes = [f"{rows}x128x128" for rows in (126, 127, 128, 129, 130)]
    assert run(latency, *shapes, "--backend", "sim", "--dtype", "float16", "--output", path).exit_code == 0
    assert json.loads(run(tiling, path, "--format", "json").stdout)["steps"] == []
    (step,) = json.loads(run(tiling, path, "--metric", "device_us", "--format", "json").stdout)["steps"]
    assert (step["low"], step["high"], step["boundary"]) == (128, 129, 128) and 5 < step["rise_percent"] < 20


def test_tiling_plots_as_text(stairs):
    assert "█" in run(tiling, stairs, "--plot", "-").stdout


def test_tiling_refuses_what_it_cannot_read_or_draw(stairs, tmp_path):
    assert run(tiling, tmp_path / "none.csv").exit_code == 1
    assert run(tiling, stairs, "--plot", tmp_path / "x.png").exit_code == 2


def test_buckets_compares_with_powers_of_two_and_vllm(stairs):
    result = run(buckets, stairs, "-k", 4, "--lengths", "uniform:1:1024", "--format", "json")
    rows = {row["name"]: row for row in json.loads(result.stdout)}
    assert rows["best 4"]["buckets"] == "256 512 768 1024"
    assert rows["best 4"]["expected_us"] == 5000
    assert rows["powers of two"]["expected_us"] > 5000 and rows["vLLM defaults"]["interpolated"] is None


def test_buckets_takes_no_choice_that_noise_explains(tmp_path):
    path = tmp_path / "noisy.csv"
    path.write_text(
        "M,K,N,latency_ms,p10_ms,p90_ms,source\n256,64,64,5,4.8,5.3,measured\n"
        "768,64,64,12.0,11.0,13.5,measured\n1408,64,64,11.9,11.0,13.5,measured\n"
    )
    result = run(buckets, path, "-k", 1, "--lengths", "uniform:1:768", "--format", "json")
    names = {row["name"]: row["buckets"] for row in json.loads(result.stdout)}
    assert names["best 1"] == "768" and names["fastest as measured"] == "1408"
    assert "noise explains" in run(buckets, path, "-k", 1, "--lengths", "uniform:1:768").stdout


def test_buckets_refuses_several_series_without_a_choice(tmp_path):
    path = tmp_path / "two.csv"
    path.write_text("M,K,N,latency_ms\n1,8,8,1\n2,8,8,2\n1,9,9,1\n2,9,9,2\n")
    assert run(buckets, path).exit_code == 2
    assert run(buckets, path, "--at", "K=9,N=9").exit_code == 0
    assert run(buckets, path, "--at", "M=9").exit_code == 2


def test_a_tile_beyond_the_hardware_is_refused():
    result = run(tile, "--tile-k", 512)
    assert result.exit_code == 2 and "from 1 to 128" in result.stderr


def test_what_a_stage_refuses_is_one_line_and_a_wrong_call(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run(tile, "--toolchain", "neuron", "--out", tmp_path / "store", "--num-runs", 0)
    assert result.exit_code == 2 and "--toolchain neuron: found neither" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_unknown_projection_or_a_bad_file_is_refused(tmp_path):
    assert "expected one of q_proj" in run(linear_projection, "--test-case", "z_proj").stderr
    path = tmp_path / "own.yaml"
    path.write_text("mine: {M: 64, N: 0, K: 8}\n")
    assert "mine: N is 0" in run(linear_projection, "--cases", path).stderr


def test_a_projection_is_built_profiled_and_timed(tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text("mine: {M: 16, N: 32, K: 160}\n")
    result = run(
        linear_projection, "--cases", own, "--dtype", "bfloat16", "--toolchain", "sim", "--lnc", 1,
        "--num-runs", 2, "--out", tmp_path / "store", "--format", "json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    (row,) = json.loads(result.stdout)
    assert row["source"] == "simulated" and row["check"] == "passed"
    assert row["matmul_count"] == 2 and row["total_tiles"] == 2
    assert row["host_ms"] > 0 and row["speedup"] is None
    assert row["dma_us"] > 0 and row["reads_per_input_byte"] == row["weight_loads"] == 1
    assert 0 <= row["relative_error"] < 0.02
    assert row["sbuf_peak_bytes"] > 0 and row["psum_peak_bytes"] > 0 and row["accumulate_count"] == 1


def test_tile_sizes_make_a_kernel_that_loads_each_tile_anew(tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text("mine: {M: 32, N: 32, K: 64}\n")
    words = ["--cases", own, "--lnc", 1, "--num-runs", 0, "--tile-m", 16, "--tile-n", 32, "--out", tmp_path / "store"]
    result = run(linear_projection, *words, "--toolchain", "sim", "--format", "json")
    assert result.exit_code == 0, result.stderr
    (row,) = json.loads(result.stdout)
    assert (row["tile"], row["total_tiles"], row["check"]) == ("16x64x32", 2, "passed")
    assert row["weight_loads"] == 2 and row["reads_per_input_byte"] == 1.5
    assert row["host_ms"] is None
    refused = run(linear_projection, *words, "--implementation", "xla")
    assert refused.exit_code == 2 and "of the nki kernel" in refused.stderr
