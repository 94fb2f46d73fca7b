"""What a worker of a cluster builds, and what is done here with what it sends; tests/test_soak_ray.py has the cluster."""

import os
from dataclasses import replace
from types import SimpleNamespace

import pytest

from neff_bench.neffs import parcel
from neff_bench.neffs.bundle import verify_bundle
from neff_bench.neffs.case import Case
from neff_bench.neffs.errors import BundleError
from neff_bench.neffs.parcel import Shared
from neff_bench.neffs.store import Store
from neff_bench.stage1_generate.errors import GenerateError
from neff_bench.stage1_generate.jobs import on_ray
from neff_bench.stage1_generate.jobs.build import Outcome
from neff_bench.stage1_generate.jobs.job import Job
from neff_bench.stage1_generate.jobs.keys import Keys
from neff_bench.stage1_generate.jobs.on_ray import Answer, Asked, build_here, publish
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


@pytest.fixture
def asks(tmp_path, job):
    """A function that has a cluster give an answer to a job; returns the outcome and the names of what was published."""

    def call(answer, ours=()):
        published, calls = [], []

        def answered(*given, **more):
            calls.append((given, more))
            return answer

        cluster, keys = SimpleNamespace(call=answered), SimpleNamespace(depends_on=lambda case: dict(ours))
        store = Store(tmp_path / "store")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(on_ray, "publish", lambda *given: published.append(given))
            outcome = on_ray.Elsewhere(cluster, store, keys, ASKED)(job, print)
        assert calls == [((build_here, job, ASKED), {"cpus": 1, "resources": {}, "go_on": print})]
        return outcome, published == [(store, job, answer.bundle)]

    return call


@pytest.mark.parametrize(
    ("status", "bundle", "published"),
    [("built", b"x", True), ("failed", b"x", True), ("failed", None, False), ("up to date", b"x", False), ("built", None, False)],
)  # fmt: skip
def test_what_was_built_or_failed_elsewhere_is_published_where_a_bundle_came(asks, status, bundle, published):
    outcome = Outcome("matmul", status)
    assert asks(Answer(outcome, {}, "host", bundle)) == (outcome, published)


@pytest.mark.parametrize(
    ("ours", "theirs", "what"),
    [
        ({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "0", "d": "4"}, "b, c, d"),
        ({"a": "1"}, {"a": "1"}, "the case"),
    ],
)
def test_a_host_that_would_build_something_else_is_told_with_what_is_other(asks, ours, theirs, what):
    said = f"host7 would build another NEFF (other: {what}); install the same versions and sources there"
    with pytest.raises(GenerateError) as error:
        asks(Answer(None, theirs, "host7"), ours)
    assert str(error.value) == said


@pytest.mark.parametrize("is_shared", [True, False])
def test_hosts_are_told_the_variables_that_shape_a_neff_and_a_store_that_they_share(tmp_path, monkeypatch, is_shared):
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    monkeypatch.setenv("SOME_OTHER", "1")
    store = Store(tmp_path / "store")
    store.create()
    with on_ray.elsewhere("cluster", store, "keys", is_shared) as there:
        assert there.asked.environment.get("JAX_ENABLE_X64") == "1" and "SOME_OTHER" not in there.asked.environment
        assert (there.cluster, there.store, there.keys) == ("cluster", store, "keys")
        assert (there.asked.shared is not None) == is_shared


def test_a_worker_keeps_one_warm_parent_for_each_toolchain_and_route(job, monkeypatch):
    monkeypatch.setattr(on_ray, "_WARM", {})
    monkeypatch.setattr(on_ray, "warm_parent", lambda jobs: [jobs])
    nki = on_ray._warm("nki", job)
    assert nki == [[job]] and on_ray._warm("nki", replace(job, key="other")) is nki
    assert on_ray._warm("xla", job) is not nki and on_ray._warm("nki", replace(job, toolchain="neuron")) is not nki


@pytest.mark.parametrize("cold", [True, False])
def test_a_worker_builds_from_its_warm_parent_unless_it_is_cold(worker, job, monkeypatch, cold):
    asked = []
    monkeypatch.setattr(on_ray, "_warm", lambda *given: asked.append(given))
    asking = replace(job, options=replace(OPTIONS, cold=cold))
    assert build_here(asking, ASKED).outcome.status == "built"
    assert asked == ([] if cold else [("nki", asking)])
