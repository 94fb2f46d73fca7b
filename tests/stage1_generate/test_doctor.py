import json
import os

import pytest
from click.testing import CliRunner

from neff_bench.stage1_generate.doctor import doctor
from tests.neuron_ls import announced, devices, install


def run(*arguments):
    return CliRunner().invoke(doctor, arguments, env={"NKILIB_PATH": ""})


def test_a_bare_host_can_run_the_main_job_simulated(tmp_path):
    done = run("--toolchain", "sim", "--out", str(tmp_path))
    assert done.exit_code == 0
    assert done.output.splitlines()[:3] == [
        "Main job",
        "build   embedded, simulated",
        "profile simulated (neuron-sim)",
    ]
    assert "mlp nki can be built" in " ".join(done.output.split())
    assert done.output.endswith("The main job can run here.\n")


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
