import json

from neff_bench.stage2_profile.capture.runs import Conditions, Execution
from neff_bench.stage2_profile.view.profile_view import with_throttling


def test_the_worst_throttling_of_all_executions_is_kept(tmp_path):
    executions = []
    for number, active_ns in enumerate((320, 25570, 614), start=1):
        keys = {"total_time": 1e-4, "throttle_active_nc0_time_ns": active_ns}
        (tmp_path / f"summary-{number}.json").write_text(json.dumps({"summary": [keys]}))
        executions.append(Execution(rank=0, execution=number, ntff="x.ntff", summary=f"summary-{number}.json"))
    kept = with_throttling(Conditions(), tmp_path, executions)
    assert kept.throttling == {"throttle_active_nc0_time_ns": 25570}
    assert with_throttling(None, tmp_path, executions) is None
