import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"


@pytest.fixture(autouse=True)
def tools_on_the_path(monkeypatch):
    """validation/ is a folder of scripts, not an installed package."""
    monkeypatch.syspath_prepend(str(ROOT))


def test_missing_measurements_are_named(tmp_path):
    done = subprocess.run(
        [sys.executable, "validation/fidelity.py", "--data", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert f"no measurements at {tmp_path}" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.skipif(not DATA.exists(), reason="no measurements beside the project")
@pytest.mark.parametrize("name", ["baseline_attention", "baseline_bf16_s512", "fused_attention", "fused_bf16_s512"])
def test_replay_stays_within_what_fidelity_says(name):
    from validation.replay import replay

    profile = json.loads((DATA / "real" / "trn2_attention" / name / "ntff.json").read_bytes())
    for column, model, measured in replay(profile):
        if column == "kernel span us":
            assert -0.12 < model / measured - 1 < 0.05
        if column == "vector active us":
            assert abs(model / measured - 1) < 0.02


@pytest.mark.skipif(not DATA.exists(), reason="no measurements beside the project")
def test_counters_of_the_measured_mlp_are_exact(nki_library):
    from validation.predictions import counter_rows

    for row in counter_rows(nki_library, DATA):
        assert row.model == pytest.approx(row.measured, rel=1e-12), row.name


def test_products_and_repeated_rows_take_what_their_profiles_say():
    from validation.profiled import profiled_rows

    scaled, matmuls, matmul, throttled, energies, _ = profiled_rows()
    assert abs(scaled.model - 253) <= 8
    assert matmuls.error == 0
    assert abs(matmul.error) <= 0.02 and abs(throttled.error) <= 0.08
    assert abs(energies.error) <= 0.2
