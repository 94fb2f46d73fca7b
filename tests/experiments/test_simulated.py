"""The model of host latency beside public measurements (github.com/AnchovyPark/npu_profiling_code at 2a956420, results/)."""

import statistics

import pytest

from neff_bench.experiments.errors import ExperimentError
from neff_bench.experiments.simulated import SimulatedProfiler
from neff_bench.experiments.workload import MatmulConfig, MlpConfig

DOCUMENT = {(128, 128, 128): 0.2958, (160, 128, 128): 0.2922, (256, 128, 128): 0.2892, (288, 128, 128): 0.3049}
"""M, K, N → milliseconds in the document on tiles and NEFF files; float16."""

OTHERS = {
    (21, 128, 512): 0.3124,
    (77, 128, 512): 0.3122,
    (176, 128, 512): 0.2994,
    (272, 128, 512): 0.3338,
    (1024, 128, 2560): 0.7755,
    (896, 512, 1536): 0.5841,
    (512, 128, 816): 0.3901,
    (512, 128, 4096): 0.7038,
    (640, 128, 1024): 0.4576,
    (128, 128, 1984): 0.3651,
    (128, 128, 992): 0.3246,
    (129, 128, 1344): 0.3392,
    (128, 128, 912): 0.3013,
    (64, 128, 548): 0.2776,
    (128, 96, 320): 0.2769,
    (456, 128, 512): 0.3406,
    (216, 64, 512): 0.3119,
}


def simulated(shape, target="inf2"):
    return SimulatedProfiler(target).profile_single_matmul(MatmulConfig(*shape, "float16"))


@pytest.mark.parametrize("shape", DOCUMENT)
def test_the_host_latencies_of_the_document_are_met_within_5_percent(shape):
    assert simulated(shape).latency_ms == pytest.approx(DOCUMENT[shape], rel=0.05)


def test_other_public_latencies_are_within_the_stated_error():
    errors = [simulated(shape).latency_ms / measured - 1 for shape, measured in OTHERS.items()]
    assert statistics.median(errors) == pytest.approx(0, abs=0.05)
    assert sum(-0.08 <= error <= 0.07 for error in errors) >= len(errors) * 0.75
    assert min(errors) >= -0.27 and max(errors) <= 0.2


def test_a_simulated_latency_is_the_sum_of_its_parts_and_says_what_it_is():
    result = simulated((128, 128, 128))
    assert result.latency_ms == pytest.approx(result.launch_ms + result.transfer_ms + result.device_us / 1e3)
    assert result.source == "simulated" and "628 matmuls" in result.latency_error and "inf2" in result.device_error
    assert result.p10_ms is None and result.iterations is None


def test_what_nobody_measured_is_not_called_known():
    assert "not measured on trn2" in simulated((128, 128, 128), "trn2").latency_error
    assert "larger transfers" in simulated((2048, 2048, 2048)).latency_error


def test_an_mlp_has_a_device_time_too():
    result = SimulatedProfiler("trn2", 2).profile_single_matmul(MlpConfig(1, 128, 256, 256, "bfloat16"))
    assert result.device_us > 15 and result.kernel == "mlp"


def test_a_workload_that_cannot_be_compiled_is_one_line():
    with pytest.raises(ExperimentError, match="^mlp b1 s1 h1 i1"):
        SimulatedProfiler("trn2", 7).profile_single_matmul(MlpConfig(1, 1, 1, 1))
