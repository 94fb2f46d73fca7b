"""The options of profile-neffs as they travel."""

import pickle
from dataclasses import replace
from pathlib import Path

import click
import pytest

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.cli import profile
from neff_bench.stage2_profile.options import Options
from neff_bench.system.shard import Shard


def test_another_host_gets_what_was_asked_and_nothing_of_this_process(monkeypatch):
    monkeypatch.setenv("ONLY_HERE", "1")
    asked = Options(directory=Path("store"), num_exec=5, shard=Shard(1, 2), detail=True)
    asked.stop.set()
    monkeypatch.delenv("ONLY_HERE")
    there = pickle.loads(pickle.dumps(asked))
    same = ("directory", "num_exec", "shard", "detail", "executions")
    assert [getattr(there, name) for name in same] == [getattr(asked, name) for name in same]
    assert "ONLY_HERE" in asked.environ and "ONLY_HERE" not in there.environ
    assert not there.stop.is_set()


@pytest.mark.parametrize(
    ("flag", "most", "said"),
    [
        ("--num-exec", (1, 100_000), None), ("--warmup", (0, 100_000), None), ("--profile-nth-exec", (1, 100_000), None),
        ("--captures", (1, 1000), None), ("--timeout", (0.1, None), 600.0), ("--lock-timeout", (0.1, None), 3600.0),
        ("--jobs", (1, 256), None), ("--hot", (1, 10_000), None), ("--toolchain", None, "auto"), ("--tool", None, "profiler"),
        ("--clock", None, "profile"),
    ],
)  # fmt: skip
def test_an_option_says_its_range_and_its_default(flag, most, said):
    [found] = [one for one in profile.params if flag in one.opts]
    assert most is None or (found.type.min, found.type.max) == most
    assert found.default == said and bool(found.show_default) == (said is not None)
    assert not found.is_flag


def test_flags_are_off_until_they_are_given():
    flags = [one for one in profile.params if isinstance(one, click.Option) and one.is_flag and one.name != "version"]
    assert len(flags) == 12 and not any(one.default for one in flags)
    asked = Options()
    assert (asked.steps, asked.most_captures, asked.until_percent, asked.wants_hot, asked.page) == (
        "all",
        1,
        None,
        False,
        None,
    )


@pytest.mark.parametrize(
    ("given", "number", "nth", "warmup"),
    [
        ({}, 2, 2, 0), ({"warmup": 3}, 5, 2, 3), ({"num_exec": 1}, 1, 1, 0), ({"num_exec": 9, "profile_nth_exec": 4}, 9, 4, 0),
        ({"num_exec": 9, "profile_nth_exec": 4, "warmup": 7}, 9, 4, 7), ({"tool": "nrtpy"}, 25, 1, 5),
        ({"tool": "nrtpy", "warmup": 0}, 25, 1, 0), ({"tool": "nrtpy", "warmup": 25}, 26, 1, 25), ({"tool": "nrtpy", "num_exec": 6}, 6, 1, 5),
    ],
)  # fmt: skip
def test_executions_of_a_capture(given, number, nth, warmup):
    found = Options(**given).executions
    assert (found.number, found.nth, found.warmup) == (number, nth, warmup)


def wrong(**given):
    asked = Options(**given)
    with pytest.raises(WrongCall) as error:
        _ = asked.executions, asked.steps, asked.until_percent, asked.check_ray()
    return str(error.value)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"num_exec": 9, "profile_nth_exec": 4, "warmup": 8}, "--num-exec 9 with --profile-nth-exec 4 and --warmup 8: no execution would be profiled; raise --num-exec"),
        ({"tool": "nrtpy", "num_exec": 5}, "--num-exec 5 with --profile-nth-exec 1 and --warmup 5: no execution would be profiled; raise --num-exec"),
        ({"tool": "nrtpy", "profile_nth_exec": 1}, "--profile-nth-exec is of the profiler; nrtpy times every execution after --warmup"),
        ({"view_only": True, "parse_only": True}, "--capture-only, --view-only and --parse-only exclude each other"),
        ({"view_only": True, "force": True}, "--force captures again, --view-only captures nothing"),
        ({"capture_only": True, "captures": 2}, "--captures and --until capture and view by turns, --capture-only does not"),
        ({"capture_only": True, "until": "1%"}, "--captures and --until capture and view by turns, --capture-only does not"),
        ({"tool": "nrtpy", "system_trace": True}, "--system-trace is of the profiler; --tool nrtpy takes its times from such a trace as it is"),
        ({"tool": "nrtpy", "view_only": True}, "--tool nrtpy leaves no trace, so there is nothing to view"),
        ({"until": "0%"}, "--until '0%': expected a percentage of the median time, such as 1%"),
        ({"until": "100"}, "--until '100': expected a percentage of the median time, such as 1%"),
        ({"until": "x1%"}, "--until 'x1%': expected a percentage of the median time, such as 1%"),
        ({"shared_store": True}, "--shared-store says how --ray works; give --ray ADDRESS too"),
        ({"ray": "auto", "cores": "0"}, "--cores: with --ray each capture runs on the core that Ray grants; leave it out"),
        ({"ray": "auto", "view_only": True}, "--ray captures; --view-only and --parse-only need no device and run on this host, without it"),
        ({"ray": "auto", "parse_only": True}, "--ray captures; --view-only and --parse-only need no device and run on this host, without it"),
    ],
)  # fmt: skip
def test_what_cannot_be_together_is_told(given, says):
    assert wrong(**given) == says


@pytest.mark.parametrize(
    ("given", "steps", "captures", "until"),
    [
        ({"capture_only": True, "force": True}, "capture", 1, None), ({"view_only": True}, "view", 1, None), ({"parse_only": True}, "parse", 1, None),
        ({"captures": 3}, "all", 3, None), ({"until": "0.5%"}, "all", 30, 0.5), ({"until": "99", "captures": 4}, "all", 4, 99.0),
        ({"force": True}, "all", 1, None), ({"system_trace": True}, "all", 1, None), ({"tool": "nrtpy"}, "all", 1, None),
    ],
)  # fmt: skip
def test_steps_and_captures_are_what_is_asked_for(given, steps, captures, until):
    asked = Options(**given)
    assert (asked.steps, asked.most_captures, asked.until_percent) == (steps, captures, until)


def test_a_page_is_an_output_of_its_suffix_where_no_format_is_asked_for():
    page = Options(output=Path("x.html"))
    assert page.page == Path("x.html") and page.format == "table"
    assert replace(page, format_="csv").page is None and Options(output=Path("x.csv")).page is None
    assert Options(hot=3).wants_hot and Options(search="x").wants_hot


def test_a_capture_has_its_share_of_the_cpus_unless_the_environment_says():
    assert Options(environ={}).with_threads(3).environ == {"OPENBLAS_NUM_THREADS": "3"}
    assert Options(environ={"OPENBLAS_NUM_THREADS": "1"}).with_threads(3).environ == {"OPENBLAS_NUM_THREADS": "1"}
