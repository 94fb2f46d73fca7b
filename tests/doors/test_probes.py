"""The probes are written, they can be read as shapes, and an archive of their profiles gives a machine's constants back."""

import tarfile

import pytest
from click.testing import CliRunner

from neff_bench.chips import CHIPS
from neff_bench.chips.calibration import ENVIRONMENT, Calibration, Estimate, encoded
from neff_bench.cli import main
from neff_bench.doors.tutorial_cli import PROBES as FILES
from neff_bench.simulator.commands.calibrate import calibrate
from neff_bench.simulator.commands.view import load_profile, write_json
from neff_bench.simulator.errors import SimulatorError
from neff_bench.simulator.files.neff import write_neff
from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec
from neff_bench.stage1_generate.shapes.read import read_shapes

PLANTED = {
    "vector_latency_ns": 133.4, "vector_overhead_ns": 81.2, "scalar_sbuf_latency_ns": 350.0, "scalar_sbuf_copy_latency_ns": 161.5,
    "scalar_copy_overhead_ns": 76.2, "scalar_overhead_ns": 128.3, "scalar_sbuf_overhead_ns": 231.2, "scalar_sbuf_copy_overhead_ns": 78.2,
    "gpsimd_latency_ns": 103.8, "software_dma_instruction_ns": 62.5, "activation_table_load_ns": 1603.8, "dma_issue_ns": 486.2,
}  # fmt: skip
"""A seventh to a quarter more or less than the model has."""
WIDE, NARROW = (128, 512), (128, 64)


def probes():
    """(function, inputs, arguments) of the probes that show these constants."""
    for shape in (WIDE, NARROW):
        x = {"x": shape}
        yield from (("copies", x, {"engine": engine}) for engine in ("vector", "scalar", "gpsimd"))
        yield "psum_copies", x, {"engine": "scalar"}
        yield from (("functions", x, {"in_psum": in_psum}) for in_psum in (True, False))
        yield "reductions", x, {}
        yield "tables", x, {}
        yield "products", {"weights": (128, 128), "x": shape}, {}
        yield "loads", {"x": (1024, shape[1])}, {"queues": 2}
    for first, second in (("vector", "scalar"), ("scalar", "gpsimd"), ("gpsimd", "vector")):
        yield "handed_over", {"x": (128, 256)}, {"first": first, "second": second}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """What run.sh makes on a machine with these constants."""
    folder = tmp_path_factory.mktemp("probes")
    estimates = [
        Estimate(name, value, value, value, getattr(CHIPS["trn2"], name), 9, 4) for name, value in PLANTED.items()
    ]
    (folder / "machine.json").write_bytes(encoded(Calibration("trn2", tuple(estimates), (("a.ntff", "00"),))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT, str(folder / "machine.json"))
        for number, (function, shapes, arguments) in enumerate(probes()):
            dtype = "bfloat16" if function == "products" else "float32"
            inputs = tuple(InputSpec(name, shape, dtype) for name, shape in shapes.items())
            run = folder / "store" / str(number)
            run.mkdir(parents=True)
            write_neff(
                trace_kernel(KernelSpec(f"{FILES}/kernels.py:{function}", inputs, (), arguments), "trn2", 1),
                run / "file.neff",
            )
            write_json(
                load_profile(str(run / "file.neff"), None), "file.neff", "profile.ntff", str(run / "profile-1.json")
            )
    with tarfile.open(folder / "probes.tar.gz", "w:gz") as packed:
        packed.add(folder / "store", "store")
    return folder / "probes.tar.gz"


def test_twelve_planted_constants_come_back_within_two_percent(archive):
    fitted = {estimate.name: estimate.value for estimate in calibrate([archive], []).calibration.estimates}
    off = {name: fitted.get(name, 0.0) / value - 1 for name, value in PLANTED.items()}
    assert len(PLANTED) == 12 and max(map(abs, off.values())) <= 0.02, off


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    (tmp_path / "probes.tar.gz").write_bytes(b"no archive")
    with pytest.raises(SimulatorError, match="no archive of probes"):
        calibrate([tmp_path / "probes.tar.gz"], [])


def test_the_probes_are_about_forty_cases_each_with_what_it_shows(tmp_path):
    assert CliRunner().invoke(main, ["probes", "--out", str(tmp_path / "probes")]).exit_code == 0
    assert sorted(path.name for path in (tmp_path / "probes").iterdir()) == ["kernels.py", "run.sh", "shapes.yaml"]
    assert 40 <= len(read_shapes(tmp_path / "probes" / "shapes.yaml")) <= 60
    lines = (tmp_path / "probes" / "shapes.yaml").read_text().splitlines()
    assert sum(line.startswith("  # ") for line in lines) >= 8


def test_a_file_that_is_there_stays_as_it_is(tmp_path):
    (tmp_path / "run.sh").write_text("mine")
    result = CliRunner().invoke(main, ["probes", "--out", str(tmp_path)])
    assert result.exit_code != 0 and (tmp_path / "run.sh").read_text() == "mine"
