"""Problems of ucb-bar/autocomp, evaluated by `neff_bench.doors.autocomp`: its own solutions, and one that is wrong.

    PYTHONPATH=autocomp python -m validation.autocomp trn-tutorial-nki2 trn-advanced-nki2 [--problem 3] [--jobs 2]

`autocomp` is a clone. A line for each problem: whether it is correct, its latency (simulated), CPU seconds. The exit code is 1
when one is not correct, or when a wrong solution is.
"""

from __future__ import annotations

import argparse
import resource
import sys

from autocomp.common import SOLS_DIR
from autocomp.search.prob import Prob

from neff_bench.doors.autocomp import NeffBench

WRONG = "\nright = solution\n\n\ndef solution(*inputs, **options):\n    return right(*inputs, **options) + 1\n"
"""Put behind a solution, it makes a wrong one: each output is larger by one."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("types", nargs="+", help="folders of autocomp/sols")
    parser.add_argument("--problem", type=int, action="append", help="numbers of problems")
    parser.add_argument("--wrong", action="store_true", help="evaluate wrong solutions alone")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    backend = NeffBench(jobs=given.jobs)
    good = True
    for kind in given.types:
        for path in sorted((SOLS_DIR / kind).glob("*_*.py"), key=lambda path: int(path.name.split("_")[0])):
            number = int(path.name.split("_")[0])
            if given.problem and number not in given.problem:
                continue
            before = _cpu_s()
            code = path.read_text() + (WRONG if given.wrong else "")
            [found] = backend.evaluate_code(Prob(kind, number), [code], None)
            good &= found["correct"] != given.wrong
            said = "correct" if found["correct"] else "incorrect"
            print(
                f"{kind:<18} {path.stem:<22} {said:<10} {found['latency']} ms, {_cpu_s() - before:.0f} s CPU",
                flush=True,
            )
    return 0 if good else 1


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main())
