"""What of a directory is chosen, shown and told, without a capture."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from neff_bench.errors import WrongCall
from neff_bench.neffs.errors import BundleError
from neff_bench.stage2_profile import directory
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.capture.tools import Tool
from neff_bench.stage2_profile.directory import (
    chosen_entries,
    commands_text,
    detail_path,
    find_entries,
    hot_spots,
    profile_directory,
    profile_files,
    selected,
    store_of,
)
from neff_bench.stage2_profile.foreign.search import ForeignCase
from neff_bench.stage2_profile.metrics.rows import Row
from neff_bench.stage2_profile.options import Options
from neff_bench.system.shard import Shard
from tests.stage2_profile.capture.test_runs import publish


def test_entries_come_by_case_with_numbers_as_numbers_and_what_cannot_be_read_last(make_bundle, make_case, store):
    for name in ("b", "a"):
        make_bundle(make_case(kernel=name))
    bundles = [*find_entries(store)]
    foreign = [ForeignCase(name) for name in ("x10", "x9", "x")]
    wrong = BundleError(store / "damaged", "torn")
    found = sorted([*foreign, wrong, *bundles], key=directory._order)
    assert [entry.name for entry in found][2:] == ["damaged", "x", "x9", "x10"] and found[:2] == bundles
    assert [entry.manifest.case.kernel for entry in bundles] == ["a", "b"]


@pytest.mark.parametrize(
    ("only", "skip", "names"),
    [((), (), ["x1", "x2", "y"]), (("x*",), (), ["x1", "x2"]), ((), ("x*",), ["y"]), (("x*",), ("x1",), ["x2"]), (("x1", "y"), (), ["x1", "y"]), (("z",), (), [])],
)  # fmt: skip
def test_globs_choose_entries_by_name(only, skip, names):
    assert [entry.name for entry in selected(map(ForeignCase, ("x1", "x2", "y")), only, skip)] == names


def test_a_bundle_is_chosen_by_its_kernel_too(make_bundle):
    bundle = make_bundle()
    assert selected([bundle], [bundle.manifest.case.kernel], []) == [bundle] == selected([bundle], [bundle.name], [])
    assert selected([bundle], [], [bundle.manifest.case.kernel]) == []


@pytest.mark.parametrize(
    ("files", "given", "says"),
    [
        ((), {}, "no bundle and no profile; generate-neffs makes them"),
        (("a.neff", "b.neff"), {"only": ("c",)}, "no bundle and no profile that --only and --skip leave; there is a, b"),
        (("kernel.neff",), {"only": ("kernal",)}, "no bundle and no profile that --only and --skip leave; did you mean kernel?; there is kernel"),
    ],
)  # fmt: skip
def test_a_directory_of_which_nothing_is_left_says_what_there_is(tmp_path, files_of, files, given, says):
    for name in files:
        files_of(tmp_path / name)
    with pytest.raises(WrongCall) as error:
        chosen_entries(Options(directory=tmp_path, **given))
    assert str(error.value) == f"{tmp_path}: {says}"


@pytest.fixture
def files_of():
    from tests.parsers import small_files

    def write(path):
        """A NEFF that no other is a copy of."""
        path.write_bytes(small_files.neff_of(small_files.neff_members(), uuid=path.stem.encode().ljust(16, b"x")))

    return write


def test_a_shard_has_its_part_and_may_be_empty(tmp_path, files_of, capsys):
    for name in ("a.neff", "b.neff", "c.neff"):
        files_of(tmp_path / name)
    parts = [chosen_entries(Options(directory=tmp_path, shard=Shard(number, 2))) for number in (1, 2)]
    assert sorted(entry.name for part in parts for entry in part) == ["a", "b", "c"]
    one = [chosen_entries(Options(directory=tmp_path, only=("a",), shard=Shard(number, 2))) for number in (1, 2)]
    assert sorted(map(len, one)) == [0, 1] and "has no case" in capsys.readouterr().err


def test_the_store_of_a_bundle_is_the_directory_above(make_bundle, store):
    bundle = make_bundle()
    assert store_of(bundle.path) == store == store_of(store)


def test_commands_are_shell_lines_with_one_step_each(tmp_path):
    rows = [Row(case="a", status="profiled", command="cd x && y && z"), Row(case="b", status="failed")]
    head, *lines = commands_text(tmp_path, rows).split("\n")
    assert head == f"cd {tmp_path}" and lines == [
        "",
        "# a: profiled",
        "cd x &&",
        "  y &&",
        "  z",
        "",
        "# b: failed",
        "# no profile",
        "",
    ]


def everything(event):
    return True


def test_a_row_without_a_whole_profile_says_why_it_has_no_hot_lines():
    case = ForeignCase("c")
    for row, said in (
        (Row(case="c", status="failed", reason="broke"), "broke"), (Row(case="c", status="unprofiled"), "unprofiled"),
        (Row(case="c", status="profiled"), "no whole profile; run profile-neffs --hot where the profiler is"),
    ):  # fmt: skip
        assert hot_spots(case, row, everything, 3).problem == said
    damaged = ForeignCase("c", detail_json=Path("/none.json"))
    assert "none.json" in hot_spots(damaged, Row(case="c", status="profiled"), everything, 3).problem


def test_the_whole_profile_of_a_case_from_elsewhere_is_its_json_its_tables_or_its_trace(tmp_path):
    tables, trace, detail, summary = tmp_path / "tables", Path("t.ntff"), Path("d.json"), Path("s.json")
    tables.mkdir()
    assert detail_path(ForeignCase("c", ntff=trace, summary_json=tables, detail_json=detail), None) == detail
    assert detail_path(ForeignCase("c", ntff=trace, summary_json=tables), None) == tables
    assert detail_path(ForeignCase("c", ntff=trace, summary_json=summary), None) == trace
    assert detail_path(ForeignCase("c"), None) is None
    found = profile_files(ForeignCase("c", ntff=trace, neff=Path("n.neff")), None)
    assert (found.profile, found.trace, found.neff, found.problem) == (trace, trace, Path("n.neff"), None)


def test_a_bundle_without_a_profile_says_so(make_bundle):
    assert profile_files(make_bundle(), None).problem == "it has no profile"
    assert "0001" in profile_files(make_bundle(), "0001").problem
    wrong = BundleError(Path("b"), "torn")
    assert profile_files(wrong, None).problem == str(wrong)


@pytest.mark.parametrize(
    ("jobs", "cores", "cpus", "shared"),
    [(None, None, 8, (8, 1)), (None, (0, 1), 8, (8, 1)), (None, range(9), 8, (9, 1)), (3, range(9), 8, (3, 2)), (1, None, 8, (1, 8)), (9, None, 2, (9, 1))],
)  # fmt: skip
def test_cpus_are_shared_among_the_bundles_that_are_profiled_at_a_time(jobs, cores, cpus, shared):
    assert directory.shares(jobs, cores, cpus) == shared


@pytest.mark.parametrize(
    ("given", "count", "alone"),
    [
        ({}, 21, True), ({}, 20, False), ({"only": ("a",)}, 21, False), ({"ray": "auto"}, 21, False), ({"output": Path("x.csv")}, 21, False), ({"output": None}, 21, False),
    ],
)  # fmt: skip
def test_a_page_of_more_than_twenty_cases_that_nobody_named_has_the_slowest(given, count, alone):
    assert directory.slowest_alone(Options(**{"output": Path("x.html"), **given}), count) == alone


@pytest.mark.parametrize(
    ("toolchain", "given", "profiler", "kinds"),
    [
        ("auto", {}, True, ["sim", "neuron"]), ("auto", {}, False, ["sim"]), ("sim", {}, True, ["sim"]), ("neuron", {}, False, ["neuron"]),
        ("auto", {"parse_only": True}, True, []), ("auto", {"view_only": True}, True, []), ("neuron", {"capture_only": True}, False, ["neuron"]),
    ],
)  # fmt: skip
def test_a_neff_without_a_bundle_is_captured_by_the_tools_that_are_asked_for(toolchain, given, profiler, kinds):
    assert directory.captured_by(Options(toolchain=toolchain, **given), lambda: profiler) == kinds


def test_bundles_that_were_built_are_told_from_all_else(make_bundle, make_case):
    good, bad = make_bundle(), make_bundle(make_case(kernel="bad"))
    bad = replace(bad, manifest=replace(bad.manifest, status="failed"))
    assert directory.built([bad, ForeignCase("c"), good, BundleError(Path("b"), "torn")]) == [good]


def test_names_begin_with_numbers_as_numbers_and_what_is_no_bundle_comes_behind(make_bundle):
    names = ["10", "9", "x", "9a"]
    assert sorted(names, key=lambda name: directory._order(ForeignCase(name))) == ["9", "9a", "10", "x"]
    assert directory._order(make_bundle())[0] == 0 and directory._order(ForeignCase("c"))[0] == 1


TRACED = {"status": "viewed", "executions": (runs.Execution(rank=0, execution=2, ntff="2.ntff", detail="detail.json"),)}


def test_the_files_of_a_row_are_those_of_its_run_and_of_the_execution_that_is_shown(make_bundle, monkeypatch):
    bundle = make_bundle()
    for place, files in ((0, {"detail.json": b"{}"}), (None, {})):
        monkeypatch.setattr(directory, "shown_execution", lambda path, record, place=place: place)
        path = publish(bundle.path, **TRACED)
        run = runs.read_run(path)
        for name, data in files.items():
            (path / name).write_bytes(data)
            runs.write_run(path, runs.with_files(path, run, [name]))
        found = profile_files(bundle, path.name)
        whole, trace = (path / "detail.json", path / "2.ntff") if place == 0 else (None, None)
        assert (found.profile, found.trace, found.neff, found.bundle) == (whole, trace, bundle.neff_path, bundle.path)
        assert detail_path(bundle, path.name) == whole
    monkeypatch.setattr(directory, "shown_execution", lambda path, record: 0)
    plain = publish(bundle.path, status="viewed", executions=(runs.Execution(rank=0, execution=2, ntff="2.ntff"),))
    assert profile_files(bundle, plain.name).profile == plain / "2.ntff" and detail_path(bundle, plain.name) is None
    lost = publish(bundle.path, **TRACED)
    assert "detail.json" in profile_files(bundle, lost.name).problem


@pytest.mark.parametrize(
    ("source", "suffix", "neff", "reader"),
    [
        ("simulated", "ntff", "n.neff", "simulated"),
        ("measured", "ntff", "n.neff", "read"),
        ("simulated", "json", "n.neff", "read"),
        ("simulated", "ntff", None, "read"),
    ],
)
def test_a_simulated_trace_with_its_neff_is_read_by_its_program(monkeypatch, source, suffix, neff, reader):
    asked = []
    for name in ("simulated_events", "read_events"):
        monkeypatch.setattr(directory, name, lambda *files, name=name: asked.append((name, *files)) or [])
    path, neff = Path(f"p.{suffix}"), neff and Path(neff)
    entry = ForeignCase("c", neff=neff, **({"ntff": path} if suffix == "ntff" else {"detail_json": path}))
    found = hot_spots(entry, Row(case="c", status="profiled", source=source), everything, 3)
    assert asked == [(f"{reader}_events", path, neff)] and found.problem is None


@pytest.mark.parametrize(
    ("kind", "name", "version", "steps", "slow", "says"),
    [
        ("neuron", "neuron-explorer", "2.33.1", {}, "slow", ["profiling with neuron-explorer 2.33.1"]), ("sim", "neuron-sim", "0.1", {}, None, ["profiling with neuron-sim 0.1 (simulated)"]),
        ("sim", "neuron-sim", "0.1", {}, "slow", ["profiling with neuron-sim 0.1 (simulated)", "slow"]), ("neuron", "nrtpy", "9.9", {}, None, ["profiling with nrtpy 9.9"]),
        ("neuron", "neuron-explorer", "2.33.1", {"view_only": True}, None, ["reading profiles with neuron-explorer 2.33.1"]),
        ("neuron", "neuron-explorer", "9.9", {}, None, ["profiling with neuron-explorer 9.9", "neuron-explorer 9.9 is of no known release of the SDK; taken for 2.34"]),
    ],
)  # fmt: skip
def test_the_chosen_tool_is_said_with_what_is_odd_about_it(monkeypatch, kind, name, version, steps, slow, says):
    said = []
    monkeypatch.setattr(directory, "notice", said.append)
    monkeypatch.setattr(directory, "slow_notice", lambda: slow)
    monkeypatch.setattr(directory, "find_tool", lambda kind, options, warm: Tool(name, (), version, kind))
    tools = directory.chosen_tools([kind], Options(**steps))
    assert said == says and tools[kind].name == name and isinstance(tools["sim" if kind == "neuron" else "neuron"], str)


def test_rows_of_an_earlier_call_hold_for_the_same_question(tmp_path):
    def asked(**changes):
        tools = changes.pop("tools", {"sim": Tool("neuron-sim", (), "1", "sim"), "neuron": "none"})
        return directory.known_rows(tmp_path, tools, Options(**changes))._rows._maker

    def same(**changes):
        return asked(**changes) == asked()

    assert same()
    for changes in (
        {"num_exec": 5},
        {"captures": 3},
        {"until": "1%"},
        {"capture_only": True},
        {"tools": {"sim": Tool("neuron-sim", (), "2", "sim")}},
    ):
        assert not same(**changes)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"output": Path("x.html"), "hot": 3}, "--output x.html: a page has all lines; --hot, --search and --show-commands make none"),
        ({"output": Path("x.html"), "show_commands": True}, "--output x.html: a page has all lines; --hot, --search and --show-commands make none"),
        ({"tool": "nrtpy", "hot": 3}, "--tool nrtpy leaves no trace: no page, no --hot and no --search; leave it out for these"),
        ({"tool": "nrtpy", "output": Path("x.html")}, "--tool nrtpy leaves no trace: no page, no --hot and no --search; leave it out for these"),
    ],
)  # fmt: skip
def test_answers_that_exclude_each_other_are_a_wrong_call(given, says):
    with pytest.raises(WrongCall) as error:
        profile_directory(Options(directory=Path("none"), **given))
    assert str(error.value) == says


@pytest.mark.parametrize(
    ("statuses", "code", "said"), [(("profiled",), 0, ""), (("profiled", "failed"), 1, "1 of 2 failed")]
)
def test_a_failed_row_is_exit_code_one(monkeypatch, capsys, statuses, code, said):
    rows = [Row(case="c", status=status) for status in statuses]
    monkeypatch.setattr(directory, "profiled_rows", lambda options: ([SimpleNamespace()] * len(rows), rows))
    assert profile_directory(Options(format_="csv")) == code
    assert said in capsys.readouterr().err
