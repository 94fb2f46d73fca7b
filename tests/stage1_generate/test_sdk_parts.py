"""Which release of the SDK a host has, part by part, and what works with it."""

import pytest
from msgspec.structs import replace

from neff_bench.sdk.identify import identify
from neff_bench.stage1_generate.sdk_parts import Ability, Part, Sdk, _warnings, examine

WHOLE = {
    "neuron-explorer": "2.32.9", "nki": "0.6.0", "neuronx-cc": "2.27.1", "runtime": "2.32.31", "driver": "2.28.0",
    "neuron-ls": "2.32", "device": "", "nrtpy": "",
}  # fmt: skip
FORMS = "compile_to_bir, compile_kernel_to_nir (seen with one public caller), compile_bir_with_inputs (seen with one public caller)"
TARGETS = "targets inf2, trn1, trn1n, trn2; trn3 in no page of the compiler"


def abilities(versions, absent=None, has_pyarrow=True, instance=None):
    return {
        one.what: (one.how, one.why_not) for one in examine(versions, absent or {}, has_pyarrow, instance).abilities
    }


def test_a_host_without_any_part_has_no_release():
    assert examine({"neuron-ls": "2.32", "nrtpy": "", "device": ""}, {}, True) == Sdk(None, (), None, (), ())


def test_a_whole_host_can_do_everything():
    found = examine(WHOLE, {}, True, "trn2.48xlarge")
    assert (found.release, found.nki) == ("2.32", "0.6.0: fori_loop and while_loop; dynamic_range is deprecated")
    assert found.parts == (
        Part("tools", "neuron-explorer", "2.32.9", "2.32", True), Part("nki", "nki", "0.6.0", "2.32", True),
        Part("neuronx-cc", "neuronx-cc", "2.27.1", "2.32", True), Part("runtime", "runtime", "2.32.31", "2.30", True),
        Part("driver", "driver", "2.28.0", "2.30", True),
    )  # fmt: skip
    assert found.abilities == (
        Ability("compile NKI kernels", FORMS, None), Ability("run NKI kernels here", "trn2, LNC 1 and 2", None),
        Ability("compile XLA graphs", TARGETS, None), Ability("capture on a device", "neuron-explorer", None),
        Ability("read a profile", "neuron-explorer view: summary-json", None),
        Ability("read a whole profile (--hot)", "Parquet, schema 7.4.0 or JSON", None),
        Ability("list devices", "neuron-ls --json-output", None), Ability("times without a trace (--tool nrtpy)", "nrtpy", None),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("gone", "what", "why_not"),
    [
        ("nki", "compile NKI kernels", "nki is absent"), ("nki", "run NKI kernels here", "nki is absent"),
        ("device", "run NKI kernels here", "device is absent"), ("device", "capture on a device", "device is absent"),
        ("driver", "capture on a device", "driver is absent"), ("runtime", "capture on a device", "runtime is absent"),
        ("neuronx-cc", "compile XLA graphs", "neuronx-cc is absent"), ("neuron-ls", "list devices", "neuron-ls is absent"),
        ("nrtpy", "times without a trace (--tool nrtpy)", "nrtpy is absent"),
        ("neuron-explorer", "capture on a device", "neuron-explorer is absent"), ("neuron-explorer", "read a profile", "neuron-explorer is absent"),
        ("neuron-explorer", "read a whole profile (--hot)", "neuron-explorer is absent"),
    ],
)  # fmt: skip
def test_what_a_part_does_is_not_done_without_it(gone, what, why_not):
    versions = {name: version for name, version in WHOLE.items() if name != gone}
    assert abilities(versions, instance="trn2.3xlarge")[what][1] == why_not
    assert abilities(versions, {gone: "it is broken"}, instance="trn2.3xlarge")[what][1] == "it is broken"
    assert abilities(WHOLE, {gone: "it is broken"}, instance="trn2.3xlarge")[what][1] is None


def test_the_older_profiler_stands_in_for_the_newer_one():
    found = abilities({"neuron-profile": "2.28.2"})
    assert found["capture on a device"] == ("neuron-profile", "device is absent")
    assert found["read a profile"] == ("neuron-profile view: summary-json", None)
    both = examine({"neuron-profile": "2.28.2", "neuron-explorer": "2.32.9"}, {}, True)
    assert both.release == "2.32" and [part.name for part in both.parts] == ["neuron-explorer", "neuron-profile"]


def test_a_release_without_json_needs_pyarrow_for_whole_profiles_alone():
    for has_pyarrow in (True, False):
        found = abilities({"neuron-explorer": "2.34.2"}, has_pyarrow=has_pyarrow)
        assert found["read a profile"] == ("neuron-explorer view: summary-json", None)
        how, why_not = found["read a whole profile (--hot)"]
        assert how.startswith("Parquet, schema ") and "JSON" not in how and (why_not is None) == has_pyarrow
    assert abilities({"neuron-explorer": "2.32.9"}, has_pyarrow=False)["read a whole profile (--hot)"][1] is None


def test_a_part_that_says_no_version_is_taken_for_one_of_some_release_and_said_so():
    found = examine({"runtime": ""}, {}, True)
    assert found.parts == (Part("runtime", "runtime", "unknown", found.release, False),)
    assert (
        found.warnings[0]
        == f"runtime unknown is of no release that is known; it is taken for one of SDK {found.release}"
    )
    assert found.nki is None


def test_parts_of_several_releases_are_told_with_those_that_are_known():
    release = replace(identify("tools", "2.32.9").release, notes=(), date="2026-01-01")
    one, other = Part("tools", "a", "1", "2.32", True), Part("nki", "b", "2", "2.31", True)
    unknown = Part("neuronx-cc", "c", "3", "2.30", False)
    said = "c 3 is of no release that is known; it is taken for one of SDK 2.30"
    assert list(_warnings(release, (one, Part("nki", "b", "2", "2.32", True), unknown))) == [said]
    mixed = "parts of several releases of the SDK are installed: a 1 of 2.32, b 2 of 2.31"
    assert list(_warnings(release, (one, other, unknown))) == [said, mixed]
    assert list(_warnings(release, (one,))) == []


def test_a_release_that_was_only_announced_says_so_and_each_of_its_notes():
    release = replace(identify("tools", "2.32.9").release, name="2.99", date=None, notes=("one", "two"))
    assert list(_warnings(release, ())) == [
        "SDK 2.99 is known from announcements alone",
        "SDK 2.99: one",
        "SDK 2.99: two",
    ]


@pytest.mark.parametrize(("driver", "works"), [("2.26.9", False), ("2.27", True), ("2.28.0", True), ("3.0", True)])
def test_a_runtime_needs_a_driver_of_some_version(driver, works):
    release = replace(identify("tools", "2.32.9").release, notes=(), date="2026-01-01")
    runtime = Part("runtime", "runtime", "2.32.31", "2.32", True)
    needed = identify("runtime", "2.32.31").release.needs_driver
    found = list(_warnings(release, (runtime, Part("driver", "driver", driver, "2.32", True))))
    expected = f"runtime 2.32.31 does not work with driver {driver}; update aws-neuronx-dkms to {needed} or newer"
    assert found == ([] if works else [expected])
    assert list(_warnings(release, (runtime,))) == []
