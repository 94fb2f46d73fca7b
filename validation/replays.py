"""Real profiles replayed through the model's costs: how far off it is, with the calibration in force if there is one.

    python -m validation.replays TARGET PROFILE.json...
    NEURON_SIM_CALIBRATION=my.calibration.json python -m validation.replays TARGET PROFILE.json...

A line for each column: rows, median error, mean of its size, rows within 5 and 10 %, the worst. Profiles of other chips are passed over.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from validation.replay import replay, target_of


def main(target: str, paths: list[str]) -> int:
    errors: dict[str, list[float]] = {}
    for path in paths:
        profile = json.loads(Path(path).read_bytes())
        if target_of(profile) == target:
            for column, model, measured in replay(profile):
                if measured:
                    errors.setdefault(column, []).append(model / measured - 1)
    for column, values in errors.items():
        sizes = [abs(value) for value in values]
        print(
            f"{column:20}{len(values):5} rows   median {statistics.median(values):+6.1%}   mean size {statistics.fmean(sizes):5.1%}"
            f"   within 5 % {sum(size <= 0.05 for size in sizes)}, 10 % {sum(size <= 0.10 for size in sizes)}   worst {max(values, key=abs):+.1%}"
        )
    return 0 if errors else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
