"""What follows from what the runtime says. Which message is which is held by `tests/sdk`."""

from __future__ import annotations

import pytest

from neff_bench.stage2_profile.capture.cores import CorePool
from neff_bench.stage2_profile.capture.device_step import capture
from neff_bench.stage2_profile.capture.failures import diagnose, last_words
from neff_bench.stage2_profile.errors import CaptureFailed
from tests.sdk.documented import LINES


@pytest.mark.parametrize(
    "text", ["exit status 4", "exit status 6", "view: exit status 5", "exit status 1006", "error 4 of 9"]
)
def test_a_status_of_a_program_is_none_of_the_runtime(text):
    assert diagnose(text) is None


def test_a_line_that_is_no_error_is_neither_found_nor_the_reason():
    harmless = "\n".join(line for line, _, kind in LINES if kind == "none")
    assert diagnose(harmless) is None
    assert last_words(f"cannot open file.neff\n{harmless}") == "cannot open file.neff"


def test_what_harms_the_device_comes_before_what_follows_from_it():
    log = "NMGR:dlr_infer Inference completed with err: 5\nUncorrectable HBM memory error is detected. Please terminate"
    assert diagnose(log).name == "HBM error"


def test_the_runtime_s_own_words_stay_where_it_gives_no_reason():
    assert diagnose("nrt_load failed: NRT_FAILURE (1)") is None


@pytest.fixture
def on_cores(make_bundle, fake, settings, tmp_path, faults):
    """Capture a bundle on simulated cores while these faults happen in turn; returns the run, the pool and what it said."""
    said = []

    def go(*names, cores=(0, 1), bundle=None):
        faults(*names)
        bundle = bundle or make_bundle()
        (bundle.path / "profiles").mkdir(exist_ok=True)
        pool = go.pool = getattr(go, "pool", None) or CorePool(cores, directory=tmp_path, say=said.append)
        return capture(bundle, fake, settings(), pool, ())[1], pool, said

    return go


@pytest.mark.parametrize("fault", ["SRAM error", "HBM error", "DMA abort", "hardware error in dmesg"])
def test_a_broken_host_captures_nothing_more(on_cores, make_bundle, fault):
    run, _, said = on_cores(fault)
    assert (run.status, len(run.commands)) == ("failed", 1)
    assert said[-1].startswith("nothing more is captured on this host: ")
    with pytest.raises(CaptureFailed, match="nothing more is captured on this host: .*instance"):
        on_cores("none", bundle=make_bundle())


@pytest.mark.parametrize("fault", ["HBM error until a reload", "device left running"])
def test_a_device_that_needs_a_reload_is_out_for_good(on_cores, make_bundle, fault):
    run, _, _ = on_cores(fault, cores=(0,))
    assert (run.status, len(run.commands)) == ("failed", 1)
    assert "rmmod neuron" in run.reason
    with pytest.raises(CaptureFailed, match="no working core is left"):
        on_cores("none", bundle=make_bundle())


def test_a_kernel_that_hangs_on_two_cores_takes_none_of_them_out(on_cores):
    run, pool, said = on_cores("hang in a collective")
    assert (run.status, len(run.commands)) == ("failed", 2)
    assert [command.environment["NEURON_RT_VISIBLE_CORES"] for command in run.commands] == ["0", "1"]
    assert pool.out == {}
    assert "is put back" in said[-1]


def test_a_core_on_which_alone_a_kernel_hangs_is_taken_out(on_cores):
    run, pool, _ = on_cores("hang in a collective", "none")
    assert run.status == "captured"
    assert list(pool.out) == [0]


def test_a_core_that_cannot_recover_gets_a_new_process_and_then_no_more(on_cores):
    run, pool, _ = on_cores("core cannot recover", cores=(0,))
    assert (run.status, len(run.commands)) == ("failed", 2)
    assert list(pool.out) == [0]
    assert "rmmod neuron" in run.reason


def test_what_the_driver_reports_is_said(on_cores):
    _, _, said = on_cores("hardware error in dmesg")
    assert said[-1] == (
        "nothing more is captured on this host: the driver reports SRAM_UNCORRECTABLE_ERROR; terminate this instance"
    )


def test_an_error_of_the_user_is_tried_once(on_cores):
    run, pool, _ = on_cores("out of bounds")
    assert (run.status, len(run.commands), pool.out) == ("failed", 1, {})
    assert "check the inputs" in run.reason
