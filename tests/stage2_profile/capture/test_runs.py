from __future__ import annotations

import os

import msgspec
import pytest

from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.capture.process import Finished
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


@pytest.mark.parametrize(
    "record", [runs.Command, runs.Execution, runs.CheckedRank, runs.Checked, runs.RankFiles, runs.Run]
)
def test_a_record_is_never_changed_in_place_and_long_ones_are_made_by_name(record):
    assert record.__struct_config__.frozen
    if record is not runs.RankFiles:
        with pytest.raises(TypeError, match="positional"):
            record("passed")


def test_a_record_of_a_newer_version_says_what_to_update(tmp_path):
    path = publish(tmp_path, schema=3)
    with pytest.raises(RunDamaged) as caught:
        runs.read_run(path)
    assert str(caught.value) == "profiles/1: run.json has schema 3, newer than 2; update neff-bench"


def test_a_record_without_its_seal_is_damaged_unless_it_is_of_the_version_that_had_none(tmp_path):
    for schema in (2, 1):
        path = publish(tmp_path, schema=schema)
        (path / "run.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(RUN, schema=schema)))
        if schema == 1:
            assert runs.read_run(path).schema == 1
        else:
            with pytest.raises(RunDamaged, match="run.json is damaged"):
                runs.read_run(path)


def test_a_record_that_is_a_link_is_not_followed(tmp_path):
    path = publish(tmp_path)
    (path / "run.json").rename(tmp_path / "elsewhere")
    (path / "run.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunDamaged, match="profiles/1: run.json is not a plain file"):
        runs.read_run(path)


def test_files_of_an_older_version_are_read_as_they_are(tmp_path):
    path = publish(tmp_path, schema=1)
    run = runs.read_run(path)
    assert run.files == {} and runs.with_files(path, run, ["summary-1.json"]) == run
    (path / "summary-1.json").write_bytes(b"changed")
    runs.check_file(path, run, "summary-1.json")
    assert runs.read_file(path, run, "summary-1.json") == b"changed"


def test_a_directory_is_compared_file_by_file_and_what_is_not_recorded_is_damaged(tmp_path):
    with runs.locked(tmp_path):
        work = runs.new_work(tmp_path)
        for name in ("tables/a", "tables/b", "tables-b"):
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_bytes(b"1")
        path, run = runs.publish(work, RUN)
    (path / "tables-b").write_bytes(b"2")
    runs.check_file(path, run, "tables")
    (path / "tables" / "b").write_bytes(b"2")
    for name in ("tables", "tables/b", "tables-b", "none"):
        with pytest.raises(RunDamaged, match="profiles/1: "):
            runs.check_file(path, run, name)
    (path / "new").write_bytes(b"3")
    with pytest.raises(RunDamaged, match="new was changed"):
        runs.read_file(path, run, "new")
    assert set(runs.with_files(path, run, ["new", "none"]).files) == {*run.files, "new"}


WHOLE = msgspec.structs.replace(
    RUN,
    outputs={"out": "o0"},
    timing="t0",
    other_ranks=(runs.RankFiles({"out": "o1"}, "t1"), runs.RankFiles({}, None)),
    executions=(
        runs.Execution(rank=0, execution=2, ntff="2.ntff", summary="s", session="e", detail="d"),
        runs.Execution(rank=1, execution=2, ntff="3.ntff"),
    ),
    system_trace="system.json",
)


def test_a_record_names_its_files_by_what_they_are_for():
    assert list(runs.rank_files(WHOLE)) == ["o0", "t0", "o1", "t1"]
    assert list(runs.number_files(WHOLE)) == ["s", "t0", "t1"]
    assert list(runs.named_files(WHOLE)) == ["o0", "t0", "o1", "t1", "system.json", "2.ntff", "s", "e", "d", "3.ntff"]
    assert list(runs.named_files(RUN)) == []
    assert WHOLE.by_rank == (runs.RankFiles({"out": "o0"}, "t0"), *WHOLE.other_ranks)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("1", (1, 1, "1")), ("20", (1, 20, "20")), ("0", None), ("01", None), (".work-1", None), ("1.copy", None), ("9" * 18, (1, int("9" * 18), "9" * 18)), ("9" * 19, None),
        ("20260101T000000-000000", (0, 0, "20260101T000000-000000")),
    ],
)  # fmt: skip
def test_numbers_come_behind_the_times_of_older_versions(name, place):
    assert runs.order(name) == place


def test_runs_of_a_bundle_without_a_directory_of_them_are_none(tmp_path):
    assert runs.run_directories(tmp_path) == []
    (tmp_path / "profiles").write_bytes(b"")
    assert runs.run_directories(tmp_path) == []


def test_a_profiler_and_nrtpy_have_their_own_best_run(tmp_path):
    traced, timed = publish(tmp_path), publish(tmp_path, tool="nrtpy")
    found = [runs.best_run(tmp_path, "abc", traced=asked).found[0] for asked in (None, True, False)]
    assert found == [timed, traced, timed]


def test_a_failed_run_is_the_best_where_there_is_no_other(tmp_path):
    failed = publish(tmp_path, status="failed")
    assert best(tmp_path) == failed
    captured = publish(tmp_path, status="captured")
    assert best(tmp_path) == captured and not failed.exists()
    publish(tmp_path, status="failed")
    assert best(tmp_path) == captured


def test_a_series_has_the_runs_with_numbers_of_its_neff_newest_first(tmp_path):
    first = publish(tmp_path, series="1")
    second = publish(tmp_path, series="1")
    for other in ({"series": "2"}, {"series": "1", "neff_sha256": "x"}, {"series": "1", "status": "captured"}, {}):
        publish(tmp_path, **other)
    assert [path for path, _ in runs.series(tmp_path, runs.read_run(first))] == [second, first]
    assert runs.series(tmp_path, RUN) == []


def test_hidden_files_of_a_tool_are_not_published_and_its_directories_are(tmp_path):
    with runs.locked(tmp_path):
        work = runs.new_work(tmp_path)
        (work / ".cache").mkdir()
        (work / ".cache" / "x").write_bytes(b"x")
        (work / ".hidden").write_bytes(b"x")
        path, run = runs.publish(work, RUN)
    assert sorted(os.listdir(path)) == [".cache", "run.json"] and set(run.files) == {".cache/x"}


def test_a_lock_that_a_killed_holder_left_is_removed_with_its_leftovers(tmp_path):
    runs.remove_left_lock(tmp_path)
    assert os.listdir(tmp_path) == []
    (tmp_path / "profiles" / ".work-1").mkdir(parents=True)
    runs.remove_left_lock(tmp_path)
    assert os.listdir(tmp_path / "profiles") == [".work-1"]
    (tmp_path / "profiles" / runs.LOCK).write_bytes(b"")
    runs.remove_left_lock(tmp_path)
    assert os.listdir(tmp_path / "profiles") == []


def test_a_call_is_recorded_with_the_variables_that_matter():
    done = Finished(3, 1.23456, b"", b"", timed_out=True)
    command = runs.called("view", ["t", "view"], {"HOME": "/h", "NEURON_RT_VISIBLE_CORES": "3"}, done, "x.log")
    assert command == runs.Command(
        step="view", argv=("t", "view"), environment={"NEURON_RT_VISIBLE_CORES": "3"}, exit_code=3, timed_out=True, seconds=1.235, log="x.log",
    )  # fmt: skip
