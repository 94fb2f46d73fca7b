from __future__ import annotations

import msgspec
import pytest

from neff_bench.stage2_profile.capture import runs

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
        return runs.publish(runs.new_work(bundle), msgspec.structs.replace(RUN, **changes))


def test_a_run_is_read_as_it_was_written(tmp_path):
    path = publish(tmp_path)
    assert runs.runs(tmp_path) == [(path, RUN)]


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
    assert runs.runs(tmp_path) == []


def test_what_another_process_is_writing_is_left_alone(tmp_path):
    with runs.locked(tmp_path):
        work = runs.new_work(tmp_path)
        with runs.locked(tmp_path) as second:
            assert second is None
        assert work.exists()


def test_the_best_run_has_numbers_and_is_of_this_neff(tmp_path):
    publish(tmp_path, neff_sha256="other")
    assert runs.best_run(tmp_path, "abc") is None
    captured = publish(tmp_path, status="captured")
    assert runs.best_run(tmp_path, "abc")[0] == captured
    viewed = publish(tmp_path)
    publish(tmp_path, status="captured")
    assert runs.best_run(tmp_path, "abc")[0] == viewed


def test_the_newest_of_equals_is_best(tmp_path):
    publish(tmp_path)
    newer = publish(tmp_path)
    assert runs.best_run(tmp_path, "abc")[0] == newer


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"status": "viewed"}', b"\xff\xfe"])
def test_a_damaged_record_counts_as_none(tmp_path, content):
    (publish(tmp_path) / "run.json").write_bytes(content)
    assert runs.runs(tmp_path) == []


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "-j", ".hidden", ""])
def test_a_record_that_names_a_path_or_an_option_counts_as_none(tmp_path, name):
    execution = runs.Execution(rank=0, execution=2, ntff=name)
    publish(tmp_path, executions=(execution,))
    assert runs.runs(tmp_path) == []


def test_links_that_a_tool_left_are_not_published(tmp_path):
    with runs.locked(tmp_path):
        work = runs.new_work(tmp_path)
        (work / "out").symlink_to("/etc/passwd")
        path = runs.publish(work, RUN)
    assert not (path / "out").is_symlink()


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    target = tmp_path / "rows.json"
    target.write_bytes(b"old")
    with pytest.raises(TypeError):
        runs.write_file(target, "text is no bytes")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_run_is_on_the_disk_before_it_has_its_name(tmp_path, disk):
    with runs.locked(tmp_path) as held:
        assert held is not None
        work = runs.new_work(tmp_path)
        (work / "trace.ntff").write_bytes(b"trace")
        path = runs.publish(work, RUN)
    assert path.name in disk.renamed
    assert disk.unsynced == []
    assert disk.has(path.parent)
