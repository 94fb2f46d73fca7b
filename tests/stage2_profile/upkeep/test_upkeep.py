from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from neff_bench.cli import main as neff_bench
from neff_bench.neffs.store import Store
from neff_bench.stage2_profile.cli import profile


@pytest.fixture
def call(store, fake_on_path):
    def go(command, *words):
        if command == "profile":
            return CliRunner().invoke(profile, [str(store), *words])
        return CliRunner().invoke(neff_bench, [command, str(store), *words])

    return go


@pytest.fixture
def profiled(call, make_bundle):
    """A bundle with one good run."""
    bundle = make_bundle()
    assert call("profile").exit_code == 0
    return bundle


def found(result):
    return [(record["problem"], record["file"].split("/", 1)[-1]) for record in json.loads(result.stdout)]


def damage(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_good_store_has_nothing_to_tell(call, profiled):
    result = call("fsck")
    assert result.exit_code == 0, result.output
    assert "1 bundles and 1 runs examined: every file is as it was written." in result.stdout


def test_every_flipped_file_is_named(call, profiled):
    files = [path for path in profiled.path.rglob("*") if path.is_file()]
    assert len(files) > 8
    for path in files:
        good = path.read_bytes()
        if not good:
            continue
        damage(path)
        result = call("fsck", "--format", "json")
        path.write_bytes(good)
        assert result.exit_code == 1
        assert found(result) == [("damaged", str(path.relative_to(profiled.path)))]


def test_missing_and_surplus_files_are_named(call, profiled, store):
    (profiled.path / "profiles" / "1" / "session-1.json").unlink()
    (profiled.path / "notes.txt").write_text("mine")
    (profiled.path / "profiles" / "again").mkdir()
    (store / "stray").write_text("")
    result = call("fsck", "--format", "json")
    assert result.exit_code == 1
    assert sorted(found(result)) == [
        ("missing", "profiles/1/session-1.json"),
        ("surplus", "notes.txt"),
        ("surplus", "profiles/again"),
        ("surplus", "stray"),
    ]


def test_what_a_killed_command_was_writing_into_a_run_is_no_finding_and_gc_removes_it(call, profiled):
    left = profiled.path / "profiles" / "1" / ".session-1.json.4711-c0ffee00"
    left.write_text('{"half')
    assert (call("fsck").exit_code, call("fsck", "--repair").exit_code) == (0, 0)
    assert call("gc", "--keep", "1").exit_code == 0
    assert not left.exists()


@pytest.mark.parametrize(
    ("file", "captures"),
    [
        ("profiles/1/summary-1.json", 1),
        ("profiles/1/session-1.json", 1),
        ("profiles/1/capture.log", 1),
        ("profiles/1/profile_exec_2.ntff", 2),
        ("profiles/1/out", 2),
        ("profiles/1/run.json", 2),
    ],
)
def test_a_repaired_run_is_made_again_and_no_more(call, profiled, store, tmp_path, file, captures):
    if not (profiled.path / file).stat().st_size:
        (profiled.path / file).write_bytes(b"x")
    damage(profiled.path / file)
    assert "set aside" in call("fsck", "--repair").stdout
    assert list((store / ".store" / "aside" / "1" / profiled.name).rglob(file.rsplit("/", 1)[-1]))
    assert call("profile").exit_code == 0
    assert len((tmp_path / "calls").read_text()) == captures
    assert call("fsck").exit_code == 0
    run = json.loads((profiled.path / "profiles" / "1" / "run.json").read_text())
    assert run["executions"][0]["session"] == "session-1.json"


@pytest.mark.parametrize("file", ["file.neff", "inp-x-000.bin", "case.json"])
def test_a_repaired_bundle_is_built_again_and_keeps_its_profiles(call, make_bundle, profiled, tmp_path, file):
    damage(profiled.path / file)
    assert "the next generate builds the case again" in call("fsck", "--repair", "--format", "json").stdout
    assert not (profiled.path / file).exists()
    make_bundle()
    assert call("fsck").exit_code == 0
    assert call("profile").exit_code == 0
    assert (tmp_path / "calls").read_text() == "x"


def test_old_runs_are_removed_but_not_the_one_of_the_row(call, profiled, faults, store):
    for _ in range(3):
        call("profile", "--force")
    faults("crash_before")
    call("profile", "--force")
    before = call("profile", "--parse-only", "--format", "json").stdout
    dry = call("gc", "--keep", "1", "--dry-run", "--format", "json")
    assert sorted(path.name for path in (profiled.path / "profiles").iterdir()) == ["1", "2", "3", "4", "5"]
    result = call("gc", "--keep", "1", "--format", "json")
    assert result.exit_code == 0
    assert result.stdout == dry.stdout
    assert [(record["run"], record["bytes"] > 1000) for record in json.loads(result.stdout)] == [
        ("1", True),
        ("2", True),
        ("3", True),
    ]
    assert sorted(path.name for path in (profiled.path / "profiles").iterdir()) == ["4", "5"]
    assert call("profile", "--parse-only", "--format", "json").stdout == before
    assert "0 runs of 0 cases removed: 0 bytes." in call("gc", "--keep", "1").stdout


def test_a_bundle_of_its_own_can_be_examined(call, profiled):
    damage(profiled.path / "file.neff")
    result = CliRunner().invoke(neff_bench, ["fsck", str(profiled.path)])
    assert result.exit_code == 1
    assert "file.neff" in result.stdout


@pytest.mark.parametrize("command", [["fsck"], ["gc", "--keep", "1"]])
def test_a_directory_that_is_no_store_is_a_wrong_call(tmp_path, command):
    result = CliRunner().invoke(neff_bench, [*command, str(tmp_path)])
    assert result.exit_code == 2
    assert "not a store" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_case_that_somebody_profiles_is_left_alone(call, profiled, store):
    from neff_bench.stage2_profile.capture import runs

    call("profile", "--force")
    damage(profiled.path / "profiles" / "1" / "run.json")
    with runs.locked(profiled.path):
        assert "another command works on it now" in call("fsck", "--repair", "--format", "json").stderr
        assert call("gc", "--keep", "1", "--format", "json").stdout.strip() == "[]"
    assert [bundle.name for bundle in Store(store).bundles()] == [profiled.name]
