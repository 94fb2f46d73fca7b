import pytest

from neff_bench.installation import IMPORT_ROOT
from neff_bench.neffs.case import Case
from neff_bench.sdk.environment import of_role
from neff_bench.sdk.release import load
from neff_bench.stage2_profile.capture.environment import (
    MEETING,
    OF_SDK,
    capture_environment,
    recorded,
    tool_environment,
)


@pytest.mark.parametrize(("target", "lnc", "said"), [("trn2", 2, "2"), ("trn3", 1, "1"), ("inf2", 1, None)])
def test_the_runtime_is_told_the_lnc_where_the_chip_has_one(tmp_path, target, lnc, said):
    case = Case("matmul", "nki", (), "bfloat16", target, lnc)
    made = capture_environment(tool_environment({}, tmp_path), load("2.33"), case, core=3, dge_notifications=None)
    assert made.get("NEURON_LOGICAL_NC_CONFIG") == said
    assert made["NEURON_RT_VISIBLE_CORES"] == "3"


def test_what_the_contract_takes_away_is_taken_away(tmp_path):
    unset = of_role("unset", "capture")
    assert unset and all(name.startswith(OF_SDK) for name in unset)
    made = tool_environment({"PATH": "/bin", "NEURON_LOGICAL_NC_CONFIG": "2", **dict.fromkeys(unset, "1")}, tmp_path)
    assert not {*unset} & {*made}
    assert (made["PATH"], made["NEURON_LOGICAL_NC_CONFIG"]) == ("/bin", "2")


def capture_of(core, ranks, dge=None):
    case = Case("matmul", "nki", (), "bfloat16", "trn2", 2, ranks=ranks)
    return capture_environment({}, load("2.33"), case, core=core, dge_notifications=dge)


@pytest.mark.parametrize(
    ("core", "ranks", "cores", "meeting"),
    [(3, 1, "3", None), (None, 1, None, None), (0, 2, "0-1", "127.0.0.1:62000"), (4, 3, "4-6", "127.0.0.1:62004"), (None, 2, None, "127.0.0.1:62000")],
)  # fmt: skip
def test_ranks_get_cores_in_a_row_and_a_place_to_meet(core, ranks, cores, meeting):
    made = capture_of(core, ranks)
    assert (made.get("NEURON_RT_VISIBLE_CORES"), made.get(MEETING)) == (cores, meeting)


@pytest.mark.parametrize(("dge", "said"), [(None, None), (True, "1"), (False, "0")])
def test_dge_notifications_are_said_where_they_are_asked_for(dge, said):
    assert capture_of(0, 1, dge).get("NEURON_RT_ENABLE_DGE_NOTIFICATIONS") == said


def test_the_tools_find_a_home_and_this_installation(tmp_path):
    made = tool_environment({}, tmp_path)
    assert made == {"HOME": str(tmp_path), "PYTHONPATH": str(IMPORT_ROOT), "PYTHONSAFEPATH": "1"}
    name = of_role("unset", "capture")[0].split("_", 1)[1]
    given = {"HOME": "/h", "PYTHONPATH": "/p", "NEURON_X": "1", name: "1"}
    assert tool_environment(given, tmp_path) == {**given, "PYTHONPATH": f"{IMPORT_ROOT}:/p", "PYTHONSAFEPATH": "1"}


def test_a_meeting_is_written_down_where_it_was_on_this_host():
    here = {MEETING: "127.0.0.1:62000"}
    assert recorded({**here, "HOME": "/h", "NEURON_RT_VISIBLE_CORES": "3"}) == {**here, "NEURON_RT_VISIBLE_CORES": "3"}
    assert recorded({MEETING: "10.0.0.1:62000"}) == {} == recorded({})
