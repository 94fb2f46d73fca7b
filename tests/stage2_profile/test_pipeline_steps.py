"""What is done with one bundle under its lock: captured, viewed, and captured again as often as is asked."""

import threading

import msgspec
import pytest

from neff_bench.stage2_profile import pipeline
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.metrics.rows import Row
from neff_bench.stage2_profile.pipeline import Pipeline
from tests.stage2_profile.test_pipeline import NRTPY, PROFILER, SIMULATOR, run


@pytest.fixture
def steps(monkeypatch, settings, make_bundle):
    """Do what is asked of a bundle with steps that only say that they were done; `states` are those of the captures in turn."""

    def go(*states, found=None, totals=(), tool=PROFILER, **asked):
        bundle, did, left = make_bundle(), [], iter(states)

        def capture(bundle, tool, options, pool, hold, series):
            did.append(f"capture {series}" if series else "capture")
            return bundle.path / "profiles" / "9", run(status=next(left), reason="it broke", series="7")

        def view(bundle, path, record, tool, options, hold):
            did.append("view")
            return msgspec.structs.replace(record, status="viewed")

        def detail(bundle, path, record, tool, options, hold):
            did.append("detail")
            return record

        counts = iter(totals)
        monkeypatch.setattr(pipeline, "capture", capture)
        monkeypatch.setattr(pipeline, "view", view)
        monkeypatch.setattr(pipeline, "view_detail", detail)
        monkeypatch.setattr(pipeline, "check_disk", lambda bundle, options, traced: did.append(f"disk {traced}"))
        monkeypatch.setattr(pipeline, "with_verdict", lambda bundle, path, record, compare: record)
        monkeypatch.setattr(
            pipeline,
            "run_row",
            lambda bundle, path, record: Row(case=bundle.name, status="profiled", reason=record.status),
        )
        monkeypatch.setattr(pipeline, "_totals_s", lambda bundle, run: [1.0] * next(counts))
        best = runs.Best(found and (bundle.path / "profiles" / "1", found), ("profiles/0: damaged",))
        monkeypatch.setattr(Pipeline, "_best", lambda self, bundle, tool: best)
        work = Pipeline(settings(**asked), {"neuron": PROFILER}, {"neuron": None, "sim": None})
        row = work._locked(bundle, tool, 5)
        return did, row, work.reused.get(bundle.name)

    return go


VIEWED = run(series="7")


@pytest.mark.parametrize(
    ("states", "found", "asked", "did", "reused"),
    [
        (["captured"], None, {}, ["disk True", "capture", "view"], None), (["failed"], None, {}, ["disk True", "capture"], None), (["captured"], None, {"capture_only": True}, ["disk True", "capture"], None),
        ([], run(status="captured"), {}, ["view"], "read"), ([], VIEWED, {}, [], "cached"), ([], VIEWED, {"view_only": True, "force": False}, [], "cached"),
        (["captured"], VIEWED, {"force": True}, ["disk True", "capture", "view"], None), (["captured"], None, {"detail": True}, ["disk True", "capture", "view", "detail"], None),
        ([], run(status="captured"), {"capture_only": True}, [], "cached"), (["captured"], None, {"capture_only": True, "detail": True}, ["disk True", "capture"], None),
    ],
)  # fmt: skip
def test_a_bundle_is_captured_and_viewed_as_far_as_it_was_not_yet(steps, states, found, asked, did, reused):
    done, row, word = steps(*states, found=found, **asked)
    assert (done, word) == (did, reused)
    assert row.warnings == (("profiles/0: damaged",) if found and not asked.get("force") else ())


def test_what_was_never_captured_cannot_be_viewed(steps):
    done, row, _ = steps(view_only=True)
    assert (
        done == [] and row.reason == "nothing captured yet; run profile-neffs --capture-only on a host with the device"
    )


def test_only_a_device_fills_the_disk_and_nrtpy_leaves_no_trace(steps):
    assert steps("captured", tool=NRTPY)[0][0] == "disk False"
    assert steps("captured", tool=SIMULATOR)[0] == ["capture", "view"]


def test_a_series_is_captured_on_after_its_first_run(steps):
    done, row, _ = steps("captured", "captured", "captured", totals=(1, 2, 3), captures=3)
    assert done == ["disk True", "capture", "view"] + ["disk True", "capture 7", "view"] * 2 and row.warnings == ()
    done, row, word = steps("captured", found=VIEWED, totals=(2, 2, 3), captures=3)
    assert done == ["disk True", "capture 7", "view"] and word is None
    _, row, _ = steps("captured", "failed", totals=(1,), captures=3)
    assert row.warnings == ("capture 9 of the series: it broke",)
    done, _, _ = steps("viewed", "viewed", totals=(1, 2), captures=2)
    assert "view" not in done


def test_a_stop_ends_a_series(steps):
    stop = threading.Event()
    stop.set()
    done, _, _ = steps("captured", totals=(1,), captures=3, stop=stop)
    assert done == ["disk True", "capture", "view"]
