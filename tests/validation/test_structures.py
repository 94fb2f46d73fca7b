from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def compared(monkeypatch):
    """A row that hardware takes `missing_us` longer for than the model says."""
    monkeypatch.syspath_prepend(str(ROOT))
    from neff_bench.simulator.timing.likeness import Likeness
    from validation.correlation.measured import Measured
    from validation.correlation.modelled import Modelled
    from validation.correlation.report import Compared

    def made(family, model_us, missing_us, lnc=2):
        summary = {
            f"{engine}_engine_instruction_count": 0 for engine in ("tensor", "scalar", "gpsimd", "vector", "sync")
        }
        summary |= dict.fromkeys(("event_count", "hbm_read_bytes", "hbm_write_bytes"), 0)
        summary["simulator_fixed_overhead_time"] = 15e-6
        like = Likeness(3, lnc, False, False, 0.0)
        row = Measured("a/a", "0", family, "t", "n", "trn2", lnc, "nki", model_us + missing_us, lambda: None)
        return Compared(row, Modelled(model_us, {}, 0.0, like, True, summary))

    return made


def test_a_cost_is_fitted_on_one_family_and_judged_on_the_others(compared):
    from validation.correlation.structures import judged

    rows = [compared("one", us, 10.0) for us in (40.0, 90.0)] + [compared("two", 40.0, 0.0)]
    table = list(judged(rows))
    # 10 of 50 and of 100 us are missing, and then none; the other family becomes 10 of 40 us too slow.
    assert "| constant, LNC 2 | one | 10000.0 | -15.0 | +25.0 |" in table
    assert "| constant, LNC 2 | two | 0.0 | +0.0 | +0.0 |" in table
    assert not any(line.startswith("| constant, LNC 1 ") for line in table)
