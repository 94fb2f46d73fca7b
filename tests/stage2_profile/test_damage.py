"""Files of a store that are damaged, incomplete or of an older version."""

from __future__ import annotations

import json
import re

import pytest

from neff_bench.neffs.checksums import seal


def rows(result):
    return json.loads(result.stdout)


@pytest.mark.parametrize("file", ["file.neff", "inp-x-000.bin", "ref-out-000.bin", "case.json"])
@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_a_damaged_bundle_is_a_row(profile_neffs, make_bundle, make_case, file, damage):
    bundle = make_bundle()
    make_bundle(make_case("mlp", dims=(("b", 1),)))
    if damage == "missing":
        (bundle.path / file).unlink()
    else:
        (bundle.path / file).write_bytes(b"\0" * (bundle.path / file).stat().st_size)
    result = profile_neffs("--format", "json")
    assert result.exit_code == 1
    bad, good = sorted(rows(result), key=lambda row: row["status"])
    assert (bad["status"], good["status"]) == ("failed", "profiled")
    assert file in bad["reason"]


def test_a_damaged_summary_is_a_row_and_is_viewed_again(profile_neffs, make_bundle, tmp_path):
    bundle = make_bundle()
    profile_neffs()
    (summary,) = bundle.path.glob("profiles/*/summary-1.json")
    summary.write_bytes(summary.read_bytes()[:40])
    result = profile_neffs("--parse-only", "--format", "json")
    assert result.exit_code == 1
    assert "summary-1.json" in rows(result)[0]["reason"]
    assert profile_neffs().exit_code == 0
    assert (tmp_path / "calls").read_text() == "x"  # viewed again, not captured again


def test_a_record_that_names_files_elsewhere_is_not_believed(profile_neffs, make_bundle):
    bundle = make_bundle()
    profile_neffs()
    (record,) = bundle.path.glob("profiles/*/run.json")
    text = record.read_text().replace('"summary": "summary-1.json"', '"summary": "../../case.json"')
    record.write_bytes(seal(re.sub(r',\n  "checksum": "[0-9a-f]{64}"', "", text).encode()))
    result = profile_neffs("--parse-only", "--format", "json")
    assert result.exit_code == 1
    assert "names a file that is outside the run" in rows(result)[0]["reason"]


def test_a_damaged_record_is_a_row_and_is_profiled_again(profile_neffs, make_bundle, tmp_path):
    bundle = make_bundle()
    before = rows(profile_neffs("--format", "json"))
    (record,) = bundle.path.glob("profiles/*/run.json")
    record.write_bytes(record.read_bytes().replace(b'"num_exec": 2', b'"num_exec": 3'))
    result = profile_neffs("--parse-only", "--format", "json")
    assert result.exit_code == 1
    assert "profiles/1: run.json is damaged" in rows(result)[0]["reason"]
    (after,) = rows(profile_neffs("--format", "json"))
    assert (after["run"], after["total_time_us"]) == ("2", before[0]["total_time_us"])
    assert (tmp_path / "calls").read_text() == "xx"


def test_an_older_run_that_is_used_says_that_a_newer_one_is_damaged(profile_neffs, make_bundle):
    bundle = make_bundle()
    profile_neffs()
    profile_neffs("--force")
    (bundle.path / "profiles" / "2" / "run.json").write_bytes(b"{}")
    for words in (["--parse-only"], []):
        (row,) = rows(profile_neffs("--format", "json", *words))
        assert row["run"] == "1"
        assert "profiles/2: run.json is damaged" in row["warnings"][0]


def test_a_summary_and_a_trace_that_are_damaged_are_captured_again(profile_neffs, make_bundle, tmp_path):
    bundle = make_bundle()
    profile_neffs()
    for name in ("summary-1.json", "profile_exec_2.ntff"):
        path = bundle.path / "profiles" / "1" / name
        path.write_bytes(path.read_bytes().replace(b"0", b"1", 1))
    assert "summary-1.json was changed" in profile_neffs("--parse-only").stdout
    assert profile_neffs().exit_code == 0
    assert (tmp_path / "calls").read_text() == "xx"


def test_a_capture_that_crashed_is_captured_by_the_next_call(profile_neffs, make_bundle, faults):
    make_bundle()
    faults("crash_after", "crash_after", "none")
    first = profile_neffs("--format", "json")
    assert first.exit_code == 1
    assert "wrote a trace, then: killed by SIGSEGV" in rows(first)[0]["reason"]
    second = profile_neffs("--format", "json")
    assert second.exit_code == 0
    assert rows(second)[0]["check"] == "passed"


def test_a_second_call_does_not_check_the_outputs_again(profile_neffs, make_bundle, monkeypatch):
    make_bundle()
    assert profile_neffs().exit_code == 0
    monkeypatch.delattr("neff_bench.stage2_profile.metrics.check.compare_files")
    for words in (["--parse-only"], []):
        (row,) = rows(profile_neffs("--format", "json", *words))
        assert row["check"] == "passed"


def test_a_run_without_checksums_is_read_and_marked(profile_neffs, make_bundle, tmp_path):
    bundle = make_bundle()
    profile_neffs()
    (record,) = bundle.path.glob("profiles/*/run.json")
    fields = json.loads(record.read_text())
    for name in ("files", "checked", "checksum"):
        del fields[name]
    record.write_text(json.dumps(fields | {"schema": 1}))
    record.parent.rename(record.parent.with_name("20990101T000000-000000"))
    for words in (["--parse-only"], []):
        (row,) = rows(profile_neffs("--format", "json", *words))
        assert (row["check"], row["run"]) == ("passed", "20990101T000000-000000")
        assert "not verified" in row["warnings"][0]
    (row,) = rows(profile_neffs("--force", "--format", "json"))
    assert row["run"] == "1"
    assert rows(profile_neffs("--parse-only", "--format", "json"))[0]["run"] == "1"
