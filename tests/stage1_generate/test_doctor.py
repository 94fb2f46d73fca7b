import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from neff_bench.doors.tune_cli import tune
from neff_bench.sdk.identify import newest_published
from neff_bench.stage1_generate import sdk_parts
from neff_bench.stage1_generate.cli import generate
from neff_bench.stage1_generate.doctor import doctor
from neff_bench.stage1_generate.host import AWS_INDEX
from neff_bench.stage2_profile.cli import profile
from neff_bench.system import compiled
from tests.neuron_ls import announced, devices, install
from tests.sdk import contracts, fake_nki


def run(*arguments):
    return CliRunner().invoke(doctor, arguments, env={"NKILIB_PATH": ""})


@pytest.mark.skipif(compiled.slow() is not None, reason="the core is not compiled here")
def test_a_bare_host_builds_and_profiles_simulated(tmp_path):
    done = run("--toolchain", "sim", "--out", str(tmp_path))
    assert done.exit_code == 0
    assert done.output.splitlines()[:4] == [
        "What runs here",
        "build kernels embedded, simulated",
        "profile them  simulated (neuron-sim)",
        "core          compiled (the simulator at full speed)",
    ]
    assert "mlp nki can be built" in " ".join(done.output.split())
    newest = newest_published().name
    assert f"check uses those of SDK {newest}, the newest" in " ".join(done.output.split())
    assert done.output.endswith("Kernels can be built and profiled here.\n")


def test_json_says_why_an_implementation_cannot_be_built(tmp_path):
    done = run("--toolchain", "sim", "--format", "json", "--out", str(tmp_path))
    report = json.loads(done.output)
    why = {(each["kernel"], each["implementation"]): each["why_not"] for each in report["implementations"]}
    assert why["matmul", "nki"] is None
    assert "--nkilib" in why["mlp", "nkilib"]
    assert "AWS Neuron SDK" in why["mlp", "neuronxcc"]
    assert report["problems"] == [] and report["toolchain"] == "sim"


def test_a_checkout_of_nki_library_makes_its_kernels_buildable(checkout):
    report = json.loads(run("--toolchain", "sim", "--format", "json", "--nkilib", str(checkout())).output)
    why = {(each["kernel"], each["implementation"]): each["why_not"] for each in report["implementations"]}
    assert why["mlp", "nkilib"] is None


def test_a_wrong_path_is_a_wrong_call(tmp_path):
    done = run("--nkilib", str(tmp_path))
    assert done.exit_code == 2
    assert "no checkout of nki-library" in done.output


@pytest.mark.parametrize("form", [list, announced])
def test_the_cores_of_a_host_are_those_that_neuron_ls_documents(tmp_path, monkeypatch, form):
    install(tmp_path, form(devices(16, busy={3: 4711})))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    done = run("--toolchain", "sim", "--out", str(tmp_path))
    assert "128 physical, 64 logical (LNC 2); busy: device 3" in " ".join(done.output.split())


@pytest.fixture
def on_host(tmp_path, monkeypatch):
    """doctor's JSON on a host with the tools and the NKI of a release, and what the placeholders of PyPI leave."""

    def go(release, nki=None, placeholders=()):
        contracts.install(release, tmp_path / "bin")
        packages = tmp_path / "packages"
        packages.mkdir()
        fake_nki.install(json.loads(contracts.text(nki or release)), packages)
        monkeypatch.syspath_prepend(str(packages))
        monkeypatch.syspath_prepend(str(Path(__file__).parent / "fake_sdk" / "common"))
        for name, module in placeholders:
            (packages / module).mkdir()
            (packages / module / "__init__.py").touch()
            (packages / f"{module}-1.0.dist-info").mkdir()
            (packages / f"{module}-1.0.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        monkeypatch.delitem(sys.modules, "nki", raising=False)
        return json.loads(run("--format", "json", "--out", str(tmp_path)).output)

    return go


@pytest.mark.parametrize("release", contracts.RELEASES)
def test_the_release_of_a_host_is_named_with_what_works_and_why_the_rest_does_not(on_host, release):
    report = on_host(release)
    sdk, contract = report["sdk"], json.loads(contracts.text(release))
    assert sdk["release"] == release
    assert sdk["nki"].startswith(contract["versions"]["nki"] + ": ") and report["judged_by"] == release
    why = {ability["what"]: ability["why_not"] for ability in sdk["abilities"]}
    assert why["compile NKI kernels"] is None
    assert why["capture on a device"] == "no Neuron device"
    assert why["read a profile"] is None and why["list devices"] is None
    assert (why["times without a trace (--tool nrtpy)"] == "nrtpy is absent") == (release >= "2.32")
    how = {ability["what"]: ability["how"] for ability in sdk["abilities"]}
    assert ("JSON" in how["read a whole profile (--hot)"]) == (release < "2.34")
    assert "trn3 in no page" in how["compile XLA graphs"]
    assert how["list devices"] == ("neuron-ls --json-output" if release < "2.34" else "neuron-ls --output-format json")
    assert not any("several releases" in warning for warning in report["warnings"])


def test_parts_of_two_releases_are_a_warning(on_host):
    assert any(
        "neuron-explorer 2.33.38 of 2.33" in warning and "nki 0.4.0 of 2.30" in warning
        for warning in on_host("2.33", nki="2.30")["warnings"]
    )


def test_a_placeholder_is_no_part_of_the_sdk(on_host):
    report = on_host("2.32", placeholders=[("torch-neuronx", "torch_neuronx"), ("libneuronxla", "libneuronxla")])
    state = {package["name"]: package["state"] for package in report["packages"]}
    assert (state["torch-neuronx"], state["libneuronxla"], state["nki"]) == ("placeholder", "placeholder", "ok")
    said = {warning.split()[0] for warning in report["warnings"] if "is the empty placeholder from PyPI" in warning}
    assert {"torch-neuronx", "libneuronxla"} <= said and "nki" not in said


@pytest.mark.parametrize(
    ("versions", "warning"),
    [
        ({"runtime": "2.32.31", "driver": "2.26.5"}, "runtime 2.32.31 does not work with driver 2.26.5"),
        ({"neuron-explorer": "2.36.1"}, "neuron-explorer 2.36.1 is of no release that is known"),
        ({"neuron-explorer": "2.34.2"}, "SDK 2.34 is known from announcements alone"),
        ({"neuron-explorer": "2.31.15"}, "SDK 2.31: neuronx-cc 2.26 has a new code generator"),
    ],
)
def test_what_does_not_fit_or_should_be_known_is_a_warning(versions, warning):
    assert any(said.startswith(warning) for said in sdk_parts.examine(versions, {}, True).warnings)


@pytest.mark.parametrize(
    ("instance", "nki", "how", "why_not"),
    [
        ("inf2.xlarge", "0.6.0", "inf2, LNC 1; nki-library's tests ask for trn2 or trn3", None),
        ("trn1n.32xlarge", "0.7.0", "trn1, LNC 1; nki-library's tests ask for trn2 or trn3", None),
        ("trn2.3xlarge", "0.6.0", "trn2, LNC 1 and 2", None),
        ("inf1.xlarge", "0.6.0", "inf1", "no page of this release names inf1 as a target of NKI"),
    ],
)
def test_whether_nki_runs_on_this_instance(instance, nki, how, why_not):
    found = sdk_parts.examine({"nki": nki, "device": ""}, {}, True, instance)
    assert [(each.how, each.why_not) for each in found.abilities if each.what == "run NKI kernels here"] == [
        (how, why_not)
    ]


def test_parquet_alone_needs_pyarrow():
    found = sdk_parts.examine({"neuron-explorer": "2.34.2"}, {}, False)
    assert next(ability.why_not for ability in found.abilities if "--hot" in ability.what).endswith(
        "pip install 'pyarrow>=14'"
    )


def test_install_help_names_the_wheels_of_the_newest_release_by_version_and_aws_index():
    done = run("--install-help")
    wheels = [line for line in done.output.splitlines() if "neuronx-cc==" in line]
    assert done.exit_code == 0
    assert wheels == [f"pip install 'neuronx-cc==2.28.*' 'nki==0.7.*' --extra-index-url={AWS_INDEX}"]
    asked = [line for line in done.output.splitlines() if line.startswith("pip")]
    assert all("==" in line and AWS_INDEX in line for line in asked)


def test_parts_that_are_not_compiled_are_a_line_of_doctor_and_of_each_command(monkeypatch, tmp_path):
    monkeypatch.setattr(compiled, "FOLDER", tmp_path)
    said = " ".join(run("--out", str(tmp_path)).stdout.split())
    assert "core plain (about 3 times slower: no compiled passes; no compiled recorder" in said
    shapes = tmp_path / "shapes.yaml"
    shapes.write_text(
        "cases: [{kernel: exp, implementation: nki, N: 128, M: 128, target: trn2, lnc: 1, dtype: float32}]"
    )
    built = CliRunner().invoke(generate, ["--shapes", str(shapes), "--out", str(tmp_path / "out")])
    profiled = CliRunner().invoke(profile, [str(tmp_path / "out")])
    (tmp_path / "none.jsonl").write_text("")
    tuned = CliRunner().invoke(tune, [str(tmp_path / "none.jsonl")])
    for done in (built, profiled, tuned):
        assert done.exit_code == 0, done.stderr
        assert done.stderr.count("the simulator works without its compiled parts (about 3") == 1
