import json

from neff_bench.stage2_profile.capture.conditions import Conditions, with_throttling


def test_the_worst_throttling_of_all_executions_is_kept(tmp_path):
    summaries = []
    for active_ns in (320, 25570, 614):
        keys = {"total_time": 1e-4, "throttle_active_nc0_time_ns": active_ns}
        summaries.append(tmp_path / f"summary-{active_ns}.json")
        summaries[-1].write_text(json.dumps({"summary": [keys]}))
    assert with_throttling(Conditions(), summaries).throttling == {"throttle_active_nc0_time_ns": 25570}
    assert with_throttling(None, summaries) is None
