import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest

from neff_bench.stage2_profile.capture import disk
from neff_bench.stage2_profile.capture.disk import estimate_bytes


@pytest.fixture
def free(monkeypatch):
    def set_to(count):
        monkeypatch.setattr(disk, "shutil", SimpleNamespace(disk_usage=lambda path: SimpleNamespace(free=count)))

    return set_to


def test_a_case_that_was_never_captured_is_estimated_from_its_neff_and_outputs(make_bundle, settings):
    bundle = make_bundle()
    neff_bytes, outputs_bytes = bundle.neff_path.stat().st_size, 8 * 4
    two = settings(num_exec=4, profile_nth_exec=2)
    assert estimate_bytes(bundle, two, traced=True) == outputs_bytes + 2 * 6 * neff_bytes
    assert estimate_bytes(bundle, replace(two, detail=True), traced=True) == outputs_bytes + (2 + 9) * 6 * neff_bytes
    assert estimate_bytes(bundle, two, traced=False) == outputs_bytes


def test_a_case_that_was_captured_is_estimated_from_its_trace(make_bundle, settings, profile_neffs):
    bundle = make_bundle()
    assert profile_neffs().exit_code == 0
    (trace,) = bundle.path.glob("profiles/*/*.ntff")
    assert estimate_bytes(bundle, settings(num_exec=6), traced=True) == 32 + 3 * trace.stat().st_size


def test_a_capture_that_does_not_fit_is_not_taken_and_gc_is_offered(make_bundle, profile_neffs, free, tmp_path, store):
    make_bundle()
    free(100)
    done = profile_neffs("--format", "json")
    assert done.exit_code == 1
    assert not (tmp_path / "calls").exists()
    offer = f"`neff-bench gc {store} --keep 1` removes old runs"
    assert "and 100 bytes are free for" in done.stderr and offer in done.stderr
    assert "not captured: it would take about" in done.stdout and offer in done.stdout


def test_with_room_nothing_is_said(make_bundle, profile_neffs, free):
    make_bundle()
    free(shutil.disk_usage("/").total)
    assert "removes old runs" not in profile_neffs().output
