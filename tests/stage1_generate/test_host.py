import os
from importlib.util import find_spec

import pytest

from neff_bench.stage1_generate import host
from neff_bench.stage1_generate.host import Devices, Package, Tool, devices, free_bytes, packages, tools
from tests.neuron_ls import devices as devices_of_trn2
from tests.neuron_ls import install


def test_devices_driver_and_users_are_read_from_the_system(tmp_path, monkeypatch):
    install(tmp_path, devices_of_trn2(2, busy={1: 7}))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "dev").mkdir()
    for name in ("neuron0", "neuron10", "neuron2", "null"):
        (tmp_path / "dev" / name).touch()
    (tmp_path / "sys/module/neuron").mkdir(parents=True)
    (tmp_path / "sys/module/neuron/version").write_text("2.26.5.0\n")
    for pid, target in (("7", "/dev/neuron0"), ("8", "/dev/null")):
        (tmp_path / "proc" / pid / "fd").mkdir(parents=True)
        (tmp_path / "proc" / pid / "comm").write_text("python3\n")
        os.symlink(target, tmp_path / "proc" / pid / "fd" / "3")
    found = devices(tmp_path)
    assert found.devices == ("/dev/neuron0", "/dev/neuron2", "/dev/neuron10")
    assert (found.cores, found.logical_cores, found.lnc, found.busy) == (16, 8, 2, (1,))
    assert found.driver == "2.26.5.0" and found.instance is None
    assert [(holder.pid, holder.command, holder.devices) for holder in found.holders] == [
        (7, "python3", ("/dev/neuron0",))
    ]


def test_a_placeholder_is_recognised_by_what_it_lacks(tmp_path, monkeypatch):
    (tmp_path / "nki").mkdir()
    (tmp_path / "nki" / "__init__.py").touch()
    (tmp_path / "nki-0.0.1.dist-info").mkdir()
    (tmp_path / "nki-0.0.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: nki\nVersion: 0.0.1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "nki", raising=False)
    (nki,) = packages(["nki"])
    assert (nki.state, nki.version) == ("placeholder", "0.0.1")
    (tmp_path / "nki" / "isa.py").touch()
    (nki,) = packages(["nki"])
    assert nki.state == "ok"


def test_a_tool_is_asked_for_its_version(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name, text in (("neuron-explorer", "echo 2.31.5"), ("neuron-profile", "echo broken >&2; exit 3")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    explorer, profile, absent = tools(["neuron-explorer", "neuron-profile", "no-such-tool"])
    assert (explorer.path, explorer.version) == (str(tmp_path / "neuron-explorer"), "2.31.5")
    assert profile.path is not None and profile.version is None
    assert absent.path is None


def test_free_space_is_told_for_a_directory_that_does_not_exist_yet(tmp_path):
    assert free_bytes(tmp_path / "a" / "b") == free_bytes(tmp_path)


def test_the_runtime_is_the_file_that_libnrt_leads_to(tmp_path):
    (tmp_path / "proc").mkdir()
    assert devices(tmp_path).runtime is None
    folder = tmp_path / "opt/aws/neuron/lib"
    folder.mkdir(parents=True)
    (folder / "libnrt.so.2.29.40.0").touch()
    (folder / "libnrt.so.1").symlink_to("libnrt.so.2.29.40.0")
    assert devices(tmp_path).runtime == "/opt/aws/neuron/lib/libnrt.so.2.29.40.0"


@pytest.mark.parametrize(
    ("found", "more", "absent"),
    [
        (
            Devices(("/dev/neuron0",), 8, 4, 2, (), "2.21.37.0", "/opt/libnrt.so.2.29.40.0", "trn2.3xlarge", ()),
            {"driver": "2.21.37.0", "runtime": "2.29.40.0", "device": ""}, {},
        ),
        (Devices((), None, None, None, (), None, None, None, ()), {}, {}),
    ],
)  # fmt: skip
def test_what_is_here_is_judged_by_the_numbers_in_what_it_says(monkeypatch, found, more, absent):
    """Placeholders, and tools without a path, are not here."""
    monkeypatch.setattr(host, "version_of", lambda name: {"nrtpy": "nrtpy-0.5.1+x"}.get(name))
    monkeypatch.setattr(host.sdk_parts, "examine", lambda *given: given)
    said = host.sdk(
        (Package("nki", "ok", "0.4.0+g1"), Package("jax", "ok", None), Package("neuronx-cc", "placeholder", "0.0.1"), Package("x", "absent", None)),
        (Tool("neuron-profile", "/p", "neuron-profile 2.29.22.0%kaena-tools/2.29 built"), Tool("neuron-ls", "/l", None), Tool("neuron-top", None, None)),
        found,
    )  # fmt: skip
    why = {
        "neuronx-cc": "neuronx-cc 0.0.1 is the empty placeholder from PyPI", "driver": "the driver is not loaded (aws-neuronx-dkms)",
        "device": "no Neuron device",
    }  # fmt: skip
    versions = {"nki": "0.4.0", "jax": "", "neuron-profile": "2.29.22.0", "neuron-ls": "", "nrtpy": "0.5.1", **more}
    assert said == (versions, why, find_spec("pyarrow") is not None, found.instance)


def test_the_first_line_that_a_tool_prints_is_its_version_wherever_it_prints_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    long = "x" * 101
    for name, text in (
        ("one", "echo; echo '  2.1  '; echo more"), ("two", "echo 2.2 >&2"), ("three", "true"), ("four", f"echo {long}"),
    ):  # fmt: skip
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    assert [tool.version for tool in tools(["one", "two", "three", "four"])] == ["2.1", "2.2", None, long[:100]]
    (tmp_path / "one").write_text("no program")
    assert tools(["one"]) == (Tool("one", str(tmp_path / "one"), None),)


def test_processes_that_use_devices_are_told_in_the_order_of_their_numbers_with_each_device_once(tmp_path):
    for pid, targets in (
        ("10", ["/dev/neuron1", "/dev/neuron0", "/dev/neuron1"]),
        ("9", ["/dev/neuron10"]),
        ("self", ["/dev/neuron0"]),
        ("8", []),
    ):
        (tmp_path / "proc" / pid / "fd").mkdir(parents=True)
        (tmp_path / "proc" / pid / "comm").write_text(f"p{pid}\n")
        for number, target in enumerate(targets):
            os.symlink(target, tmp_path / "proc" / pid / "fd" / str(number))
    found = [(one.pid, one.command, one.devices) for one in devices(tmp_path).holders]
    assert found == [(9, "p9", ("/dev/neuron10",)), (10, "p10", ("/dev/neuron0", "/dev/neuron1"))]
