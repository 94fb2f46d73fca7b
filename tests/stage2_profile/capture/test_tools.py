from __future__ import annotations

import os
import sys

import pytest

from neff_bench.stage2_profile.capture.tools import find_neuron_tool, find_simulator, parse_version, read_version
from neff_bench.stage2_profile.capture.warm import warm_parent
from neff_bench.stage2_profile.errors import ToolMissing


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
