import dataclasses
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from neff_bench.doors.tune_cli import tune
from neff_bench.sdk.identify import newest_published
from neff_bench.stage1_generate import doctor as looking
from neff_bench.stage1_generate import sdk_parts
from neff_bench.stage1_generate.cli import generate
from neff_bench.stage1_generate.doctor import LOW_DISK_BYTES, Ability, Report, doctor
from neff_bench.stage1_generate.host import AWS_INDEX, Devices, Holder, Package, Tool
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


NO_DEVICES = Devices((), None, None, None, (), None, None, None, ())
BUSY = Devices(("/dev/neuron0", "/dev/neuron1"), 8, 4, 2, (1,), "2.21", "/opt/libnrt.so.1", "trn2.3xlarge", (Holder(7, "python", ("/dev/neuron1",)),))  # fmt: skip
EXPLORER = (Tool("neuron-explorer", "/opt/neuron-explorer", "2.30"), Tool("neuron-ls", None, None))
PACKAGES = (
    Package("nki", "ok", "0.4"),
    Package("neuronx-cc", "placeholder", "0.0.1"),
    Package("torch", "absent", None),
)


def said_of(**changes):
    sdk = sdk_parts.Sdk(None, (), None, (), ())
    told = {
        "python": "3.11", "toolchain": "sim", "profile": "simulated", "core": "compiled", "packages": PACKAGES, "tools": EXPLORER,
        "devices": BUSY, "nkilib": None, "out": "out.neffs", "free_bytes": 3 << 29, "sdk": sdk, "judged_by": "2.30",
        "implementations": (Ability("mlp", "nki", None), Ability("mlp", "isa", "no SDK")), "problems": (), "warnings": (),
    }  # fmt: skip
    found = looking.answer(Report(**{**told, **changes}))
    return {(record["part"], record["name"]): record["value"] for record in found.records}, found.grids[-1].notes


@pytest.mark.parametrize(
    ("changes", "part", "name", "value"),
    [
        ({}, "Host", "free disk", "1.5 GiB for the store out.neffs"), ({"free_bytes": None}, "Host", "free disk", "unknown for the store out.neffs"),
        ({}, "Host", "devices", "2, 1 of them in use"), ({"devices": NO_DEVICES}, "Host", "devices", "none"),
        ({}, "Host", "NeuronCores", "8 physical, 4 logical (LNC 2); busy: device 1"), ({"devices": NO_DEVICES}, "Host", "NeuronCores", "unknown"),
        ({}, "Host", "instance", "trn2.3xlarge"), ({"devices": NO_DEVICES}, "Host", "instance", "unknown"),
        ({}, "Host", "driver", "2.21"), ({"devices": NO_DEVICES}, "Host", "driver", "not loaded (aws-neuronx-dkms)"),
        ({}, "Host", "runtime", "/opt/libnrt.so.1"), ({"devices": NO_DEVICES}, "Host", "runtime", "absent: no libnrt (aws-neuronx-runtime-lib)"),
        ({}, "Host", "nki-library", "not found (--nkilib, NKILIB_PATH)"), ({"nkilib": "/lib"}, "Host", "nki-library", "/lib"),
        ({}, "What runs here", "build kernels", "embedded, simulated"), ({"toolchain": "neuron"}, "What runs here", "build kernels", "AWS Neuron SDK"),
        ({}, "What runs here", "profile them", "simulated (neuron-sim)"), ({"profile": None}, "What runs here", "profile them", "no"),
        ({"profile": "device"}, "What runs here", "profile them", "on the device"), ({}, "Packages", "nki", "0.4"),
        ({}, "Packages", "neuronx-cc", "0.0.1 placeholder"), ({}, "Packages", "torch", "absent"),
        ({}, "Tools", "neuron-explorer", "/opt/neuron-explorer  2.30"), ({}, "Tools", "neuron-ls", "absent"),
        ({}, "Implementations", "mlp nki", "can be built"), ({}, "Implementations", "mlp isa", "no SDK"),
        ({}, "SDK", "release", "none: no part of the AWS Neuron SDK is installed"),
    ],
)  # fmt: skip
def test_each_line_of_the_doctor_says_what_is_there(changes, part, name, value):
    assert said_of(**changes)[0][part, name] == value


def test_the_last_line_says_whether_kernels_can_be_built_and_profiled():
    assert said_of(warnings=("w",))[1] == ["warning: w", "Kernels can be built and profiled here."]
    assert said_of(problems=("p",))[1] == ["problem: p", "Kernels cannot be built and profiled here."]


@pytest.mark.parametrize(
    ("why", "profile", "free", "problems"),
    [
        (None, "simulated", None, ()), (None, "simulated", LOW_DISK_BYTES // 16, ()), ("no", None, 5 << 20, ("no implementation of any kernel can be built", "nothing can be profiled", "only 5 MiB free for out")),
        (None, "device", LOW_DISK_BYTES // 16 - 1, (f"only {(LOW_DISK_BYTES // 16 - 1) >> 20} MiB free for out",)),
    ],
)  # fmt: skip
def test_a_host_without_builds_profiles_or_disk_has_problems(why, profile, free, problems):
    abilities = (Ability("mlp", "isa", "no SDK"), Ability("mlp", "nki", why))
    assert looking._problems(abilities, profile, free, Path("out")) == problems


def test_a_device_profiles_with_its_driver_and_a_tool():
    assert looking._profile(EXPLORER, BUSY) == "device"
    for tools, found in (
        (EXPLORER[1:], BUSY),
        (EXPLORER, NO_DEVICES),
        (EXPLORER, dataclasses.replace(BUSY, driver=None)),
    ):
        assert looking._profile(tools, found) == "simulated"


def test_what_a_device_lacks_is_a_warning():
    assert looking._warnings((PACKAGES[0],), BUSY, EXPLORER, "neuron") == ("process 7 (python) uses /dev/neuron1",)
    bare = dataclasses.replace(BUSY, driver=None, runtime=None, holders=())
    assert looking._warnings((), bare, (), "sim") == (
        "there are Neuron devices, but the driver is not loaded (aws-neuronx-dkms)",
        "there are Neuron devices, but no runtime: libnrt.so.1 is absent (aws-neuronx-runtime-lib)",
        "there are Neuron devices, but no profiler (aws-neuronx-tools); profiles will be simulated",
        "there are Neuron devices, but no compiler of the SDK in this environment; is it activated?",
    )
    assert looking._warnings((), NO_DEVICES, (), "sim") == ()
    [placeholder] = looking._warnings(PACKAGES, NO_DEVICES, (), "sim")
    assert placeholder == f"neuronx-cc 0.0.1 is the empty placeholder from PyPI; the real one comes from {AWS_INDEX}"


def test_a_problem_is_exit_code_one(monkeypatch, tmp_path):
    monkeypatch.setattr(looking, "_problems", lambda *_: ("broken",))
    assert run("--toolchain", "sim", "--out", str(tmp_path)).exit_code == 1


@pytest.mark.parametrize(
    ("component", "why"),
    [("nki", "that of the compiler here"), ("runtime", "the newest, as no compiler of AWS is installed")],
)
def test_rules_are_those_of_the_compiler_here_else_of_the_newest_release(component, why):
    part = SimpleNamespace(component=component, name="x", version="1")
    rows = dict(looking._sdk(sdk_parts.Sdk("2.30", (part,), None, (), (), "2026-11-01"), "2.30"))
    assert rows["rules"] == f"check uses those of SDK 2.30, {why}; check --sdk RELEASE takes another"
    assert rows["release"] == "2.30 (x 1)" and rows["NKI"] == "absent"


def test_what_the_sdk_does_here_is_told_with_how_and_else_with_why_not():
    part = sdk_parts.Part("tools", "neuron-explorer", "2.30.1", "2.30", True)
    able, unable = sdk_parts.Ability("see", "a flag", None), sdk_parts.Ability("run", "a tool", "no device")
    rows = looking._sdk(sdk_parts.Sdk("2.30", (part,), "0.4", (able, unable), (), "2026-11-01"), "2.30")
    assert rows[-2:] == [("see", "yes: a flag"), ("run", "no: no device")]
    assert dict(rows)["release"] == "2.30 (neuron-explorer 2.30.1)" and dict(rows)["NKI"] == "0.4"
