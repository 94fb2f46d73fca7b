"""Says how far simulated profiles are from measured ones.

    python validation/fidelity.py [--data DIR] [--nkilib PATH]

*replay*: the instruction lists of real profiles, with their own dependencies, run through the model's costs: what is off
here is off in the costs. *predict*: our own program of the same kernel: what is off here and not in the replay is off in the
program (what a compiler adds, its order, its queues). Nothing is fitted to the rows it prints.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from validation.rows import Row


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="measured.json and real/ [%(default)s]"
    )
    parser.add_argument("--nkilib", type=Path, help="a checkout of nki-library, for its mlp kernel and cycle baselines")
    parser.add_argument(
        "--gemm", type=Path, help="a checkout of SemiAnalysisAI/InferenceX at e60b2ca: a GEMM and its measurements"
    )
    parser.add_argument("--rows", type=int, help="run only so many baselines of each kind and GEMMs [all of them]")
    options = parser.parse_args(arguments)
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    found = (options.data / "measured.json").exists()
    if not found:
        print(f"no measurements at {options.data}: give --data DIR with measured.json and real/", file=sys.stderr)
    if found:
        show(
            "replay of real instruction lists (trn2, attention)", replay_rows(options.data / "real" / "trn2_attention")
        )
        show("replay of real instruction lists (inf2, matmul)", replay_rows(options.data / "real" / "inf2_matmul"))
        from validation.profiled import profiled_rows

        show("predict: kernels of which a few figures are public", profiled_rows())
    if options.nkilib is None:
        print("predict: give --nkilib PATH (a checkout of nki-library at 0759719) for its mlp", file=sys.stderr)
    elif not options.nkilib.exists():
        print(f"no nki-library at {options.nkilib}", file=sys.stderr)
        return 1
    else:
        from validation import predictions

        if found:
            show("predict: mlp of nki-library (trn2)", predictions.mlp_rows(options.nkilib, options.data))
            show(
                "counters of mlp b1 s128 h1024 i512, LNC 2",
                predictions.counter_rows(options.nkilib, options.data),
                exact=True,
            )
        show(
            "predict: recorded baselines of nki-library's mlp tests",
            predictions.baseline_rows(options.nkilib, options.rows),
        )
    if options.gemm is not None:
        from validation.gemm import GEMMS, LATER_GEMMS, gemm_rows

        show("predict: GEMM (trn3, LNC 2, bfloat16)", gemm_rows(options.gemm, options.rows, GEMMS))
        show("predict: GEMM, longitudinal snapshots", gemm_rows(options.gemm, options.rows, LATER_GEMMS))
    return 0 if found else 1


def show(title: str, rows: Iterable[Row], exact: bool = False) -> None:
    print(f"\n{title}")
    errors: dict[str, list[float]] = {}
    for row in rows:
        error = row.error
        shown = "" if error is None else ("exact" if exact and error == 0 else f"{100 * error:+.1f} %")
        measured = "-" if row.measured is None else f"{row.measured:,.2f}"
        print(f"  {row.name:<44}{row.column:<26}{row.model:>16,.2f} {measured:>16} {shown:>9}")
        if error is not None:
            errors.setdefault(row.column, []).append(error)
    if exact:
        return
    for column, values in errors.items():
        if len(values) > 1:
            low, middle, high = min(values), statistics.median(values), max(values)
            print(
                f"  {'median [min, max]':<44}{column:<26}{100 * middle:+.1f} % [{100 * low:+.1f}, {100 * high:+.1f}] %"
            )


def replay_rows(folder: Path) -> Iterator[Row]:
    from validation.replay import replay
    from validation.rows import Row

    for path in sorted(folder.glob("*/ntff.json")):
        profile = json.loads(path.read_bytes())
        yield from (Row(path.parent.name, column, model, measured) for column, model, measured in replay(profile))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    raise SystemExit(main(sys.argv[1:]))
