"""Which runs are removed."""

import pytest

from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.upkeep.gc import Left, Removed, collect
from tests.stage2_profile.capture.test_runs import publish


@pytest.fixture
def bundle(make_bundle):
    return make_bundle()


def made(bundle, *of):
    return [publish(bundle.path, **{"neff_sha256": bundle.manifest.neff_sha256, **changes}).name for changes in of]


@pytest.mark.parametrize(
    ("keep", "of", "removed"),
    [
        (1, [{}, {}, {}], ["1", "2"]), (2, [{}, {}, {}], ["1"]), (3, [{}, {}, {}], []), (1, [{}, {"status": "captured"}], []), (1, [{}, {}, {"tool": "nrtpy"}], ["1"]),
        (1, [{"tool": "nrtpy"}, {}, {"neff_sha256": "other"}], []), (1, [{"neff_sha256": "other"}, {}], ["1"]),
    ],
)  # fmt: skip
def test_the_newest_stay_and_those_that_rows_show(bundle, store, keep, of, removed):
    names = made(bundle, *of)
    assert [one.run for one in collect(store, keep, dry_run=True)] == removed
    assert [path.name for path in runs.run_directories(bundle.path)] == names[::-1]
    assert [one.run for one in collect(store, keep)] == removed
    assert [path.name for path in runs.run_directories(bundle.path)] == [
        name for name in names[::-1] if name not in removed
    ]


def test_the_bytes_of_all_files_are_counted(bundle, store):
    made(bundle, {}, {})
    files = [path for path in (bundle.path / "profiles" / "1").rglob("*") if path.is_file()]
    size_bytes = sum(path.stat().st_size for path in files)
    assert list(collect(store, 1)) == [Removed(bundle.name, "1", size_bytes)] and len(files) == 2


def test_one_case_may_be_asked_for_and_one_that_is_damaged_is_left(bundle, store, make_bundle, make_case):
    other = make_bundle(make_case(kernel="other"))
    for one in (bundle, other):
        made(one, {}, {})
    assert [one.case for one in collect(store, 1, other.name, dry_run=True)] == [other.name]
    assert sorted(one.case for one in collect(store, 1, dry_run=True)) == sorted((bundle.name, other.name))
    (other.path / "case.json").write_bytes(b"{")
    assert [one.case for one in collect(store, 1)] == [bundle.name]
    assert list(collect(store, 1, "none")) == []


def test_a_case_that_cannot_be_looked_at_says_why(bundle, store, monkeypatch):
    made(bundle, {}, {})

    def broken(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(runs, "remove", broken)
    assert list(collect(store, 1)) == [Left(bundle.name, f"{bundle.path}/profiles/1: Permission denied")]
