"""What becomes of the calls of a tool that views a trace."""

import json
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest

from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.capture.conditions import Conditions
from neff_bench.stage2_profile.capture.process import Finished
from neff_bench.stage2_profile.capture.tools import Tool
from neff_bench.stage2_profile.errors import ToolMissing, ViewFailed
from neff_bench.stage2_profile.view import profile_view
from neff_bench.stage2_profile.view.profile_view import (
    Step,
    Viewer,
    _is_good,
    _kind,
    _whole_forms,
    _written,
    calls_of_case,
    view,
    view_detail,
    view_system_trace,
    what_is_wrong,
)
from tests.stage2_profile.capture.test_runs import RUN

EXPLORER = Tool("neuron-explorer", ("neuron-explorer",), "2.33.0", "neuron")
SUMMARY = json.dumps({"summary": [{"total_time": 1e-4}]})
VIEW, SESSION, DETAIL = (
    Step("view", [], "v.log", "s.json"),
    Step("show-session", [], "e.log", "e.json"),
    Step("view", [], "d.log"),
)


def done(exit_code=0, out="", err="", **more):
    return Finished(exit_code, 1.0, out.encode(), err.encode(), **more)


@pytest.mark.parametrize(
    ("step", "ended", "wrong"),
    [
        (VIEW, done(out=SUMMARY), None), (VIEW, done(out="{}"), "its output is not the JSON"), (VIEW, done(out='{"summary": [{"x": 1}]}'), "its summary has no total_time"),
        (VIEW, done(out="x"), "its output is not the JSON"), (SESSION, done(out='log line\n{"a": 1}'), None), (SESSION, done(out="{"), "its output is not the JSON"), (DETAIL, done(out="x"), None),
        (VIEW, done(3, SUMMARY, "a\nb"), "exit code 3: b"), (VIEW, done(timed_out=True), "no answer in 9 s, ended"), (VIEW, done(stopped=True, err="error"), "interrupted"),
        (VIEW, done(overflowed=True), "printed more than the limit, ended"), (DETAIL, done(139, err=""), "killed by SIGSEGV: it printed nothing"),
    ],
)  # fmt: skip
def test_an_answer_is_of_use_where_it_is_what_was_asked_for(step, ended, wrong):
    found = what_is_wrong(step, ended, 9.0)
    assert (found is None) == (wrong is None) and (wrong is None or found.startswith(wrong))


@pytest.fixture
def viewer(tmp_path, monkeypatch, settings):
    """A viewer whose tool answers this in turn; `asked` holds the words of its calls."""

    def make(*answers, tool=EXPLORER, **changes):
        left, asked = iter(answers), []

        def run(argv, cwd, env, limits, hold, warm):
            asked.append((argv, cwd, limits.stdout_limit, hold))
            answer = next(left)
            return answer(cwd, argv) if callable(answer) else answer

        monkeypatch.setattr(profile_view, "run", run)
        made = Viewer(tmp_path, tool, settings(**changes), (5,), [])
        return made, asked

    return make


def test_a_step_leaves_its_answer_its_log_and_a_record(viewer, tmp_path):
    one, asked = viewer(done(out=SUMMARY, err="told"))
    one.call(replace(VIEW, argv=["t", "view"]))
    assert (tmp_path / "s.json").read_text() == SUMMARY and (tmp_path / "v.log").read_text() == "told"
    assert asked == [(["neuron-explorer", "view"], tmp_path, 64 * 2**20, (5,))]
    assert [(each.step, each.argv, each.log, each.exit_code) for each in one.commands] == [
        ("view", ("t", "view"), "v.log", 0)
    ]


def test_a_step_that_fails_is_tried_twice(viewer, tmp_path):
    one, asked = viewer(done(3), done(out=SUMMARY))
    one.call(VIEW)
    assert len(asked) == len(one.commands) == 2
    one, asked = viewer(done(3, err="a"), done(3, err="b"))
    with pytest.raises(ViewFailed, match="neuron-explorer view: exit code 3: b") as caught:
        one.call(VIEW)
    assert (len(asked), caught.value.trace_may_be_good, caught.value.format_gone) == (2, False, False)


@pytest.mark.parametrize("ended", [{"timed_out": True}, {"stopped": True}])
def test_a_step_that_was_ended_says_nothing_of_its_trace(viewer, ended):
    one, asked = viewer(done(**ended))
    with pytest.raises(ViewFailed) as caught:
        one.call(VIEW)
    assert caught.value.trace_may_be_good and len(asked) == 1


def traced(bundle, tmp_path, *executions, **changes):
    for each in executions:
        (tmp_path / each.ntff).write_bytes(b"trace")
    run = msgspec.structs.replace(RUN, status="captured", executions=executions, **changes)
    return runs.with_files(tmp_path, run, [each.ntff for each in executions])


FIRST, SECOND = (runs.Execution(rank=0, execution=number, ntff=f"{number}.ntff") for number in (2, 4))
GOOD = [done(out=SUMMARY), done(out="{}")]


def viewed(viewer, make_bundle, tmp_path, answers, *executions, tool=EXPLORER, **changes):
    made, asked = viewer(*answers, tool=tool)
    bundle = make_bundle()
    record = view(bundle, tmp_path, traced(bundle, tmp_path, *executions, **changes), tool, made.options, ())
    assert runs.read_run(tmp_path) == record
    return record, [argv for argv, *_ in asked]


def test_every_trace_gets_a_summary_and_a_session(viewer, make_bundle, tmp_path):
    record, asked = viewed(viewer, make_bundle, tmp_path, GOOD * 2, FIRST, SECOND, conditions=Conditions())
    assert [(each.summary, each.session) for each in record.executions] == [
        ("summary-1.json", "session-1.json"),
        ("summary-2.json", "session-2.json"),
    ]
    assert (record.status, record.reason, record.warnings, record.conditions.throttling) == ("viewed", None, (), {})
    assert [argv[1] for argv in asked] == ["view", "show-session"] * 2 and asked[0][2:6] == [
        "-n",
        "../../file.neff",
        "-s",
        "2.ntff",
    ]
    assert set(record.files) == {
        "2.ntff",
        "4.ntff",
        *(
            f"{kind}-{n}.{form}"
            for n in (1, 2)
            for kind, form in (("summary", "json"), ("session", "json"), ("view", "log"), ("session", "log"))
        ),
    }


def test_what_is_there_is_kept(viewer, make_bundle, tmp_path):
    (tmp_path / "summary-1.json").write_text(SUMMARY)
    whole = msgspec.structs.replace(FIRST, summary="summary-1.json", session="session-1.json")
    half = msgspec.structs.replace(SECOND, summary="summary-1.json")
    record, asked = viewed(viewer, make_bundle, tmp_path, [done(out="{}")], whole, half)
    assert (
        [argv[1] for argv in asked] == ["show-session"]
        and record.executions[0] == whole
        and record.executions[1].session == "session-2.json"
    )


@pytest.mark.parametrize(("answers", "status"), [([done(3), done(3)], "failed"), ([done(timed_out=True)], "captured")])
def test_a_trace_that_cannot_be_viewed_fails_the_run_unless_the_tool_was_ended(
    viewer, make_bundle, tmp_path, answers, status
):
    record, _ = viewed(viewer, make_bundle, tmp_path, [*GOOD, *answers], FIRST, SECOND)
    assert (record.status, [each.summary for each in record.executions]) == (status, ["summary-1.json", None])
    assert record.reason.startswith("neuron-explorer view: ")


def test_a_session_that_cannot_be_shown_is_a_warning(viewer, make_bundle, tmp_path):
    record, _ = viewed(
        viewer, make_bundle, tmp_path, [GOOD[0], done(3), done(3), *GOOD], FIRST, SECOND, warnings=("w",)
    )
    assert (record.status, [each.session for each in record.executions]) == ("viewed", [None, "session-2.json"])
    assert record.warnings == ("w", "neuron-explorer show-session: exit code 3: it printed nothing")


def test_a_tool_of_another_kind_views_nothing(viewer, make_bundle, tmp_path):
    simulator = Tool("neuron-sim", ("neuron-sim",), "0.1", "sim")
    for step in (view, view_detail):
        with pytest.raises(ToolMissing, match="captured by neuron-profile, which neuron-sim cannot view"):
            step(make_bundle(), tmp_path, traced(make_bundle(), tmp_path, FIRST), simulator, viewer()[0].options, ())


@pytest.mark.parametrize(
    ("tool", "pyarrow", "forms"),
    [
        (Tool("neuron-sim", (), "0.1", "sim"), True, ["json"]), (EXPLORER, True, ["parquet", "json"]), (EXPLORER, False, ["json", "parquet"]),
        (Tool("neuron-profile", (), "2.29.0", "neuron"), True, ["json"]),
    ],
)  # fmt: skip
def test_the_whole_profile_is_asked_for_in_the_forms_that_the_tool_writes(monkeypatch, tool, pyarrow, forms):
    monkeypatch.setattr(profile_view, "find_spec", lambda name: pyarrow or None)
    assert _whole_forms(tool) == forms


def test_the_whole_profile_is_made_once(viewer, make_bundle, tmp_path, monkeypatch):
    monkeypatch.setattr(profile_view, "find_spec", lambda name: None)
    whole = {"summary": [{"total_time": 1e-5}], "metadata": [{}], "instruction": [], "dma": []}

    def write(cwd, argv):
        (cwd / "profile-2.json").write_text(json.dumps(whole))
        return done(err="told")

    made, asked = viewer(write)
    bundle = make_bundle()
    record = traced(bundle, tmp_path, FIRST, SECOND)
    stale = msgspec.structs.replace(record, files={**record.files, "profile-2.json/old": None, "profile-2.jsonx": None})
    found = view_detail(bundle, tmp_path, stale, EXPLORER, made.options, ())
    assert [each.detail for each in found.executions] == [None, "profile-2.json"] and len(asked) == 1
    assert set(found.files) == {*record.files, "profile-2.json", "profile-2-json.log", "profile-2.jsonx"}
    assert view_detail(bundle, tmp_path, found, EXPLORER, made.options, ()) is found
    assert _is_good(tmp_path, found, "profile-2.json") and not _is_good(tmp_path, found, "none")
    (tmp_path / "profile-2.json").write_text("{}")
    assert not _is_good(tmp_path, found, "profile-2.json")
    (tmp_path / "profile-2.json").unlink()
    none, asked = viewer(done(), done())
    with pytest.raises(ViewFailed, match="json: neuron-explorer view wrote no profile-2.json; parquet: "):
        view_detail(bundle, tmp_path, record, EXPLORER, none.options, ())
    ended, asked = viewer(done(timed_out=True))
    with pytest.raises(ViewFailed, match="^neuron-explorer view: no answer"):
        view_detail(bundle, tmp_path, record, EXPLORER, ended.options, ())


def test_what_was_made_between_two_records_is_written_down():
    before = msgspec.structs.replace(RUN, executions=(FIRST, SECOND))
    called = runs.called("view", [], {}, done(), "new.log")
    new = (msgspec.structs.replace(FIRST, summary="s", session="e"), msgspec.structs.replace(SECOND, summary="t"))
    after = msgspec.structs.replace(before, executions=new, commands=(called,))
    assert _written(before, after) == ["new.log", "s", "e", "t"] and _written(after, after) == []


def test_a_file_that_is_no_profile_has_no_kind(tmp_path):
    (tmp_path / "x").write_text("text")
    assert _kind(tmp_path / "x") is None and _kind(tmp_path / "none") is None


def test_a_system_trace_is_taken_wherever_the_tool_wrote_it(viewer, tmp_path, monkeypatch):
    monkeypatch.setattr(profile_view, "read_system", lambda path: path.stat())
    (tmp_path / "system").mkdir()
    for place in ("system-trace.json", "system_profile.json", "system/system_profile.json"):
        one, asked = viewer(lambda cwd, argv, place=place: (cwd / place).write_text(place) and done())
        assert view_system_trace(one) == "system-trace.json" and len(asked) == 1
        assert (tmp_path / "system-trace.json").read_text() == place
        (tmp_path / "system-trace.json").unlink()
    one, asked = viewer(done(), lambda cwd, argv: (cwd / "system-trace.parquet").write_text("x") and done())
    assert view_system_trace(one) == "system-trace.parquet" and len(asked) == 2
    (tmp_path / "system-trace.parquet").unlink()
    one, _ = viewer(done(3, err="a"), done(3, err="b"), done())
    with pytest.raises(
        ViewFailed,
        match="no system trace: neuron-explorer systrace: exit code 3: b; neuron-explorer view: .*No such file",
    ):
        view_system_trace(one)


def test_a_run_with_a_system_trace_records_it_and_one_that_cannot_be_viewed_is_a_warning(
    viewer, make_bundle, tmp_path, monkeypatch
):
    (tmp_path / "system").mkdir()

    def trace(found):
        (tmp_path / "system-trace.json").write_text("{}")
        return "system-trace.json"

    monkeypatch.setattr(profile_view, "view_system_trace", trace)
    record, _ = viewed(viewer, make_bundle, tmp_path, GOOD, FIRST)
    assert record.system_trace == "system-trace.json" and "system-trace.json" in record.files
    record, _ = viewed(viewer, make_bundle, tmp_path, [done(3), done(3)], FIRST)
    assert record.system_trace is None

    def broken(found):
        raise ViewFailed("no system trace: x")

    monkeypatch.setattr(profile_view, "view_system_trace", broken)
    record, _ = viewed(viewer, make_bundle, tmp_path, GOOD, FIRST)
    assert (record.status, record.warnings, record.system_trace) == ("viewed", ("no system trace: x",), None)
    record, _ = viewed(viewer, make_bundle, tmp_path, GOOD, FIRST, system_trace="kept")
    assert (record.system_trace, record.warnings) == ("kept", ())


def test_the_case_is_the_neff_that_ran_most_often():
    calls = [SimpleNamespace(durations_us=[1.0] * count) for count in (1, 3, 2)]
    assert calls_of_case(SimpleNamespace(calls=calls)) is calls[1]
