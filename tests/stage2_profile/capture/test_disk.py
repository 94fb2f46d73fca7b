import shutil
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest

from neff_bench.stage2_profile.capture import disk, runs
from neff_bench.stage2_profile.capture.disk import estimate_bytes
from neff_bench.stage2_profile.errors import CaptureFailed
from tests.stage2_profile.capture.test_runs import RUN, publish


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


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (2**20 - 1, "1048575 bytes"), (2**20, "1 MiB"), (3 * 2**19 + 1, "2 MiB"), (2**30 - 1, "1024 MiB"), (2**30, "1.0 GiB"), (5 * 2**29, "2.5 GiB")],
)  # fmt: skip
def test_a_size_has_the_unit_that_suits_it(count, text):
    assert disk._size(count) == text


def test_a_capture_that_just_fits_is_taken(make_bundle, settings, free):
    bundle = make_bundle()
    needed = estimate_bytes(bundle, settings(), traced=True)
    free(needed)
    disk.check_disk(bundle, settings(), traced=True)
    assert disk.shortage(bundle.path.parent, [bundle], settings(), traced=True) is None
    free(needed - 1)
    assert disk.shortage(bundle.path.parent, [bundle], settings(), traced=True).startswith(
        f"the captures may take about {needed} bytes, and {needed - 1} bytes are free for "
    )
    with pytest.raises(CaptureFailed, match=f"not captured: it would take about {needed} bytes"):
        disk.check_disk(bundle, settings(), traced=True)


def test_captures_that_are_still_to_be_taken_count_each(make_bundle, make_case, settings, free):
    bundles = [make_bundle(make_case(kernel=name)) for name in ("new", "failed", "good")]
    for bundle, status in zip(bundles[1:], ("failed", "viewed"), strict=True):
        publish(bundle.path, neff_sha256=bundle.manifest.neff_sha256, status=status)
    free(0)
    needed = [estimate_bytes(bundle, settings(), traced=True) for bundle in bundles]

    def said(**changes):
        return disk.shortage(bundles[0].path.parent, bundles, settings(**changes), traced=True)

    assert f"about {needed[0] + needed[1]} bytes" in said() and f"about {3 * (needed[0] + needed[1])} bytes" in said(
        captures=3
    )
    assert f"about {sum(needed)} bytes" in said(force=True)
    assert f"about {3 * 32} bytes" in disk.shortage(bundles[0].path.parent, bundles, settings(), traced=False)


def test_each_rank_leaves_its_outputs_and_traces_and_a_neff_that_is_missing_none(make_bundle, make_case, settings):
    bundle = make_bundle(make_case(ranks=3))
    neff_bytes = bundle.neff_path.stat().st_size
    assert estimate_bytes(bundle, settings(), traced=True) == 3 * 32 + 6 * neff_bytes * 3
    bundle.neff_path.unlink()
    assert estimate_bytes(bundle, settings(), traced=True) == 3 * 32


def test_the_largest_trace_of_the_newest_run_is_what_the_next_will_take(make_bundle, settings):
    bundle = make_bundle()
    with runs.locked(bundle.path):
        work = runs.new_work(bundle.path)
        for number, size in ((2, 10), (4, 30), (6, 20)):
            (work / f"{number}.ntff").write_bytes(bytes(size))
        executions = [runs.Execution(rank=0, execution=number, ntff=f"{number}.ntff") for number in (2, 4, 6, 8)]
        runs.publish(
            work, msgspec.structs.replace(RUN, neff_sha256=bundle.manifest.neff_sha256, executions=tuple(executions))
        )
    assert estimate_bytes(bundle, settings(), traced=True) == 32 + 30
