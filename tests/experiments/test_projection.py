"""A measured row beside a measured host has a speed-up; a simulated one has none."""

import pytest

from neff_bench.experiments import projection
from neff_bench.experiments.device import Build
from neff_bench.experiments.projection import report


def row(source):
    return {
        "status": "profiled", "run": "1", "source": source, "check": "passed", "total_time_us": 50.0, "max_abs_error": 0.0,
        "hbm_read_bytes": 4096, "hbm_write_bytes": 512, "dma_active_us": 20.0, "reason": None,
    }  # fmt: skip


@pytest.mark.parametrize("source", ["measured", "simulated"])
def test_only_two_measured_times_make_a_speed_up(tmp_path, monkeypatch, capsys, source):
    monkeypatch.setattr(
        projection, "build_and_profile", lambda builds, store, toolchain: {build.name: row(source) for build in builds}
    )
    build = Build(8, 32, 16, "float32", "nki", "trn2", 1, test_case="mine")
    (found,) = report([build], toolchain="neuron", runs=3, threads=1, store=tmp_path)
    expected = 1e3 * found["host_ms"] / 50.0 if source == "measured" else None
    assert found["speedup"] == (pytest.approx(expected) if expected else None)
    assert found["reads_per_input_byte"] == 4096 / (4 * (8 * 32 + 32 * 16))
    assert (
        found["matmul_count"] is None and "instructions not counted: its trace is not there" in capsys.readouterr().err
    )
