from __future__ import annotations

import os

import msgspec
import pytest

from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.errors import RunDamaged

RUN = runs.Run(
    status="viewed",
    neff_sha256="abc",
    tool="neuron-profile",
    tool_version="2.29",
    kind="neuron",
    num_exec=2,
    profile_nth_exec=2,
    lnc=1,
    created="2026-01-01T00:00:00+00:00",
)


def publish(bundle, **changes):
    with runs.locked(bundle) as held:
        assert held is not None
        work = runs.new_work(bundle)
        (work / "summary-1.json").write_bytes(b"{}")
        path, _ = runs.publish(work, msgspec.structs.replace(RUN, **changes))
        return path


def best(bundle, neff_sha256="abc"):
    found = runs.best_run(bundle, neff_sha256).found
    return found and found[0]


def test_a_run_is_read_as_it_was_written_with_the_sums_of_its_files(tmp_path):
    run = runs.read_run(publish(tmp_path))
    assert run.files["summary-1.json"].bytes == 2
    assert msgspec.structs.replace(run, files={}) == RUN


def test_runs_are_numbered_and_a_clock_does_not_matter(tmp_path):
    old = tmp_path / "profiles" / "20990101T000000-000000"
    old.mkdir(parents=True)
    runs.write_run(old, msgspec.structs.replace(RUN, schema=1))
    assert best(tmp_path) == old
    assert not runs.read_run(old).verified
    assert publish(tmp_path).name == "1"
    assert publish(tmp_path, created="1999-01-01T00:00:00+00:00").name == "2"
    for number in range(3, 11):
        publish(tmp_path, created="2099-01-01T00:00:00+00:00" if number == 5 else RUN.created)
    assert best(tmp_path).name == "10"


def test_a_directory_with_another_name_is_no_run(tmp_path):
    path = publish(tmp_path)
    path.rename(path.with_name("1.copy"))
    assert runs.run_directories(tmp_path) == []


def test_any_changed_bit_of_a_record_is_noticed(tmp_path):
    path = publish(tmp_path)
    good = (path / "run.json").read_bytes()
    for position in range(len(good)):
        (path / "run.json").write_bytes(
            good[:position] + bytes([good[position] ^ 1 << position % 8]) + good[position + 1 :]
        )
        with pytest.raises(RunDamaged):
            runs.read_run(path)


def test_a_changed_file_is_not_read(tmp_path):
    path = publish(tmp_path)
    run = runs.read_run(path)
    assert runs.read_file(path, run, "summary-1.json") == b"{}"
    runs.check_file(path, run, "summary-1.json")
    (path / "summary-1.json").write_bytes(b"[]")
    for read in (runs.read_file, runs.check_file):
        with pytest.raises(RunDamaged, match="profiles/1|summary-1.json was changed"):
            read(path, run, "summary-1.json")


def test_one_process_at_a_time_holds_the_profiles_of_a_bundle(tmp_path):
    with runs.locked(tmp_path) as first, runs.locked(tmp_path) as second:
        assert first is not None
        assert second is None
    with runs.locked(tmp_path) as third:
        assert third is not None


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    with runs.locked(tmp_path):
        work = runs.new_work(tmp_path)
        (work / "half.ntff").write_bytes(b"half")
    with runs.locked(tmp_path):
        assert not work.exists()
    assert runs.run_directories(tmp_path) == []


def test_what_another_process_is_writing_is_left_alone(tmp_path):
    with runs.locked(tmp_path):
        work = runs.new_work(tmp_path)
        with runs.locked(tmp_path) as second:
            assert second is None
        assert work.exists()


def test_the_best_run_has_numbers_and_is_of_this_neff(tmp_path):
    publish(tmp_path, neff_sha256="other")
    assert best(tmp_path) is None
    captured = publish(tmp_path, status="captured")
    assert best(tmp_path) == captured
    viewed = publish(tmp_path)
    publish(tmp_path, status="captured")
    assert best(tmp_path) == viewed


def test_the_newest_of_equals_is_best(tmp_path):
    publish(tmp_path)
    newer = publish(tmp_path)
    assert best(tmp_path) == newer


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"status": "viewed"}', b"\xff\xfe"])
def test_a_damaged_record_is_told_beside_the_older_run_that_is_used(tmp_path, content):
    older = publish(tmp_path)
    (publish(tmp_path) / "run.json").write_bytes(content)
    assert best(tmp_path) == older
    (told,) = runs.best_run(tmp_path, "abc").damaged
    assert told.startswith("profiles/2: run.json is damaged")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "-j", ".hidden", ""])
def test_a_record_that_names_a_path_or_an_option_counts_as_none(tmp_path, name):
    execution = runs.Execution(rank=0, execution=2, ntff=name)
    publish(tmp_path, executions=(execution,))
    assert best(tmp_path) is None


def test_links_that_a_tool_left_are_not_published(tmp_path):
    with runs.locked(tmp_path):
        work = runs.new_work(tmp_path)
        (work / "out").symlink_to("/etc/passwd")
        path, _ = runs.publish(work, RUN)
    assert not (path / "out").is_symlink()


def test_a_run_is_on_the_disk_before_it_has_its_name(tmp_path, disk):
    with runs.locked(tmp_path) as held:
        assert held is not None
        work = runs.new_work(tmp_path)
        (work / "trace.ntff").write_bytes(b"trace")
        path, _ = runs.publish(work, RUN)
    assert path.name in disk.renamed
    assert disk.unsynced == []
    assert disk.has(path.parent)


def test_a_file_that_a_killed_writer_did_not_finish_goes_with_the_next_lock(tmp_path):
    path = publish(tmp_path)
    (path / ".run.json.17-0123abcd").write_bytes(b"{")
    with runs.locked(tmp_path):
        assert sorted(os.listdir(path)) == ["run.json", "summary-1.json"]
