"""One case, captured and viewed by the fake tools of each release: a blank in the path of the store, log lines before the JSON."""

import json

import pytest

from neff_bench.sdk.release import load
from neff_bench.stage2_profile.capture.runs import read_run
from tests.sdk.contracts import RELEASES


@pytest.fixture
def store(tmp_path):
    return tmp_path / "my store"


@pytest.mark.parametrize("gone", ["", "json summary-json"], ids=["as it is", "no JSON"])
@pytest.mark.parametrize("release", RELEASES)
def test_a_case_is_profiled_by_the_tools_of_a_release(
    release, gone, make_bundle, profile_neffs, release_on_path, monkeypatch
):
    if gone:
        pytest.importorskip("pyarrow")
    monkeypatch.setenv("FAKE_GONE", gone)
    for name in ("NEURON_RT_NUM_CORES", "NEURON_RT_INSPECT_ENABLE", "NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("NEURON_RT_RESET_CORES", "0")
    release_on_path(release)
    bundle = make_bundle()
    result = profile_neffs("--format", "json")
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)
    assert (row["status"], row["check"], row["warnings"]) == ("profiled", "passed", [])
    assert row["total_time_us"] == pytest.approx(102)
    run = read_run(bundle.path / "profiles/1")
    assert run.tool == "neuron-explorer"
    assert run.tool_version.startswith(load(release).versions.tools)
    assert [execution.ntff for execution in run.executions] == ["profile_exec_2.ntff"]
    assert all(command.argv[0] == "neuron-explorer" for command in run.commands)


def test_a_host_with_the_old_tool_alone_is_served_by_it(make_bundle, profile_neffs, release_on_path):
    (release_on_path("2.28") / "neuron-explorer").unlink()
    make_bundle()
    (row,) = json.loads(profile_neffs("--format", "json").stdout)
    assert (row["status"], row["tool"].split()[0]) == ("profiled", "neuron-profile")


def test_a_tool_of_an_unknown_release_is_taken_for_the_nearest(make_bundle, profile_neffs, release_on_path):
    contract = release_on_path("2.34") / "contract-2.34.json"
    contract.write_text(contract.read_text().replace('"tools": "2.34"', '"tools": "2.36.1.0"'))
    make_bundle()
    result = profile_neffs("--format", "json")
    assert json.loads(result.stdout)[0]["status"] == "profiled"
    assert "2.36.1.0" in result.stderr
    assert "is of no known release of the SDK; taken for 2.34" in " ".join(result.stderr.split())


def test_a_session_that_cannot_be_shown_is_a_warning(make_bundle, profile_neffs, release_on_path, monkeypatch):
    monkeypatch.setenv("FAKE_GONE", "show-session")
    release_on_path("2.33")
    make_bundle()
    (row,) = json.loads(profile_neffs("--format", "json").stdout)
    assert row["status"] == "profiled"
    assert row["warnings"] == ["neuron-explorer show-session: exit code 1: error: cannot show this session"]
