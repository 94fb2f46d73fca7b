import json

import pytest

from neff_bench.stage2_profile.capture.conditions import Conditions, Neighbour, unexplained, with_throttling


def neighbour(pid, cores=()):
    return Neighbour(device=1, pid=pid, program="p", cores=cores)


def test_the_worst_throttling_of_all_executions_is_kept(tmp_path):
    summaries = []
    for active_ns in (320, 25570, 614):
        keys = {"total_time": 1e-4, "throttle_active_nc0_time_ns": active_ns}
        summaries.append(tmp_path / f"summary-{active_ns}.json")
        summaries[-1].write_text(json.dumps({"summary": [keys]}))
    assert with_throttling(Conditions(), summaries).throttling == {"throttle_active_nc0_time_ns": 25570}
    assert with_throttling(None, summaries) is None


@pytest.mark.parametrize(
    ("neighbours", "said"),
    [
        (None, []),
        ((), []),
        ((neighbour(7),), ["process 7 (p) used device 1 beside the capture"]),
        ((neighbour(7, (3,)), neighbour(None)), []),
    ],
)
def test_a_process_whose_cores_nobody_knows_is_told(neighbours, said):
    assert unexplained(neighbours) == said


def test_conditions_are_records_that_nobody_changes():
    for record in (Neighbour, Conditions):
        assert record.__struct_config__.frozen
        with pytest.raises(TypeError, match="positional"):
            record("x")
    said = Conditions()
    assert (said.shared_hbm, said.dge_notifications, said.dge_compiled_out) == (False, False, False)
