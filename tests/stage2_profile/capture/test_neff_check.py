"""What is asked of a NEFF before it is captured, and of the traces after it."""

import pytest

from neff_bench.stage2_profile.capture.cores import CorePool
from neff_bench.stage2_profile.capture.device_step import capture
from neff_bench.stage2_profile.capture.neff_check import read_traced
from neff_bench.stage2_profile.errors import CaptureFailed


def test_a_neff_that_is_not_what_its_case_says_is_not_captured(make_bundle, fake, settings, files, tmp_path):
    bundle = make_bundle()
    (bundle.path / "file.neff").write_bytes(files.neff_of(files.neff_members(), lnc=2))
    with pytest.raises(CaptureFailed, match="the NEFF has LNC 2, its case LNC 1; build the case again"):
        capture(bundle, fake, settings(), CorePool((0,), directory=tmp_path), ())
    assert not (tmp_path / "calls").exists()


def test_a_trace_states_its_time_and_what_was_loaded(files, tmp_path):
    neff, trace = tmp_path / "file.neff", tmp_path / "profile.ntff"
    neff.write_bytes(files.neff_of(files.neff_members()))
    trace.write_bytes(files.ntff_of())
    assert read_traced(trace, neff) == (5e-6, dict.fromkeys(("tensor", "scalar", "gpsimd", "vector", "sync"), 6))
    trace.write_bytes(files.ntff_of(uuid=bytes(range(16))))
    with pytest.raises(CaptureFailed, match="its trace profile.ntff is of another NEFF"):
        read_traced(trace, neff)
    trace.write_bytes(b"no trace")
    assert read_traced(trace, neff) == (None, {})
