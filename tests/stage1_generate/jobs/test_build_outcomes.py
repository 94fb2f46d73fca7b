"""What becomes of a case by how its worker ended, with a stand-in for the worker's process."""

import os
import shutil
from dataclasses import replace
from threading import Event

import pytest

from neff_bench.neffs.bundle import LOG, write_manifest
from neff_bench.neffs.case import Case
from neff_bench.neffs.store import Store
from neff_bench.neffs.verified import Verified
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.jobs import build as build_module
from neff_bench.stage1_generate.jobs import worker
from neff_bench.stage1_generate.jobs.build import Builder, Outcome, publish_failure, state
from neff_bench.stage1_generate.jobs.job import Job, encode
from neff_bench.stage1_generate.jobs.worker import started
from neff_bench.stage1_generate.options import Options
from neff_bench.stage1_generate.toolchains.find import Toolchain

SIM = Toolchain("sim", None, False, False, False, False, True)
JOB = Job(Case("matmul", "nki", (("M", 4), ("K", 4), ("N", 4)), "float32", "trn2", 1), "key", "sim")
NAME = JOB.case.name


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A directory with the files of the case as a worker leaves them."""
    before, directory = os.getcwd(), tmp_path_factory.mktemp("good")
    os.chdir(directory)
    try:
        write_manifest(directory, worker.build(JOB))
    finally:
        os.chdir(before)
    return directory


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "store")
    store.create()
    return store


@pytest.fixture
def builder(store, monkeypatch):
    """A function that returns a builder whose workers do what it is given with their directory, and the calls of them."""

    def make(work, **more):
        calls = []

        def run_module(module, line, directory, *rest):
            calls.append((module, line, *rest))
            return work(directory)

        monkeypatch.setattr(build_module, "run_module", run_module)
        options = Options(timeout_s=7.5, **more.pop("options", {}))
        return Builder(store, SIM, options, **more), calls

    return make


def leaves(code, reason=None, log=b"", status="failed"):
    """A worker that ends with a code; with a reason it has written its manifest."""

    def work(directory):
        (directory / LOG).write_bytes(log)
        if reason is not None:
            write_manifest(directory, replace(started(JOB), reason=reason))
        return code

    return work


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (leaves(None), "took longer than 7.5 s (--timeout)"), (leaves(None, "said before"), "took longer than 7.5 s (--timeout)"),
        (leaves(1, "k.py:3: no"), "k.py:3: no"), (leaves(0, "k.py:3: no"), "k.py:3: no"), (leaves(3, "k.py:3: no", b"error: last\n"), "last"),
        (leaves(1, None, b"error: last\n"), "last"), (leaves(-6, "k.py:3: no"), "killed by SIGABRT (see compile.log)"),
        (leaves(1, ""), "the worker ended without a result"), (leaves(1, None, b"error: no" + b"\n" + b"x" * 8191 + b"\n"), "x" * 297 + "..."),
    ],
)  # fmt: skip
def test_a_case_whose_worker_ends_without_a_bundle_fails_with_the_reason_and_the_log(builder, store, work, reason):
    made, calls = builder(work)
    outcome = made.build(JOB, Verified(store.path))
    assert (outcome.name, outcome.status, outcome.reason) == (NAME, "failed", reason) and 0 < outcome.time_s < 60
    assert calls == [("neff_bench.stage1_generate.jobs.worker", encode(JOB), 7.5, made._go_on, None)]
    manifest = store.find(NAME).manifest
    assert (manifest.status, manifest.reason, manifest.key) == ("failed", reason, "key")
    assert (store.path / NAME / LOG).is_file()


@pytest.mark.parametrize("work", [leaves(28), leaves(1, f"x: {os.strerror(28)}")])
def test_a_full_disk_is_named_by_the_store_on_it(builder, store, work):
    outcome = builder(work)[0].build(JOB, Verified(store.path))
    assert outcome.reason == f"no space left on the disk of {store.path}"


@pytest.fixture
def works(good):
    """A worker that builds."""

    def work(directory):
        shutil.copytree(good, directory, dirs_exist_ok=True)
        return 0

    return work


def test_a_case_that_is_built_is_published_and_is_up_to_date_then_unless_it_is_forced(builder, store, works):
    made, calls = builder(works)
    outcome = made.build(JOB, Verified(store.path))
    assert (outcome.name, outcome.status, outcome.reason) == (NAME, "built", None) and 0 < outcome.time_s < 60
    assert store.find(NAME).manifest.status == "built"
    assert made.build(JOB, Verified(store.path)) == Outcome(NAME, "up to date") and len(calls) == 1
    made, calls = builder(works, options={"force": True})
    assert made.build(JOB, Verified(store.path)).status == "built" and len(calls) == 1


def test_a_case_that_cannot_be_built_starts_no_worker(builder, store):
    made, calls = builder(leaves(0))
    closed = replace(JOB, case=Case("mlp", "neuronxcc", tuple(zip("bshi", (1, 4, 128, 4))), "bfloat16", "trn2", 1))
    outcome = made.build(closed, Verified(store.path))
    assert outcome.status == "failed" and outcome.reason.startswith("needs the AWS Neuron SDK") and calls == []
    odd = replace(JOB, case=replace(closed.case, implementation="nkilib", dims=tuple(zip("bshi", (1, 4, 129, 4)))))
    outcome = replace(made, toolchain=replace(SIM, nkilib=store.path)).build(odd, Verified(store.path))
    assert outcome.reason == "nki-library's mlp needs h to be a multiple of 128 (h is 129)" and calls == []
    assert store.find(odd.case.name).manifest.reason == outcome.reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (BuildError("it is so"), "it is so"), (PermissionError(13, "Permission denied", "/a/b"), "/a/b: Permission denied"),
        (PermissionError(13, "Permission denied"), "{}: Permission denied"),
    ],
)  # fmt: skip
def test_what_stops_a_build_is_its_outcome(builder, store, error, reason):
    def work(directory):
        raise error

    outcome = builder(work)[0].build(JOB, Verified(store.path))
    assert (outcome.name, outcome.status, outcome.reason) == (NAME, "failed", reason.format(store.path))
    assert 0 < outcome.time_s < 60 and store.find(NAME) is None


def test_a_run_that_ends_builds_no_more(builder, store):
    stop = Event()
    stop.set()
    made, calls = builder(leaves(0), stop=stop)
    assert made.build(JOB, Verified(store.path)) == Outcome(NAME, "not built", "the run was ended") and calls == []


@pytest.mark.parametrize(
    ("fail_fast", "statuses"), [(False, ["failed"] * 3), (True, ["failed", "not built", "not built"])]
)
def test_a_run_ends_with_its_first_failure_where_that_is_asked_for(builder, fail_fast, statuses):
    made, calls = builder(leaves(1, "no"), options={"fail_fast": fail_fast})
    jobs = [replace(JOB, case=replace(JOB.case, seed=seed)) for seed in (1, 2, 3)]
    told = []
    assert made.build_all(jobs, 1, told.append) == told and [one.status for one in told] == statuses
    assert len(calls) == statuses.count("failed")


@pytest.mark.parametrize("shared", [True, False])
def test_a_case_is_built_elsewhere_under_our_lock_only_where_the_store_is_ours(builder, store, monkeypatch, shared):
    locked, asked = [], []
    lock = Store.lock
    monkeypatch.setattr(Store, "lock", lambda *given, **more: locked.append(given[1]) or lock(*given, **more))
    there = Outcome(NAME, "built", None, 1.0)
    made, calls = builder(
        leaves(0), elsewhere=lambda *given: asked.append(given) or there, options={"shared_store": shared}
    )
    assert made.build(JOB, Verified(store.path)) is there and calls == []
    assert asked == [(JOB, made._go_on)] and locked == ([] if shared else [NAME])


def test_the_state_of_a_case_is_what_the_store_has_under_its_key(builder, store, works):
    told = []

    def found(job=JOB):
        return state(store, job, Verified(store.path), told.append)

    assert found() == "build"
    builder(leaves(1, "no"))[0].build(JOB, Verified(store.path))
    assert found() == "retry" and found(replace(JOB, key="other")) == "build"
    builder(works)[0].build(JOB, Verified(store.path))
    assert found() == "up to date" and found(replace(JOB, key="other")) == "build" and told == []
    (store.path / NAME / "file.neff").write_bytes(b"")
    assert found() == "build" and len(told) == 1 and told[0].startswith(f"{NAME}: file.neff")
    (store.path / NAME / "case.json").write_text("{")
    assert found() == "build" and len(told) == 2


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ("good", True),
        ("other key", False),
        ("damaged", False),
        ("failed", False),
        ("no manifest", False),
        (None, False),
    ],
)
def test_a_failure_takes_the_place_of_all_but_a_good_bundle_of_its_key(builder, store, works, before, kept):
    if before is not None:
        job = replace(JOB, key="key")
        builder(leaves(1, "before") if before == "failed" else works)[0].build(job, Verified(store.path))
    if before == "damaged":
        (store.path / NAME / "file.neff").write_bytes(b"")
    if before == "no manifest":
        (store.path / NAME / "case.json").write_text("{")
    manifest = replace(started(JOB), reason="after", key="another" if before == "other key" else "key")
    assert publish_failure(store, manifest, b"log") == Outcome(NAME, "failed", "after")
    found = store.find(NAME).manifest
    assert (found.status == "built") if kept else (found.reason == "after")
    assert kept or (store.path / NAME / LOG).read_bytes() == b"log"
