"""Public kernels on the embedded toolchain, each against a reference: right, wrong, refused by name, or crashed.

    python -m validation.wild CHECKOUTS [--only TEXT] [--jobs N] [--timeout SECONDS] [--by generate --keep FOLDER | --by check]

CHECKOUTS holds the repositories as OWNER/NAME. Each kernel runs in a process of its own. A package that a file imports
for its host code only and that is not installed (torch, torch_xla) is replaced by an empty one. `--by generate` builds and profiles all of them
by `generate-neffs` and `profile-neffs`, and says what their rows find. `--by check` judges each by the release on which its authors ran it, and
says how many are refused of those that a public record shows on a device.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from validation.wild.cases import CASES  # noqa: E402
from validation.wild.cases.case import Case, relative_error  # noqa: E402
from validation.wild.running import results_of  # noqa: E402

VERDICTS = ("right", "wrong", "refused", "crashed")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--only", default="", help="cases whose repository or name contains this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds for one kernel")
    parser.add_argument("--case", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--by", choices=("simulate", "generate", "check"), default="simulate")
    parser.add_argument("--keep", type=Path, help="a folder for what --by generate writes")
    given = parser.parse_args(arguments)
    if given.case is not None:
        print(json.dumps(_verdict(CASES[given.case], given.checkouts / CASES[given.case].repository)))
        return 0
    chosen = [at for at, case in enumerate(CASES) if given.only in f"{case.repository}/{case.name}"]
    if given.by == "generate":
        found = _by_generate(chosen, given.checkouts, given.keep, given.jobs)
    elif given.by == "check":
        from validation.wild.judged import judge, of_those_that_ran

        found = judge(chosen, given.checkouts, given.jobs)
    else:
        with ThreadPoolExecutor(given.jobs) as pool:
            found = list(pool.map(lambda at: run_apart(at, given.checkouts, given.timeout), chosen))
    _report([CASES[at] for at in chosen], found)
    if given.by == "check":
        print(f"\n{of_those_that_ran(chosen, found)}")
    return 0 if all(one["verdict"] in ("right", "refused", "missing") for one in found) else 1


def _by_generate(chosen: Sequence[int], checkouts: Path, keep: Path | None, jobs: int) -> list[dict[str, Any]]:
    from validation.wild import generated

    with tempfile.TemporaryDirectory() as scratch:
        folder = (keep or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        present = [at for at in chosen if (checkouts / CASES[at].repository / CASES[at].path).is_file()]
        said = dict(zip(present, generated.verdicts(present, checkouts.resolve(), folder, jobs), strict=True))
    found = [said.get(at, {"verdict": "missing", "what": "no checkout", "findings": []}) for at in chosen]
    for at, one in zip(chosen, found, strict=True):
        told = "".join(
            f"\n    {each['kind']}: {each['text']} ({each['file']}:{each['line']})" for each in one["findings"]
        )
        print(f"{one['verdict']:8} {CASES[at].repository}/{CASES[at].name}  {one['what']}{told}", flush=True)
    return found


def run_apart(at: int, checkouts: Path, timeout: float) -> dict[str, str]:
    """Run one case in a process of its own."""
    case = CASES[at]
    if not (checkouts / case.repository / case.path).is_file():
        found = {"verdict": "missing", "what": f"no {case.repository}/{case.path} in {checkouts}"}
    else:
        command = [sys.executable, "-m", "validation.wild", str(checkouts.resolve()), "--case", str(at)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=ROOT, check=False)
            found = json.loads(run.stdout.strip().splitlines()[-1]) if run.returncode == 0 and run.stdout else {
                "verdict": "crashed", "what": (run.stderr.strip().splitlines() or [f"exit {run.returncode}"])[-1],
            }  # fmt: skip
        except subprocess.TimeoutExpired:
            found = {"verdict": "crashed", "what": f"no answer in {timeout:g} s"}
    print(f"{found['verdict']:8} {case.repository}/{case.name}  {found['what']}", file=sys.stderr, flush=True)
    return found


def _verdict(case: Case, checkout: Path) -> dict[str, str]:
    from neff_bench.simulator.errors import CapacityWarning, SimulatorError

    os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = case.target
    started = time.monotonic()
    stdout, sys.stdout = sys.stdout, sys.stderr
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            results, expected = results_of(case, checkout)
    except SimulatorError as error:
        return {"verdict": "refused", "what": str(error)}
    except Exception as error:
        return {"verdict": "crashed", "what": f"{type(error).__name__}: {error}"}
    finally:
        sys.stdout = stdout
    errors = [relative_error(result, wanted) for result, wanted in zip(results, expected, strict=True)]
    right = all(error <= case.tolerance for error in errors)
    what = f"relative error {max(errors):.1e}, {time.monotonic() - started:.0f} s"
    too_large = [str(one.message) for one in warned if issubclass(one.category, CapacityWarning)]
    what = "; too large for the chip: ".join([what, *too_large[:1]])
    return {"verdict": "right" if right else "wrong", "what": what}


def _report(cases: Sequence[Case], found: Sequence[dict[str, str]]) -> None:
    """Print one line for each repository, and what unlocks most."""
    counts: dict[str, Counter[str]] = {}
    for case, one in zip(cases, found, strict=True):
        counts.setdefault(case.repository, Counter())[one["verdict"]] += 1
    print(f"| repository | kernels | {' | '.join(VERDICTS)} |")
    print("|---|--:|" + "--:|" * len(VERDICTS))
    for repository, count in counts.items():
        print(f"| {repository} | {count.total()} | {' | '.join(str(count[verdict]) for verdict in VERDICTS)} |")
    total = sum(counts.values(), Counter())
    print(f"| all | {total.total()} | {' | '.join(str(total[verdict]) for verdict in VERDICTS)} |")
    reasons = Counter(_reason(one["what"]) for one in found if one["verdict"] == "refused")
    if reasons:
        print("\nWhat would unlock most:")
        for reason, count in reasons.most_common():
            print(f"- {count}: {reason}")


def _reason(what: str) -> str:
    """Return a refusal without the place and the sizes of one kernel."""
    return re.sub(r"\[[\d, ]+\]", "[...]", re.sub(r"^\S+\.py:\d+: ", "", what))


if __name__ == "__main__":
    sys.exit(main())
