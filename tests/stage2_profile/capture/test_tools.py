from __future__ import annotations

import os
import sys

import pytest

from neff_bench.sdk.identify import newest_published
from neff_bench.stage2_profile.capture.tools import (
    Tool,
    choose_tools,
    find_neuron_tool,
    find_nrtpy,
    find_simulator,
    parse_version,
    read_version,
)
from neff_bench.stage2_profile.capture.warm import warm_parent
from neff_bench.stage2_profile.errors import ToolMissing
from neff_bench.stage2_profile.options import Options


@pytest.fixture
def install(tmp_path):
    def make(directory, name, says="2.30.1.0%kaena"):
        (tmp_path / directory).mkdir(exist_ok=True)
        script = tmp_path / directory / name
        script.write_text(f"#!/bin/sh\necho '{name} {says}'\n")
        script.chmod(0o755)
        return tmp_path / directory

    return make


def test_the_explorer_comes_before_the_profiler(install):
    path = install("path", "neuron-profile")
    install("path", "neuron-explorer")
    tool = find_neuron_tool({"PATH": str(path)}, path / "none")
    assert (tool.name, tool.version, tool.kind) == ("neuron-explorer", "2.30.1.0%kaena", "neuron")


def test_the_explorer_of_the_package_comes_before_a_profiler_on_path(install):
    tool = find_neuron_tool({"PATH": str(install("path", "neuron-profile"))}, install("opt", "neuron-explorer"))
    assert tool.name == "neuron-explorer"


def test_path_comes_before_the_package(install):
    path, opt = install("path", "neuron-profile"), install("opt", "neuron-profile")
    assert find_neuron_tool({"PATH": str(path)}, opt).argv == (str(path / "neuron-profile"),)
    assert find_neuron_tool({"PATH": ""}, opt).argv == (str(opt / "neuron-profile"),)


def test_no_tool_says_what_to_install(tmp_path):
    with pytest.raises(ToolMissing, match="install aws-neuronx-tools"):
        find_neuron_tool({"PATH": str(tmp_path)}, tmp_path)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            "neuron-profile 2.29.22.0%kaena-tools/2.29@b486b0a built on 2026-04-29T00:46:08Z",
            "2.29.22.0%kaena-tools/2.29@b486b0a",
        ),
        ("neuron-sim 0.1.0+sim", "0.1.0+sim"),
        ("", "unknown"),
    ],
)
def test_versions(text, version):
    assert parse_version(text) == version


def test_a_tool_that_cannot_be_started_is_missing(tmp_path):
    with pytest.raises(ToolMissing, match="cannot be started"):
        read_version((str(tmp_path / "nothing"),), {})


def test_the_simulator_is_started_by_this_python():
    assert find_simulator({}).argv == (sys.executable, "-m", "neff_bench.simulator")


def test_a_warm_parent_says_the_version_that_a_program_says():
    with warm_parent(os.environ) as warm:
        told = find_simulator(os.environ, warm)
        assert warm._wait is not None  # it was asked, and no program was started cold
    assert told == find_simulator(os.environ)
    assert "+sim." in told.version


@pytest.mark.parametrize(
    ("kinds", "toolchain", "nrtpy", "found"),
    [
        ((), "auto", False, []), (("sim",), "auto", False, ["sim"]), (("neuron",), "auto", False, ["neuron"]), (("neuron", "sim"), "auto", False, ["neuron", "sim"]),
        (("neuron", "sim"), "sim", False, ["sim"]), (("neuron", "sim"), "neuron", False, ["neuron"]), ((), "sim", False, ["sim"]), (("neuron", "sim"), "auto", True, ["neuron"]),
        (("sim",), "sim", True, []),
    ],
)  # fmt: skip
def test_a_tool_is_looked_for_where_a_neff_needs_it_and_the_toolchain_is_asked_for(kinds, toolchain, nrtpy, found):
    options = Options(toolchain=toolchain, tool="nrtpy" if nrtpy else "profiler")
    tools = choose_tools(kinds, options, lambda kind: Tool(kind, (), "1", kind))
    assert [kind for kind, tool in tools.items() if isinstance(tool, Tool) and tool.name == kind] == found
    said = {kind: tool for kind, tool in tools.items() if isinstance(tool, str)}
    assert ("which nrtpy cannot run" in said.get("sim", "")) == nrtpy


@pytest.mark.parametrize(
    ("name", "version", "release"),
    [("neuron-explorer", "2.33.1.0", "2.33"), ("neuron-profile", "2.29.22.0", "2.29"), ("neuron-profile", "2.31.0", "2.29"), ("nrtpy-x", "2.31.0", "2.31")],
)  # fmt: skip
def test_the_contract_of_a_tool_is_that_of_its_version_or_of_the_last_that_knows_it(name, version, release):
    assert Tool(name, (), version, "neuron").release.name == release


def test_the_simulator_takes_what_the_newest_explorer_takes():
    tool = Tool("neuron-sim", (), "0.1", "sim")
    assert (
        tool.release == newest_published()
        and tool.command("view") == tool.release.tools["neuron-explorer"].commands["view"]
    )
    assert (str(tool), str(Tool("neuron-explorer", (), "2.33", "neuron"))) == (
        "neuron-sim 0.1 (simulated)",
        "neuron-explorer 2.33",
    )


def python(tmp_path, script):
    (tmp_path / "python").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "python").chmod(0o755)
    return {"NEFF_BENCH_NRTPY_PYTHON": str(tmp_path / "python")}


def test_nrtpy_is_asked_for_in_the_python_that_has_it(tmp_path):
    tool = find_nrtpy(python(tmp_path, 'echo "nrtpy 2.34.1 ($2)"'))
    assert (tool.name, tool.version, tool.kind, tool.argv[0]) == ("nrtpy", "2.34.1", "neuron", str(tmp_path / "python"))
    for script, says in (
        ("exit 1", "it printed nothing; it comes with SDK 2.32"),
        ("echo a >&2; echo b >&2; exit 3", "b; it comes with"),
    ):
        with pytest.raises(ToolMissing) as caught:
            find_nrtpy(python(tmp_path, script))
        assert str(caught.value).startswith(says)
    with pytest.raises(ToolMissing, match="none cannot be asked for nrtpy"):
        find_nrtpy({"NEFF_BENCH_NRTPY_PYTHON": "/none"})


def test_a_module_that_is_not_there_is_a_tool_that_cannot_be_started_and_a_bad_exit_alone_is_not(tmp_path):
    python(tmp_path, "echo 1.2.3; exit 1")
    assert read_version((str(tmp_path / "python"),), {}) == "1.2.3"
    python(tmp_path, "echo No module named x >&2; exit 1")
    with pytest.raises(ToolMissing, match="--version|cannot be started: No module named x"):
        read_version((str(tmp_path / "python"),), {})
    python(tmp_path, "echo 1.2 No module named x")
    assert read_version((str(tmp_path / "python"),), {}) == "1.2"


def test_a_version_is_cut():
    assert parse_version("x 1." + "2" * 200) == "1." + "2" * 98
