"""Thirty public kernels with their time, what bounds it and the advice they get.

    python -m validation.gallery CHECKOUTS docs/gallery.md [report.html]

CHECKOUTS holds the repositories as OWNER/NAME. The kernels and their arrays come from validation/wild: those whose outputs are right, no two of one
name, at most four of a repository. With a third argument their timelines are written there as one page.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import neff_bench
from validation.wild.__main__ import run_apart
from validation.wild.cases import CASES
from validation.wild.cases.case import Case

COUNT = 30
PER_REPOSITORY = 4
SECONDS = 120.0
"""A kernel that takes longer is left out."""
HEAD = """# Gallery

This page shows {count} public kernels. The simulator estimated their times, each with [its range](fidelity.md). The outputs of every kernel here agree
with a reference. *Bound by* is what the [critical path](glossary.md) spends most of its time on. *Gain* is a
guess of what an edit saves of that path. It can save more, less, or cost time.

`python -m validation.gallery CHECKOUTS docs/gallery.md report.html` makes this table, and a [page](page.md) with all timelines, from checkouts of the
repositories.

| kernel | inputs | chip | total us | bound by | first advice |
|---|---|---|--:|---|---|
"""


def main(checkouts: Path, page: Path, report: Path | None) -> None:
    """Write the table, and the page with the timelines."""
    with tempfile.TemporaryDirectory() as scratch:
        store = Path(scratch, "gallery")
        shown: list[tuple[Case, Any, dict[str, Any]]] = []
        for case in right_kernels(checkouts):
            row = neff_bench.profile_many([task(case, checkouts)], store=store)[0]
            if (
                row.status == "profiled"
            ):  # a few need packages of their host code replaced, which only validation/wild does
                shown.append((case, row, explained(store / row.case / "file.neff")))
            if len(shown) == COUNT:
                break
        if report:
            subprocess.run([sys.executable, "-m", "neff_bench", "profile", store, "--output", report], check=False)
    sections = "\n".join(section(number, *one) for number, one in enumerate(shown, 1))
    page.write_text(HEAD.format(count=len(shown)) + table(shown) + "\n" + sections, encoding="utf-8")


def right_kernels(checkouts: Path) -> Iterator[Case]:
    """Yield the cases of validation/wild that need no preparation and whose outputs are right."""
    taken: Counter[str] = Counter()
    for at, case in enumerate(CASES):
        prepared = case.decorate or case.make or case.prelude or case.module_reference
        if prepared or taken[case.kernel] or taken[case.repository] == PER_REPOSITORY:
            continue
        if run_apart(at, checkouts, SECONDS)["verdict"] == "right":
            taken.update((case.kernel, case.repository))
            yield case


def task(case: Case, checkouts: Path) -> neff_bench.Task:
    """Return the launch of a case. It has no reference: its outputs were compared before."""
    given = case.arguments(np.random.default_rng(0))
    arrays = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    rest = {name: value for name, value in given.items() if name not in arrays}
    return neff_bench.Task(
        f"{checkouts / case.repository / case.path}:{case.kernel}", arrays, case.target, case.lnc, rest
    )


def explained(neff: Path) -> dict[str, Any]:
    """Return the answer of `neff-bench explain` about a NEFF."""
    words = [sys.executable, "-m", "neff_bench", "explain", neff, "--format", "json"]
    return dict(json.loads(subprocess.run(words, capture_output=True, check=True).stdout))


def table(shown: Sequence[tuple[Case, Any, dict[str, Any]]]) -> str:
    """Return a line for each kernel."""
    lines = []
    for number, (case, row, told) in enumerate(shown, 1):
        advice = told["advice"][0]["title"] if told["advice"] else ""
        cells = (
            f"[{case.kernel}](#kernel-{number})",
            row.shapes,
            f"{row.target} LNC {row.lnc}",
            total(row),
            told["bound_by"],
            advice,
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def total(row: Any) -> str:
    """Return the time with its range; `~` stands for a time without one."""
    low, high = row.total_time_low_us, row.total_time_high_us
    return f"{row.total_time_us:.1f}" + (f" ({low:.0f}-{high:.0f})" if low is not None else " ~")


def section(number: int, case: Case, row: Any, told: dict[str, Any]) -> str:
    """Return the part on one kernel: where it is from, where its time goes, and its advice."""
    engines = (
        (name, getattr(row, f"{name.lower()}_active_us")) for name in ("Tensor", "Vector", "Scalar", "GpSimd", "DMA")
    )
    busy = ", ".join(f"{name} {100 * time_us / row.total_time_us:.0f} %" for name, time_us in engines)
    place = f"{case.repository}: {case.path}"
    lines = [
        f'## <a id="kernel-{number}"></a>{case.kernel}\n',
        f"[{place}](https://github.com/{case.repository}/blob/{case.commit}/{case.path}), {row.dtype}.",
        f"{total(row)} us, bound by {told['bound_by']}. Busy: {busy}.",
        f"HBM: {row.hbm_read_bytes:,} bytes read, {row.hbm_write_bytes:,} written.\n",
    ]
    if told["advice"]:
        lines += ["| advice | gain us | why |", "|---|--:|---|"]
        lines += [
            f"| {one['title']} | {'' if one['gain_us'] is None else round(one['gain_us'], 1)} | {one['evidence']} |"
            for one in told["advice"]
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]), Path(sys.argv[3]) if sys.argv[3:] else None)
