"""What a worker of a cluster captures, and what is done here with what it sends; tests/test_soak_ray.py has the cluster."""

from dataclasses import replace

import pytest

from neff_bench.neffs import parcel
from neff_bench.neffs.parcel import Shared, pack_bundle
from neff_bench.neffs.store import Store
from neff_bench.stage2_profile import on_ray
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.directory import profiled_rows
from neff_bench.stage2_profile.errors import CaptureFailed
from neff_bench.stage2_profile.options import Options
from neff_bench.stage2_profile.upkeep import fsck
from neff_bench.system.cluster import ClusterError

ASKED = on_ray.Asked(Options(cold=True), simulator="", core=True)


@pytest.fixture
def worker(tmp_path, monkeypatch, fake_on_path):
    """The temporary directory of a worker's host, on which the profiler is the fake."""
    (tmp_path / "worker").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "worker"))
    monkeypatch.setattr(on_ray, "granted_core", lambda: 3)
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "3")
    monkeypatch.setenv("NEFF_BENCH_LOCK_DIR", str(tmp_path / "cores"))
    for cached in (parcel.workplace, on_ray._tool):
        cached.cache_clear()
    yield tmp_path / "worker"
    for cached in (parcel.workplace, on_ray._tool):
        cached.cache_clear()


def profiled(bundle, asked=ASKED):
    """The row of a bundle that was sent to the worker, after its runs were published here."""
    with runs.locked(bundle.path) as descriptor:
        assert descriptor is not None
        answer = on_ray.profile_here(bundle.name, pack_bundle(bundle.path), asked)
        on_ray.adopt(bundle, answer.runs)
    return answer.row


def test_a_run_is_made_elsewhere_and_published_here(worker, make_bundle, store):
    bundle = make_bundle()
    row = profiled(bundle)
    assert (row.status, row.check, row.run) == ("profiled", "passed", "1")
    assert runs.read_run(bundle.path / "profiles" / "1").cores == (3,)
    _, (here,) = profiled_rows(Options(directory=store, parse_only=True))
    assert here == row
    assert fsck.examine(store).findings == []
    assert list(worker.glob("*/.store/staging/*")) == list(bundle.path.glob("profiles/.*")) == []


def test_nothing_is_captured_on_a_core_that_was_not_granted(worker, make_bundle, monkeypatch):
    def none():
        raise ClusterError("Ray granted no core")

    monkeypatch.setattr(on_ray, "granted_core", none)
    row = profiled(make_bundle(), replace(ASKED, core=False))
    assert row.status == "failed" and row.reason.endswith("Ray granted no core")


def test_ranks_that_ray_cannot_place_side_by_side_are_refused_and_simulated_ones_need_no_core(make_bundle, make_case):
    elsewhere = on_ray.Elsewhere(None, ASKED.options, ASKED)
    with pytest.raises(CaptureFailed, match="2 ranks need 2 logical cores side by side, and Ray grants single ones"):
        elsewhere.asked_for(make_bundle(make_case(ranks=2)))
    assert not elsewhere.asked_for(make_bundle(make_case(ranks=3), toolchain="sim")).core
    assert elsewhere.asked_for(make_bundle(make_case(), toolchain="sim")).core


def test_what_is_captured_is_only_viewed_there(worker, make_bundle, store, tmp_path):
    bundle = make_bundle()
    assert profiled(bundle, replace(ASKED, options=Options(cold=True, capture_only=True))).status == "captured"
    assert profiled(bundle).status == "profiled"
    assert [path.name for path in runs.run_directories(bundle.path)] == ["1"]
    assert fsck.examine(store).findings == []
    assert (tmp_path / "calls").read_text() == "x"  # one capture


def test_a_failed_capture_comes_back_with_its_log(worker, make_bundle, faults):
    faults("crash_before")
    bundle = make_bundle()
    row = profiled(bundle)
    assert row.status == "failed"
    (run,) = runs.run_directories(bundle.path)
    assert runs.read_run(run).status == "failed" and (run / "capture.log").is_file()


def test_a_damaged_bundle_is_not_captured(worker, make_bundle):
    bundle = make_bundle()
    content = (bundle.path / "inp-x-000.bin").read_bytes()
    data = pack_bundle(bundle.path).replace(content, b"\1" + content[1:])
    answer = on_ray.profile_here(bundle.name, data, ASKED)
    assert answer.runs is None
    assert "damaged on its way: inp-x-000.bin was changed" in answer.row.reason


def test_a_host_that_shares_the_store_works_in_it(worker, make_bundle, store):
    bundle = make_bundle()
    with Store(store).scratch("shared") as probe:
        answer = on_ray.profile_here(bundle.name, None, replace(ASKED, shared=Shared(store, probe)))
    assert (answer.row.status, answer.runs) == ("profiled", None)
    assert [path.name for path in runs.run_directories(bundle.path)] == ["1"]
    gone = on_ray.profile_here(bundle.name, None, replace(ASKED, shared=Shared(store, probe)))
    assert "does not see" in gone.row.reason
