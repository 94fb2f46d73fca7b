from __future__ import annotations

import json
import os

import pytest

from neff_bench.neffs import aids
from neff_bench.stage2_profile import pipeline, row_index
from neff_bench.stage2_profile.metrics.rows import Row
from tests.stage2_profile.capture.test_runs import publish


@pytest.fixture(autouse=True)
def settled(monkeypatch):
    monkeypatch.setattr(aids, "SETTLED_NS", -(10**9))


@pytest.fixture
def made(monkeypatch):
    """Names of the bundles whose row was made, not reused."""
    names = []
    real = pipeline.run_row

    def counted(bundle, *rest, **options):
        names.append(bundle.name)
        return real(bundle, *rest, **options)

    monkeypatch.setattr(pipeline, "run_row", counted)
    return names


def rows(result):
    return json.loads(result.stdout)


@pytest.mark.parametrize("words", [["--parse-only"], []])
def test_a_row_is_made_once_and_is_the_same_when_it_is_reused(profile_neffs, make_bundle, made, words):
    make_bundle()
    profile_neffs()
    first = rows(profile_neffs(*words, "--format", "json"))
    made.clear()
    assert rows(profile_neffs(*words, "--format", "json")) == first
    assert made == []


@pytest.mark.parametrize("words", [["--parse-only"], []])
@pytest.mark.parametrize(
    "file", ["case.json", "profiles/1/run.json", "profiles/1/summary-1.json", "file.neff", "inp-x-000.bin"]
)
def test_a_changed_file_makes_the_row_anew_even_when_its_time_is_put_back(profile_neffs, make_bundle, words, file):
    bundle = make_bundle()
    profile_neffs()
    before = rows(profile_neffs(*words, "--format", "json"))
    status, data = (bundle.path / file).stat(), bytearray((bundle.path / file).read_bytes())
    data[len(data) // 2] ^= 1
    (bundle.path / file).write_bytes(data)
    os.utime(bundle.path / file, ns=(status.st_atime_ns, status.st_mtime_ns))
    after = rows(profile_neffs(*words, "--format", "json"))
    is_read = not words or file not in ("file.neff", "inp-x-000.bin")
    assert (after != before) == (is_read and not (not words and file == "profiles/1/summary-1.json"))


def test_a_new_run_makes_the_row_anew(profile_neffs, make_bundle, made):
    make_bundle()
    profile_neffs()
    profile_neffs("--parse-only")
    profile_neffs("--force")
    assert rows(profile_neffs("--parse-only", "--format", "json"))[0]["run"] == "2"
    assert rows(profile_neffs("--format", "json"))[0]["run"] == "2"


def test_other_options_or_other_code_do_not_reuse_rows(profile_neffs, make_bundle, made, monkeypatch):
    make_bundle()
    profile_neffs()
    profile_neffs()
    assert rows(profile_neffs("--num-exec", "8", "--format", "json"))[0]["executions"] == 4
    profile_neffs("--parse-only")
    made.clear()
    monkeypatch.setattr(row_index, "_code", lambda: "other")
    profile_neffs("--parse-only")
    assert len(made) == 1


def test_a_damaged_index_is_as_good_as_none(profile_neffs, make_bundle, store, made):
    make_bundle()
    profile_neffs()
    first = rows(profile_neffs("--parse-only", "--format", "json"))
    index = store / ".store" / "rows-parsed.json"
    index.write_bytes(index.read_bytes().replace(b'"total_time_us": 1', b'"total_time_us": 9'))
    made.clear()
    assert rows(profile_neffs("--parse-only", "--format", "json")) == first
    assert len(made) == 1


def test_a_row_of_files_written_just_now_is_not_kept(profile_neffs, make_bundle, made, monkeypatch):
    monkeypatch.setattr(aids, "SETTLED_NS", 10**15)
    make_bundle()
    profile_neffs()
    profile_neffs("--parse-only")
    made.clear()
    profile_neffs("--parse-only")
    assert len(made) == 1


def test_a_row_is_found_while_all_that_it_was_made_from_is_as_it_was(make_bundle, store):
    bundle, row = make_bundle(), Row(case="c", status="profiled")
    index = row_index.RowIndex(store, "x", ("asked",))
    index.keep(bundle, row, [], with_inputs=False)
    assert index.row(bundle) is None  # it has no profiles
    path = publish(bundle.path)
    index.keep(bundle, row, ["profiles/1/summary-1.json"], with_inputs=False)
    assert index.row(bundle) == row
    index.save()
    assert row_index.RowIndex(store, "x", ("asked",)).row(bundle) == row
    for other in (("x", ("other",)), ("y", ("asked",))):
        assert row_index.RowIndex(store, *other).row(bundle) is None
    (bundle.path / "inp-x-000.bin").write_bytes(b"changed")
    (bundle.path / "profiles" / "notes").write_bytes(b"no run")
    assert index.row(bundle) == row
    index.keep(bundle, row, [], with_inputs=True)
    (bundle.path / "inp-x-000.bin").write_bytes(b"changed again")
    assert index.row(bundle) is None
    index.keep(bundle, row, ["profiles/1/summary-1.json"], with_inputs=False)
    (path / "summary-1.json").write_bytes(b"changed")
    assert index.row(bundle) is None
    index.keep(bundle, row, [], with_inputs=False)
    publish(bundle.path)
    assert index.row(bundle) is None
    index.keep(bundle, row, ["gone"], with_inputs=False)
    assert row_index.Kept.__struct_config__.frozen


def test_rows_of_bundles_that_are_gone_are_forgotten(make_bundle, store):
    bundle = make_bundle()
    publish(bundle.path)
    index = row_index.RowIndex(store, "x", ())
    index.keep(bundle, Row(case="c", status="profiled"), [], with_inputs=False)
    bundle.path.rename(store.parent / "elsewhere")
    index.save()
    (store.parent / "elsewhere").rename(bundle.path)
    assert row_index.RowIndex(store, "x", ()).row(bundle) is None
