"""What a worker of a cluster builds, and what is done here with what it sends; tests/test_soak_ray.py has the cluster."""

import os
from dataclasses import replace

import pytest

from neff_bench.neffs import parcel
from neff_bench.neffs.bundle import verify_bundle
from neff_bench.neffs.case import Case
from neff_bench.neffs.errors import BundleError
from neff_bench.neffs.parcel import Shared
from neff_bench.neffs.store import Store
from neff_bench.stage1_generate.jobs.job import Job
from neff_bench.stage1_generate.jobs.keys import Keys
from neff_bench.stage1_generate.jobs.on_ray import Asked, build_here, publish
from neff_bench.stage1_generate.options import Options
from neff_bench.stage1_generate.toolchains.find import choose

OPTIONS = Options(timeout_s=100, cold=True)
ASKED = Asked(environment={})


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """The temporary directory of a worker's host."""
    (tmp_path / "worker").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "worker"))
    monkeypatch.setattr(os, "environ", os.environ.copy())
    parcel.workplace.cache_clear()
    yield tmp_path / "worker"
    parcel.workplace.cache_clear()


@pytest.fixture(scope="module")
def job():
    toolchain = choose("sim", None)
    case = Case("matmul", "nki", (("M", 32), ("K", 32), ("N", 32)), "bfloat16", "trn2", 1)
    return Job(case, Keys(toolchain).key(case), "sim", None, OPTIONS)


def test_a_bundle_is_built_elsewhere_and_published_here(worker, job, tmp_path):
    answer = build_here(job, ASKED)
    assert answer.outcome.status == "built"
    assert list(worker.glob("*/.store/staging/*")) == []
    publish(Store(tmp_path / "store"), job, answer.bundle)
    bundle = Store(tmp_path / "store").find(job.case.name)
    assert (bundle.manifest.key, bundle.verified) == (job.key, True)
    verify_bundle(bundle)


def test_a_failure_travels_too_and_replaces_no_good_bundle(worker, job, tmp_path):
    store = Store(tmp_path / "store")
    failed = build_here(replace(job, options=replace(OPTIONS, memory_gib=1 / 16)), ASKED)
    assert failed.outcome.status == "failed"
    publish(store, job, failed.bundle)
    assert store.find(job.case.name).manifest.reason == failed.outcome.reason
    publish(store, job, build_here(job, ASKED).bundle)
    publish(store, job, failed.bundle)
    assert store.find(job.case.name).manifest.status == "built"


def test_another_case_than_was_asked_for_is_refused(worker, job, tmp_path):
    data = build_here(replace(job, options=replace(OPTIONS, memory_gib=1 / 16)), ASKED).bundle
    with pytest.raises(BundleError, match="another case came back"):
        publish(Store(tmp_path / "store"), replace(job, key="other"), data)
    assert Store(tmp_path / "store").names() == []


def test_a_host_with_other_sources_builds_nothing_and_says_what_differs(worker, job):
    answer = build_here(replace(job, key="made from other sources"), ASKED)
    assert (answer.outcome, answer.bundle) == (None, None)
    assert {"kernel", "simulator"} <= set(answer.depends_on)


def test_a_host_that_does_not_see_the_store_says_so(worker, job, tmp_path):
    answer = build_here(job, replace(ASKED, shared=Shared(tmp_path / "store", tmp_path / "store" / "probe")))
    assert answer.outcome.status == "failed"
    assert "does not see" in answer.outcome.reason
    assert not (tmp_path / "store").exists()


def test_a_host_that_shares_the_store_writes_to_it(worker, job, tmp_path):
    store = Store(tmp_path / "store")
    with store.scratch("shared") as probe:
        answer = build_here(job, replace(ASKED, shared=Shared(store.path, probe)))
    assert (answer.outcome.status, answer.bundle) == ("built", None)
    verify_bundle(store.find(job.case.name))


def test_a_host_without_the_files_of_an_own_kernel_says_so(worker, job, tmp_path):
    answer = build_here(replace(job, folder=str(tmp_path / "kernels")), ASKED)
    assert f"has no {tmp_path / 'kernels'}; the files of your own kernels must lie" in answer.outcome.reason
