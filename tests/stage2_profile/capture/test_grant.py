import json

import pytest

from neff_bench.errors import WrongCall
from neff_bench.parsers.neuron_ls import read_neuron_ls
from neff_bench.stage2_profile.capture.grant import check_cores, numbers, parse_cores, read_grant
from tests.neuron_ls import devices

TRN2 = read_neuron_ls(json.dumps(devices(4)).encode())


@pytest.mark.parametrize(("text", "cores"), [("0", (0,)), ("0-3", (0, 1, 2, 3)), ("4,0-1, 1", (0, 1, 4))])
def test_core_lists(text, cores):
    assert parse_cores(text) == cores


@pytest.mark.parametrize("text", ["", "a", "3-1", "-1", "0-", "1,,2", "0-99999999999"])
def test_core_lists_that_are_none(text):
    with pytest.raises(WrongCall, match="--cores"):
        parse_cores(text)


def test_a_grant_that_is_none_is_a_wrong_call():
    with pytest.raises(WrongCall, match="NEURON_RT_VISIBLE_CORES 'x'"):
        read_grant({"NEURON_RT_VISIBLE_CORES": "x"}, None)


def test_a_grant_counts_logical_cores_of_the_lnc_of_the_host_whatever_the_lnc_of_a_case():
    grant = read_grant({"NEURON_RT_VISIBLE_CORES": "4-5"}, TRN2)
    assert grant.physical(1) == grant.physical(2) == (8, 9, 10, 11)


def test_without_neuron_ls_the_environment_says_the_lnc_of_a_grant_else_the_case():
    assert read_grant({"NEURON_RT_VISIBLE_CORES": "4", "NEURON_LOGICAL_NC_CONFIG": "2"}, None).physical(1) == (8, 9)
    assert read_grant({"NEURON_RT_VISIBLE_CORES": "4"}, None).physical(1) == (4,)
    assert read_grant({}, None) is None


def test_cores_that_are_not_granted_are_refused_with_what_is():
    grant = read_grant({"NEURON_RT_VISIBLE_CORES": "0-7"}, TRN2)
    check_cores((0, 15), grant, TRN2)
    with pytest.raises(WrongCall, match="core 16-17 is not granted .* physical cores 0-15 at LNC 2; .*--force-cores"):
        check_cores((15, 16, 17), grant, TRN2)


def test_cores_that_the_host_lacks_are_refused():
    with pytest.raises(WrongCall, match="this host has no core 32, only 0-31"):
        check_cores((0, 32), None, TRN2)


def test_core_numbers_are_shown_as_ranges():
    assert numbers((0, 1, 2, 6, 8, 9)) == "0-2,6,8-9"
