"""neuron-ls: the array to SDK 2.33 and the object that is announced for 2.34."""

import json

import pytest

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.neuron_ls import ask, read_neuron_ls
from neff_bench.sdk.words import neuron_ls_forms
from tests.neuron_ls import announced, devices

TRN2 = devices(2, busy={1: 77})


@pytest.mark.parametrize("said", [TRN2, announced(TRN2)], ids=["array", "object"])
def test_both_forms_say_the_same(said):
    topology = read_neuron_ls(b"WARN a line of the log\n" + json.dumps(said).encode())
    assert topology.instance_type == "trn2.48xlarge"
    assert (
        topology.lnc == 2 and topology.logical_cores == tuple(range(8)) and topology.physical_cores == tuple(range(16))
    )
    assert [[(each.pid, each.command) for each in device.processes] for device in topology.devices] == [
        [],
        [(77, "python3 train.py")],
    ]
    assert topology.device_of(9).number == 1 and topology.device_of(16) is None


def test_a_chip_without_lnc_has_logical_cores_of_one(tmp_path):
    topology = read_neuron_ls(json.dumps(devices(16, logical=2, lnc=None)).encode())
    assert (topology.lnc, len(topology.physical_cores), topology.instance_type) == (1, 32, None)


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("[]", "names no device"),
        ("{}", "names no device"),
        ("[1]", "names no device"),
        (json.dumps({"a": devices(1), "b": devices(1)}), "names no device"),
        ('[{"neuron_device": 0}, {}]', "names no device"),
        ('[{"neuron_device": "x"}]', "a device of neuron-ls: "),
        ("no", "offset 0"),
        ('[{"neuron_device": 0, "nc_count": 1000000000}]', "a device of neuron-ls: "),
        ('[{"neuron_device": 0}]', "names no core"),
        ('[{"neuron_device": 0, "nc_count": 0}]', "names no core"),
    ],
)
def test_what_names_no_device_is_refused(said, says):
    with pytest.raises(ParseError, match=says):
        read_neuron_ls(said.encode())


def test_cores_are_counted_through_where_a_tool_tells_only_how_many_there_are():
    said = [{"neuron_device": 0, "nc_count": 2}, {"neuron_device": 1, "nc_count": 3, "logical_neuroncore_config": 0}]
    topology = read_neuron_ls(json.dumps(said).encode())
    assert [device.logical_cores for device in topology.devices] == [(0, 1), (2, 3, 4)]
    assert (topology.lnc, topology.instance_type, topology.devices[0].processes) == (1, None, ())


def test_the_instance_of_the_object_counts_before_that_of_a_device():
    device = {"neuron_device": 0, "nc_count": 2, "instance_type": "of the device"}
    for named, instance in (("of all", "of all"), (None, "of the device"), (7, "of the device")):
        document = {"instance_type": named, "devices": [device]}
        assert read_neuron_ls(json.dumps(document).encode()).instance_type == instance


def test_a_core_of_two_devices_is_refused():
    twice = devices(2)
    twice[1]["neuroncore_ids"] = [3, 4, 5, 6]
    with pytest.raises(ParseError, match="a core of two devices"):
        read_neuron_ls(json.dumps(twice).encode())


def test_the_second_form_is_asked_for_when_the_first_has_no_answer():
    asked = []

    def answer(arguments):
        asked.append(tuple(arguments))
        return None if "--json-output" in arguments else json.dumps(announced(TRN2)).encode()

    assert neuron_ls_forms() == [("--json-output",), ("--output-format", "json")]
    assert len(ask(answer, neuron_ls_forms()).devices) == 2
    assert asked == neuron_ls_forms()


def test_a_tool_without_an_answer_is_an_error():
    with pytest.raises(ParseError, match="no answer"):
        ask(lambda arguments: None, neuron_ls_forms())
