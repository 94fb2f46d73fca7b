import pytest

from neff_bench.neffs.case import Case
from neff_bench.sdk.environment import of_role
from neff_bench.sdk.release import load
from neff_bench.stage2_profile.capture.environment import OF_SDK, capture_environment, tool_environment


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
