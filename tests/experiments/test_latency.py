import csv
import statistics

import pytest

from neff_bench import MatmulConfig, MlpConfig, NPUMatmulProfiler
from neff_bench.errors import WrongCall
from neff_bench.experiments.backends import Backend, Prepared
from neff_bench.experiments.errors import DeviceLost, DoesNotFit, ExperimentError
from neff_bench.experiments.latency import quantile

DOCUMENTED = ["M", "K", "N", "latency_ms", "num_tiles_M", "num_tiles_K", "num_tiles_N", "total_tiles"]


def profiler_with(run, wait=lambda _: None, synchronous=False, free=None, name="fake"):
    profiler = NPUMatmulProfiler(backend="numpy")
    profiler.backend = Backend(name, "fake0", "1", None, synchronous, lambda w: Prepared(run, wait), lambda: free)
    return profiler


def test_a_result_describes_what_was_timed():
    result = NPUMatmulProfiler(backend="numpy").profile_single_matmul(MatmulConfig(M=129, K=64, N=32), 1, 7)
    assert (result.M, result.K, result.N) == (129, 64, 32)
    assert (result.num_tiles_M, result.num_tiles_K, result.num_tiles_N, result.total_tiles) == (2, 1, 1, 2)
    assert 0 < result.p10_ms <= result.latency_ms <= result.p90_ms
    assert result.iterations == 7 and result.warmup == 1 and result.source == "measured"
    assert result.gflops_per_s == pytest.approx(2 * 129 * 64 * 32 / result.latency_ms / 1e6)


def test_every_iteration_waits_for_the_device():
    events = []
    profiler = profiler_with(lambda: events.append("run"), lambda _: events.append("wait"))
    result = profiler.profile_single_matmul(MatmulConfig(1, 1, 1), warmup=2, iterations=5)
    assert events == ["run", "wait"] * 7
    assert result.calls_per_iteration == 1


def test_short_synchronous_work_is_repeated_between_two_readings_of_the_clock():
    result = profiler_with(lambda: None, synchronous=True).profile_single_matmul(MatmulConfig(1, 1, 1), 3, 2)
    assert result.calls_per_iteration > 10


def test_the_median_ignores_an_outlier_and_cv_shows_it(monkeypatch):
    ticks = iter([0, 1_000_000, 1_000_000, 2_000_000, 2_000_000, 102_000_000])
    monkeypatch.setattr("neff_bench.experiments.latency.time.perf_counter_ns", lambda: next(ticks))
    result = profiler_with(lambda: None).profile_single_matmul(MatmulConfig(1, 1, 1), warmup=0, iterations=3)
    assert result.latency_ms == 1.0
    assert result.mean_ms == 34.0
    assert result.cv == pytest.approx(statistics.pstdev([1, 1, 100]) / 34)


def test_quantiles_are_interpolated():
    assert quantile([4, 1, 3, 2, 5], 0.1) == 1.4
    assert quantile([7], 0.9) == 7


def test_iterations_of_0_are_refused():
    with pytest.raises(WrongCall, match="iterations 0"):
        NPUMatmulProfiler(backend="numpy").profile_single_matmul(MatmulConfig(1, 1, 1), 0, 0)


def test_a_shape_that_does_not_fit_is_not_started():
    profiler = profiler_with(lambda: pytest.fail("it ran"), free=1 << 20)
    with pytest.raises(DoesNotFit, match="needs .* GiB"):
        profiler.profile_single_matmul(MatmulConfig(10_000, 10_000, 10_000))


@pytest.mark.parametrize(
    ("name", "message", "kind"),
    [
        ("neuron", "NRT_EXEC_HW_ERR\nlong trace", DeviceLost),
        ("cuda", "CUDA error: device-side assert", DeviceLost),
        ("cuda", "CUDA out of memory. Tried to allocate 2 GiB", DoesNotFit),
        ("torch", "mat1 and mat2 shapes", ExperimentError),
    ],
)
def test_what_the_backend_raises_becomes_one_line_of_the_right_kind(name, message, kind):
    def gone():
        raise RuntimeError(message)

    profiler = profiler_with(gone, name=name)
    with pytest.raises(ExperimentError) as caught:
        profiler.profile_single_matmul(MatmulConfig(1, 1, 1))
    assert type(caught.value) is kind and "\n" not in str(caught.value) and "fake0" in str(caught.value)


def test_the_csv_has_the_documented_columns_first_and_empty_cells_for_what_does_not_apply(tmp_path):
    profiler = NPUMatmulProfiler(backend="numpy")
    results = [profiler.profile_single_matmul(c, 0, 2) for c in (MatmulConfig(4, 4, 4), MlpConfig(1, 2, 3, 4))]
    path = tmp_path / "results" / "custom.csv"
    profiler.save_results_to_csv(results, path)
    header, matmul, mlp = list(csv.reader(path.read_text().splitlines()))
    assert header[: len(DOCUMENTED)] == DOCUMENTED
    assert matmul[:3] == ["4", "4", "4"] and float(matmul[3]) == results[0].latency_ms
    assert mlp[:3] == ["", "", ""] and mlp[header.index("h")] == "3"


def test_a_csv_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "old.csv"
    path.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("neff_bench.experiments.latency.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        NPUMatmulProfiler(backend="numpy").save_results_to_csv([], path)
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["old.csv"]
