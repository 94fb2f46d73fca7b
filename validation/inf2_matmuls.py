"""The counters of 117 public profiles of torch.matmul 128x128xN, float16, on inf2, as tests/validation/inf2_matmuls.json holds them.

    python validation/inf2_matmuls.py CHECKOUT     # a clone of github AnchovyPark/npu_profiling_code at COMMIT

The profiles carry no licence: their figures are here, the files are not.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

REPOSITORY, COMMIT = "AnchovyPark/npu_profiling_code", "2a956420183773793180bbb1f874085300327fbc"
TABLE = Path(__file__).parents[1] / "tests" / "validation" / "inf2_matmuls.json"
COUNTERS = (
    "tensor_engine_instruction_count",
    "scalar_engine_instruction_count",
    "gpsimd_engine_instruction_count",
    "vector_engine_instruction_count",
    "sync_engine_instruction_count",
    "matmul_instruction_count",
    "activate_instruction_count",
    "hardware_flops",
    "transpose_flops",
    "model_flops",
    "hbm_read_bytes",
    "hbm_write_bytes",
    "sbuf_read_bytes",
    "sbuf_write_bytes",
    "psum_read_bytes",
    "psum_write_bytes",
    "weight_size_bytes",
)
"""Of the summary; `first_execution_ns` is the total time, which has the wait of a first execution in it."""


def rows(checkout: Path) -> list[list[int]]:
    """N, total time in ns, and COUNTERS of each profile, by N."""
    found = []
    for path in (checkout / "matmul").glob("neuron_profile_results*/*.json"):
        columns = re.search(r"x(\d+)\.json$", path.name)
        if columns:
            summary = json.loads(path.read_bytes())["summary"][0]
            found.append([int(columns[1]), round(summary["total_time"] * 1e9), *(summary[name] for name in COUNTERS)])
    return sorted(found)


def main(arguments: list[str]) -> int:
    """Writes the table. Exit code 2 without a checkout that holds the profiles."""
    found = rows(Path(arguments[0])) if len(arguments) == 1 else []
    if not found:
        print(f"usage: inf2_matmuls.py CHECKOUT: a clone of {REPOSITORY}", file=sys.stderr)
        return 2
    lines = ",\n  ".join(json.dumps(row) for row in found)
    origin = json.dumps({"repository": REPOSITORY, "commit": COMMIT, "path": "matmul/neuron_profile_results*/*.json"})
    columns = json.dumps(["N", "first_execution_ns", *COUNTERS])
    TABLE.write_text(f'{{"origin": {origin},\n "columns": {columns},\n "rows": [\n  {lines}]}}\n')
    print(f"{TABLE}: {len(found)} profiles")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
