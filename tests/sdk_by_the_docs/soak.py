"""A bad day of captures, judged against what the kernel is known to take.

    python -m tests.sdk_by_the_docs.soak [--captures 200]

Each second capture misbehaves, in one of the ways of files/misbehaviour.py. A row is good with the right numbers, or says why it is not.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.sdk_by_the_docs import installation
from tests.sdk_by_the_docs.test_both_commands import Host

RIGHT_US = 5.78
CASES = 20


def soak(folder: Path, captures: int, cases: int = CASES) -> tuple[Counter, list[str]]:
    """How many rows of each kind there were, and the rows that are wrong without a word."""
    host = Host(folder)
    lines = host.generate("subtract", copies=cases)
    assert lines.returncode == 0, lines.stdout + lines.stderr
    installation.change(host.sdk, misbehaves=True)
    seen: Counter = Counter()
    wrong = []
    while sum(seen.values()) < captures:
        for row in host.rows("--force", "--timeout", "5"):
            good = row["status"] == "profiled" and row["check"] == "passed"
            seen[f"{row['status']}, {row['check']}"] += 1
            if good and (abs(row["total_time_us"] - RIGHT_US) > 1e-6 or row["instruction_count"] != 4):
                wrong.append(f"{row['case']}: {row['total_time_us']} us, {row['instruction_count']} instructions")
            if not good and not row["reason"]:
                wrong.append(f"{row['case']}: {row['status']}, {row['check']}, and no reason")
    return seen, wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--captures", type=int, default=200)
    with tempfile.TemporaryDirectory() as folder:
        seen, wrong = soak(Path(folder), parser.parse_args().captures)
    print("\n".join([*(f"{count:4} {what}" for what, count in seen.most_common()), *wrong]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
