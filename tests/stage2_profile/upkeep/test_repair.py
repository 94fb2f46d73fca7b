"""What is set aside, and what of a run stays."""

import msgspec
import pytest

from neff_bench.neffs.errors import StoreError
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.upkeep.fsck import Finding
from neff_bench.stage2_profile.upkeep.repair import new_aside, repair, without_files
from tests.stage2_profile.capture.test_runs import RUN


def test_each_repair_has_the_next_number(tmp_path):
    assert [new_aside(tmp_path).name for _ in range(2)] == ["1", "2"]
    (tmp_path / ".store" / "aside" / "9").mkdir()
    (tmp_path / ".store" / "aside" / "notes").mkdir()
    assert new_aside(tmp_path) == tmp_path / ".store" / "aside" / "10"
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot set files aside: Not a directory"):
        new_aside(tmp_path / "file")


@pytest.fixture
def case(tmp_path):
    """A store with a case of one run, of which everything was made."""
    with runs.locked(made := tmp_path / "c") if (tmp_path / "c").mkdir() is None else None:
        work = runs.new_work(made)
        for name in ("2.ntff", "out", "summary-1.json", "session-1.json", "tables/a"):
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_bytes(b"1")
        execution = runs.Execution(
            rank=0, execution=2, ntff="2.ntff", summary="summary-1.json", session="session-1.json", detail="tables"
        )
        runs.publish(work, msgspec.structs.replace(RUN, outputs={"out": "out"}, executions=(execution,)))
    return tmp_path


def finding(file, problem="damaged", run="1", case="c"):
    return Finding(case, run, file, problem, "w")


@pytest.mark.parametrize("file", ["2.ntff", "out"])
def test_a_run_whose_trace_or_output_is_damaged_moves_whole(case, file):
    aside = case / "aside"
    found = [finding(f"c/profiles/1/{file}"), finding("c/profiles/1/summary-1.json")]
    assert repair(case, aside, found) == dict.fromkeys(
        found, "the run is set aside; the next profile captures the case again"
    )
    assert not (case / "c/profiles/1").exists() and (aside / "c/profiles/1" / file).exists()


def test_a_run_without_a_record_moves_whole(case):
    (case / "c/profiles/1/run.json").write_bytes(b"{")
    repair(case, case / "aside", [finding("c/profiles/1/run.json")])
    assert (case / "aside/c/profiles/1/out").exists()


def test_what_a_view_made_moves_alone_and_what_is_surplus_too(case):
    for name in ("mine", "out"):
        (case / "c/profiles/1" / name).write_bytes(b"1")
    found = [
        finding("c/profiles/1/summary-1.json"),
        finding("c/profiles/1/session-1.json", "missing"),
        finding("c/profiles/1/mine", "surplus"),
    ]
    (case / "c/profiles/1/session-1.json").unlink()
    again = "set aside; the next profile views the trace again"
    assert list(repair(case, case / "aside", found).values()) == [again, again, "set aside"]
    run = runs.read_run(case / "c/profiles/1")
    assert (run.status, run.executions[0].summary, run.executions[0].session, run.executions[0].detail) == (
        "captured",
        None,
        None,
        "tables",
    )
    assert set(run.files) == {"2.ntff", "out", "tables/a"} and (case / "aside/c/profiles/1/mine").exists()


def test_files_of_a_bundle_move_alone(case):
    for name in ("case.json", "notes"):
        (case / "c" / name).write_bytes(b"1")
    (case / "stray").write_bytes(b"1")
    found = [
        finding("c/case.json", run=None), finding("c/gone", "missing", None), finding("c/shut", "unreadable", None), finding("c/notes", "surplus", None), finding("stray", "surplus", None, None),
    ]  # fmt: skip
    build = "the next generate builds the case again"
    assert list(repair(case, case / "aside", found).values()) == [
        f"set aside; {build}",
        build,
        "left as it is; make it readable",
        "set aside",
        "set aside",
    ]
    assert (case / "aside/c/case.json").exists() and (case / "aside/stray").exists() and not (case / "c/notes").exists()
    lost = finding("c/never", run=None)
    with pytest.raises(StoreError, match="never: cannot set files aside: No such file"):
        repair(case, case / "aside", [lost])


EXECUTION = runs.Execution(rank=0, execution=2, ntff="2.ntff", summary="s", session="e", detail="d")


@pytest.mark.parametrize(
    ("lost", "left", "status"),
    [
        ((), ("s", "e", "d"), "viewed"), (("s",), (None, "e", "d"), "captured"), (("e",), ("s", None, "d"), "captured"), (("d",), ("s", "e", None), "viewed"), (("d/a", "x"), ("s", "e", None), "viewed"),
        (("da",), ("s", "e", "d"), "viewed"),
    ],
)  # fmt: skip
def test_a_run_that_lost_what_its_numbers_come_from_is_viewed_again(lost, left, status):
    run = msgspec.structs.replace(RUN, executions=(EXECUTION,), files=dict.fromkeys(("s", "d/a"), None))
    found = without_files(run, lost)
    assert (found.executions[0].summary, found.executions[0].session, found.executions[0].detail) == left
    assert found.status == status and set(found.files) == {"s", "d/a"} - set(lost)
    assert without_files(msgspec.structs.replace(run, status="failed"), ["s"]).status == "failed"
