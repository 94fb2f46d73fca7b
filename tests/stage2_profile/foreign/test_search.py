"""Directories that other tools left become rows."""

import importlib.util
import json
from pathlib import Path

import pytest

from neff_bench.stage2_profile.foreign.search import find_foreign


@pytest.fixture(scope="module")
def files():
    """The writers of small files that the tests of the readers use."""
    path = Path(__file__).resolve().parents[2] / "parsers" / "conftest.py"
    spec = importlib.util.spec_from_file_location("files_for_parsers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def put(tmp_path, files):
    """Writes a file of the kind its name tells; `program` is the number of the NEFF it belongs to."""

    def put_file(name, program=1, total=5_000_000, content=None):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        uuid = bytes([program]) * 16
        if content is not None:
            data = json.dumps(content).encode()
        elif name.endswith(".neff"):
            data = files.neff_of(files.neff_members(), uuid=uuid)
        else:
            data = files.ntff_of(uuid=uuid, total=total)
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
    assert find_foreign(tmp_path)[1].neff == tmp_path / "run/deep/file.neff"


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


def test_an_empty_tree_has_no_rows(tmp_path):
    assert find_foreign(tmp_path) == ()
