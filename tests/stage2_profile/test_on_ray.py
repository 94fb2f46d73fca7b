"""What a worker of a cluster captures, and what is done here with what it sends; tests/test_soak_ray.py has the cluster."""

import threading
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from neff_bench.neffs import parcel
from neff_bench.neffs.parcel import Shared, pack_bundle
from neff_bench.neffs.store import Store
from neff_bench.stage2_profile import on_ray
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.capture.tools import Tool
from neff_bench.stage2_profile.directory import profiled_rows
from neff_bench.stage2_profile.errors import CaptureFailed
from neff_bench.stage2_profile.metrics.rows import Row
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


class FakeCluster:
    """A cluster of one host, this one; `asked` holds what each call needs."""

    def __init__(self, answer=None, **totals):
        self.asked, self.answer, self.totals = [], answer, totals

    def total(self, resource):
        return self.totals.get(resource, 0)

    def calls(self, resource, wanted):
        return resource, wanted

    def call(self, function, *words, cpus, resources, go_on):
        self.asked.append((words, cpus, resources))
        go_on()
        return self.answer


def elsewhere(cluster, **changes):
    asked = replace(ASKED, **changes)
    return on_ray.Elsewhere(cluster, asked.options, asked)


def test_a_bundle_asks_for_the_core_or_the_cpus_that_its_kind_needs(make_bundle, make_case):
    row = Row(case="c", status="profiled")
    cluster = FakeCluster(on_ray.Answer(row))
    for toolchain, ranks in (("neuron", 1), ("sim", 1), ("sim", 2)):
        bundle = make_bundle(make_case(ranks=ranks, kernel=f"{toolchain}{ranks}"), toolchain=toolchain)
        assert elsewhere(cluster)(bundle) is row
        assert cluster.asked[-1][0][:2] == (bundle.name, pack_bundle(bundle.path))
    elsewhere(cluster, shared=Shared(bundle.path, bundle.path))(bundle)
    needs = [(cpus, resources) for _, cpus, resources in cluster.asked]
    assert (
        needs == [(0.1, {"neuron_cores": 1}), (1, {"neuron_cores": 1}), (1, {}), (1, {})]
        and cluster.asked[-1][0][1] is None
    )
    assert elsewhere(cluster).calls == ("neuron_cores", None) and elsewhere(
        cluster, core=False, options=Options(jobs=3)
    ).calls == ("CPU", 3)


def test_a_stop_ends_the_waiting_for_a_cluster(make_bundle):
    options = Options(cold=True)
    options.stop.set()
    with pytest.raises(CaptureFailed, match="interrupted"):
        elsewhere(FakeCluster(), options=options)(make_bundle())


def test_ranks_that_are_only_viewed_need_no_cores_side_by_side(make_bundle, make_case):
    asked = elsewhere(None, options=Options(view_only=True))
    assert asked.asked_for(make_bundle(make_case(ranks=2))).core


@pytest.mark.parametrize(
    ("core", "tool", "neuron"),
    [
        (True, "profiler", "the profiler of each host of each host"),
        (True, "nrtpy", "nrtpy of each host"),
        (False, "profiler", "no host of the cluster has NeuronCores"),
    ],
)
def test_the_tools_of_the_hosts_are_named_before_they_are_found(core, tool, neuron):
    tools = elsewhere(None, core=core, simulator="1+sim", options=Options(tool=tool)).tools(["neuron", "sim"])
    assert str(tools["neuron"]).startswith(neuron) and (
        "nrtpy cannot run" if tool == "nrtpy" else "neuron-sim 1+sim (simulated)"
    ) in str(tools["sim"])


@pytest.mark.parametrize(("cores", "shared_store"), [(0, False), (1, False), (4, True)])
def test_a_cluster_is_told_with_what_it_has(monkeypatch, store, capsys, make_bundle, cores, shared_store):
    make_bundle()
    monkeypatch.setattr(on_ray, "connected", lambda address: nullcontext(FakeCluster(CPU=8, neuron_cores=cores)))
    monkeypatch.setattr(on_ray, "find_tool", lambda kind, options: Tool("neuron-sim", (), "9+sim", kind))
    options = Options(ray="auto", shared_store=shared_store)
    with on_ray.elsewhere(store, options) as there:
        assert (there.asked.simulator, there.asked.core, there.asked.shared is not None, there.asked.options) == (
            "9+sim",
            cores > 0,
            shared_store,
            options,
        )
    assert f"the cluster has 8 CPUs and {cores} neuron_cores" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("version", "says"), [("1+sim", None), ("2+sim", "has neuron-sim 2+sim, this host 1+sim; install the same")]
)
def test_a_simulated_bundle_is_captured_by_the_same_simulator(make_bundle, monkeypatch, version, says):
    made = []
    monkeypatch.setattr(on_ray, "_tool", lambda kind, tool: Tool("neuron-sim", (), version, kind))
    monkeypatch.setattr(on_ray, "granted_core", lambda: 3)
    monkeypatch.setattr(
        on_ray,
        "_pipeline",
        lambda bundle, tool, core, asked, stop: made.append(core)
        or SimpleNamespace(row=lambda found: Row(case=found.name, status="profiled")),
    )
    bundle = make_bundle(toolchain="sim")
    for core in (True, False):
        row = on_ray._row(bundle, replace(ASKED, simulator="1+sim", core=core), None)
        assert (row.status, says is None or says in row.reason) == ("failed" if says else "profiled", True)
    assert made == ([] if says else [3, None])


def test_a_measured_bundle_is_captured_by_whatever_tool_the_host_has(make_bundle, monkeypatch):
    monkeypatch.setattr(on_ray, "_tool", lambda kind, tool: Tool("neuron-profile", (), "2.29", kind))
    monkeypatch.setattr(on_ray, "granted_core", lambda: 3)
    monkeypatch.setattr(
        on_ray, "_pipeline", lambda bundle, tool, core, asked, stop: SimpleNamespace(row=lambda found: core)
    )
    assert on_ray._row(make_bundle(), replace(ASKED, simulator="1", core=False), None) == 3


@pytest.mark.parametrize(
    ("toolchain", "core", "lnc", "cores"), [("sim", 3, 2, (6, 7)), ("sim", None, 1, ()), ("neuron", 3, 1, None)]
)
def test_the_granted_core_is_the_only_one_of_its_pool(make_bundle, make_case, toolchain, core, lnc, cores):
    bundle = make_bundle(make_case(lnc=lnc), toolchain=toolchain)
    assert on_ray._pool(bundle, core, Options()).cores == cores


def test_a_pipeline_of_a_worker_has_its_environment_and_one_thread(make_bundle, monkeypatch):
    monkeypatch.setenv("ONLY_HERE", "1")
    tool = Tool("neuron-sim", (), "1", "sim")
    made = on_ray._pipeline(make_bundle(toolchain="sim"), tool, 3, ASKED, stop := threading.Event())
    assert (made.options.environ["ONLY_HERE"], made.options.environ["OPENBLAS_NUM_THREADS"]) == ("1", "1")
    assert (made.options.stop, made.options.warm, made.tools, list(made.pools)) == (stop, None, {"sim": tool}, ["sim"])
