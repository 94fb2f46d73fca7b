"""Directories that other tools left become rows."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from neff_bench.stage2_profile.foreign.search import _slot, find_foreign
from neff_bench.stage2_profile.foreign.survey import ProfileFile


@pytest.fixture
def put(tmp_path, files):
    """Writes a file of the kind its name tells; `program` is the number of the NEFF it belongs to."""

    def put_file(name, program=1, total=5_000_000, content=None, execution=None):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        uuid = bytes([program]) * 16
        if content is not None:
            data = json.dumps(content).encode()
        elif name.endswith(".neff"):
            data = files.neff_of(files.neff_members(), uuid=uuid)
        else:
            # Executions that took equally long still differ in what they recorded.
            marks = [files.semaphore(1, 1, 1)] * (execution or sum(path.stem.encode()))
            data = files.ntff_of(uuid=uuid, total=total, semaphores=marks)
        path.write_bytes(data)
        return path

    return put_file


def detail(program=1, total_s=5e-6, ntff="x.ntff"):
    return {
        "summary": [{"total_time": total_s}],
        "neff_header": [{"uuid": bytes([program] * 16).hex()}],
        "profile_info": [{"ntff_filename": f"/somewhere/else/{ntff}"}],
        "instruction": [],
    }


def session(total_s=5e-6):
    return {"NeffNodes": [{"NodeInfo": {"Graphs": [{"NC": 0, "CycleCount": round(total_s * 1e12)}]}}]}


def row(case):
    """Names of the files of a row, in the order of its fields."""
    return [
        path and path.name for path in (case.neff, case.ntff, case.summary_json, case.detail_json, case.session_json)
    ]


def test_nki_library_test_output(tmp_path, put):
    """The NEFF lies above the inference directory; JSON is numbered by the position of its trace."""
    put("test/file.neff")
    for index, (name, total) in enumerate((("profile.ntff", 5_000_000), ("profile_exec_2.ntff", 4_000_000))):
        put(f"test/inference/{name}", total=total)
        put(f"test/inference/ntff_{index}.json", content={"n_" + "0" * 40: {"total_time": total / 1e12}})
        put(f"test/inference/ntff_detailed_{index}.json", content=detail(1, total / 1e12, name))
        put(f"test/inference/show_session_{index}.json", content=session(total / 1e12))
    put("test/info.json", content={"tool_version": "x"})
    first, second = find_foreign(tmp_path)
    assert row(first) == ["file.neff", "profile.ntff", "ntff_0.json", "ntff_detailed_0.json", "show_session_0.json"]
    assert row(second) == [
        "file.neff",
        "profile_exec_2.ntff",
        "ntff_1.json",
        "ntff_detailed_1.json",
        "show_session_1.json",
    ]
    assert (first.name, second.name) == ("test/inference/profile", "test/inference/profile_exec_2")
    assert (first.execution, second.execution, second.paired_by, second.problem) == (None, 2, "uuid", None)


def test_numbers_pair_executions_that_took_the_same_time(tmp_path, put):
    put("file.neff")
    for index, name in enumerate(("profile.ntff", "profile_exec_2.ntff")):
        put(name)
        put(f"ntff_{index}.json", content={"n_1": {"total_time": 5e-6}})
    assert [row(case)[1:3] for case in find_foreign(tmp_path)] == [
        ["profile.ntff", "ntff_0.json"],
        ["profile_exec_2.ntff", "ntff_1.json"],
    ]


def test_runtime_inspect_output_is_paired_by_uuid_among_many(tmp_path, put):
    for program in (1, 2, 3):
        put(f"i-abc_pid_7/neff_{program}0000000_vnc_0.neff", program)
        put(f"i-abc_pid_7/{program}0000000_instid_0_vnc_0.ntff", program)
    cases = find_foreign(tmp_path)
    assert [(case.neff.name[5], case.ntff.name[0], case.paired_by) for case in cases] == [(n, n, "uuid") for n in "123"]


def test_a_compile_cache_and_a_trace_workdir_are_rows_without_a_trace(tmp_path, put):
    put("neuronxcc-2.23/MODULE_123+abc/model.neff")
    put("neuronxcc-2.23/MODULE_123+abc/compile_flags.json", content=["--target=trn2"])
    put("work/graph.neff", 2)
    put("work/model/metadata.json", content={"model_files": "graph.hlo"})
    cases = find_foreign(tmp_path)
    assert [case.name for case in cases] == ["neuronxcc-2.23/MODULE_123+abc/model", "work/graph"]
    assert all(case.ntff is None and case.problem is None for case in cases)


def test_copies_of_a_neff_give_the_nearest(tmp_path, put):
    put("cache/model.neff")
    put("run/deep/file.neff")
    put("run/deep/p.ntff")
    (case,) = find_foreign(tmp_path)
    assert case.neff == tmp_path / "run/deep/file.neff"


def test_a_neff_of_another_program_is_not_taken(tmp_path, put):
    put("file.neff", 2)
    put("profile.ntff", 1)
    alone, trace = find_foreign(tmp_path)
    assert (trace.neff, trace.ntff.name) == (None, "profile.ntff") and "another program" in trace.problem
    assert alone.neff.name == "file.neff"


def test_a_json_of_another_execution_is_its_own_row(tmp_path, put):
    put("profile.ntff")
    put("ntff.json", content={"n_1": {"total_time": 9e-6}})
    assert [row(case)[1:3] for case in find_foreign(tmp_path)] == [[None, "ntff.json"], ["profile.ntff", None]]


def test_profiles_without_a_trace_share_a_row_and_find_their_neff(tmp_path, put):
    put("file.neff")
    put("ntff.json", content={"n_1": {"total_time": 5e-6}})
    put("ntff_detailed.json", content=detail())
    (case,) = find_foreign(tmp_path)
    assert row(case) == ["file.neff", None, "ntff.json", "ntff_detailed.json", None]


def test_unreadable_files_are_rows_with_a_problem(tmp_path, put, files):
    put("file.neff")
    (tmp_path / "session.ntff").write_bytes(bytes([129]) + bytes(200))
    (tmp_path / "bad.neff").write_bytes(b"x" * 3000)
    (tmp_path / "ntff.json").write_bytes(b'{"summary": [')
    (tmp_path / "notes.json").write_bytes(b"not json")
    problems = {case.name: case.problem for case in find_foreign(tmp_path)}
    assert "version 129 is not known" in problems["session"]
    assert "not a NEFF" in problems["bad"] and "truncated" in problems["ntff"]
    assert set(problems) == {"session", "bad", "ntff"} or problems["file"] is None


def test_our_own_bundles_links_and_hidden_directories_are_passed_over(tmp_path, put):
    put("store/case/file.neff")
    (tmp_path / "store/case/case.json").write_text("{}")
    put(".git/file.neff")
    outside = put("elsewhere/x.neff")
    (tmp_path / "linked").symlink_to(outside.parent)
    assert [case.name for case in find_foreign(tmp_path)] == ["elsewhere/x"]


def test_a_profile_below_its_trace_is_paired_by_the_name_that_it_states(tmp_path, put):
    put("file.neff")
    for number in range(1, 11):
        put(f"runs/{number}/profile_exec_2.ntff", total=5_000_000 + number, execution=number)
        put(
            f"runs/{number}/viewed/deep/out.json",
            content=detail(total_s=5e-6 + number * 1e-12, ntff="profile_exec_2.ntff"),
        )
    cases = find_foreign(tmp_path)
    assert len(cases) == 10
    assert all(case.detail_json == case.ntff.parent / "viewed/deep/out.json" for case in cases)


def test_copies_of_a_trace_and_of_its_profile_are_one_row(tmp_path, put):
    put("file.neff")
    for directory in ("a", "backup/a"):
        put(f"{directory}/file.neff")
        put(f"{directory}/profile.ntff")
        put(f"{directory}/ntff.json", content=detail(ntff="profile.ntff"))
    (case,) = find_foreign(tmp_path)
    assert row(case) == ["file.neff", "profile.ntff", None, "ntff.json", None]
    assert case.copies == (tmp_path / "backup/a/profile.ntff", tmp_path / "backup/a/ntff.json")


def test_a_profile_whose_uuid_is_no_uuid_costs_nothing_else(tmp_path, put):
    put("file.neff")
    put("profile.ntff")
    wrong = detail(ntff="profile.ntff")
    wrong["neff_header"][0]["uuid"] = "not hex"
    put("ntff.json", content=wrong)
    put("other.ntff", 2)
    assert [case.detail_json and case.detail_json.name for case in find_foreign(tmp_path)] == [None, "ntff.json"]


def test_json_that_is_no_profile_is_no_row(tmp_path, put):
    put("profile_names.json", content=["a", "b"])
    put("summary.json", content={"summary": "of the meeting"})
    put("summary_of_sales.json", content={"summary": [{"total": 3}], "rows": []})
    put("ntff_names.json", content={"summary": ["a"]})
    assert find_foreign(tmp_path) == ()


def test_a_directory_that_cannot_be_read_is_a_row_that_says_so(tmp_path, put):
    put("a/file.neff")
    closed = tmp_path / "closed"
    closed.mkdir()
    real = os.scandir

    def scandir(path):
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied", str(closed))
        return real(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", scandir)
        cases = {case.name: case.problem for case in find_foreign(tmp_path)}
    assert cases["a/file"] is None and "Permission denied" in cases["closed"]


def test_flat_directories_of_many_are_paired_by_name_and_number(tmp_path, put):
    """More than are compared one by one."""
    put("file.neff")
    count = 150
    for number in range(count):
        put(f"run_exec_{number}.ntff", total=5_000_000 + number, execution=number + 1)
        put(f"ntff_{number}.json", content=detail(total_s=(5_000_000 + number) / 1e12, ntff=f"run_exec_{number}.ntff"))
    cases = find_foreign(tmp_path)
    assert len(cases) == count
    assert all(case.detail_json.stem.removeprefix("ntff_") == str(case.execution) for case in cases)


def test_an_empty_tree_has_no_rows(tmp_path):
    assert find_foreign(tmp_path) == ()


def test_equal_durations_fall_into_one_slot_and_others_apart():
    def slot(time_s):
        return _slot(ProfileFile(Path("/a/p.json"), time_s and SimpleNamespace(total_time_s=time_s)))

    assert slot(1.0) == (Path("/a"), 0) == slot(None) and slot(2.0) == slot(2.0 * (1 + 1e-6))
    assert slot(1.001)[1] == 10 and slot(1.0001)[1] == 1


def test_a_copy_of_a_profile_without_a_trace_is_counted_once(tmp_path, put):
    content = {"n_1": {"total_time": 5e-6}}
    for name in ("a/ntff.json", "b/ntff.json"):
        put(name, content=content)
    put("c/ntff.json", content={"n_2": {"total_time": 5e-6}})
    cases = find_foreign(tmp_path)
    assert [(case.name, [path.parent.name for path in case.copies]) for case in cases] == [
        ("a/ntff", ["b"]),
        ("c/ntff", []),
    ]


def test_a_summary_a_profile_and_a_session_of_one_duration_share_a_row(tmp_path, put):
    put("r/ntff.json", content={"n_1": {"total_time": 5e-6}})
    put("r/ntff_detailed.json", content=detail(total_s=5e-6 * (1 + 5e-5)))
    put("r/show_session.json", content=session())
    put("r/ntff_2.json", content={"n_1": {"total_time": 5e-6 * (1 + 3e-4)}})
    put("s/ntff.json", content={"n_1": {"total_time": 5.1e-6}})
    found = {case.name: row(case) for case in find_foreign(tmp_path)}
    assert [None, None, "ntff.json", "ntff_detailed.json", "show_session.json"] in found.values() and len(found) == 3


def test_a_neff_that_was_copied_has_one_row(tmp_path, put):
    put("a/x.neff")
    put("b/y.neff")
    put("c/z.neff", 2)
    assert [case.name for case in find_foreign(tmp_path)] == ["a/x", "c/z"]
    put("c/t.ntff", 1)
    assert [(case.name, case.neff.name) for case in find_foreign(tmp_path)] == [("c/t", "x.neff"), ("c/z", "z.neff")]


def test_names_keep_the_kind_of_the_file_where_two_would_be_one(tmp_path, put):
    put("a/x.neff", 3)
    put("a/x.ntff", 1)
    put("b/y.ntff", 1)
    assert [case.name for case in find_foreign(tmp_path)] == ["a/x.neff", "a/x.ntff", "b/y"]


def test_a_neff_without_a_uuid_is_no_copy_of_another(tmp_path, put):
    put("a/x.neff", 0)
    put("a/x.ntff", 9)
    put("b/y.neff", 0)
    assert [(case.name, case.paired_by, case.neff.name) for case in find_foreign(tmp_path)] == [
        ("a/x", "name", "x.neff"),
        ("b/y", "", "y.neff"),
    ]
