"""Says what each pass of the compiler's imitation and each fitted number is worth, on development rows.

    python -m validation.ablation                                      # the table
    python -m validation.ablation CHECKOUTS [--only TEXT] [--most N]   # with the figures of these rows anew

Each entry is switched off alone, and the mean error of the rows of each repository is told with it and without it, each row by its own clock. An entry
stays where it makes the rows of two repositories or more better than it makes those of others worse. Where these rows do not decide, it stays where
hardware or AWS's documents show by themselves that the compiler does it: `kept` says which. `validation/ablation.json` keeps the figures, also of
what is gone; docs/model.md shows the table. A line for each row goes to stderr as it is evaluated.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from neff_bench.simulator.compiler import imitation
from neff_bench.simulator.errors import SimulatorError
from validation.correlation.measured import Measured
from validation.correlation.modelled import modelled
from validation.correlation.recorded import program_of
from validation.correlation.report import Compared

FIGURES = Path(__file__).with_name("ablation.json")
LEAST = 0.1
"""Points of mean error below which the rows of a repository are neither better nor worse."""
MOST = 8000
"""Instructions of the largest program that is evaluated."""


class Entry(NamedTuple):
    """A part of the model. chips: those that it is for. off: names in `compiler/imitation.py` and what takes their place, or a changed
    constant; empty where the model cannot do without. passes: modules of compiler/passes that it is. kept: why it stays where the rows do not
    decide; its first word is one of EVIDENCE."""

    what: str
    dialects: str
    chips: str
    passes: tuple[str, ...] = ()
    off: Mapping[str, Any] | str = {}
    kept: str = ""

    def concerns(self, row: Measured) -> bool:
        """Return whether a row may move when the entry is switched off."""
        old = row.dialect == "beta"
        return (
            bool(self.off)
            and (self.chips == "all" or row.target in self.chips)
            and not (self.dialects == "old" and not old)
        )


EVIDENCE = ("traces", "profiles", "documents", "rows")
"""What may keep an entry that development rows do not decide on. traces: instruction lists, or bytes, of executions on hardware. profiles: what
the profiler says of an execution. documents: AWS's. rows: those of a repository that were measured here once, at first sight."""


def _steps(_: Any, steps: Any, *__: Any, **___: Any) -> Any:
    return list(steps)


ENTRIES: Mapping[str, Entry] = {
    "repeated loads": Entry("what was loaded and is unchanged is not loaded again", "old", "all", ("loads",), {"without_repeated_loads": lambda program, core: (list(program.cores[core]), False)}, "rows: 52 unseen ones of fused GELU (allenkchau/trainium-kernel-fusion), the second repository: 10.3 / 31.6"),
    "loads in place": Entry("what still lies in SBUF is not loaded again", "current, old without middle end", "all", ("loads",), {"without_loads_in_place": lambda program, **_: program}, "traces: bytes read by 48 GEMMs and 20 convolutions"),
    "invariants": Entry("work that a loop repeats with the same result is done once", "old", "all", ("invariants",), {"without_repeated_work": lambda program, core, steps: list(steps)}),
    "merging": Entry("neighbouring tiles are handled by one instruction", "old", "all", ("merging", "contraction"), {"merged_tiles": lambda program, steps, operations=None: (program.buffers, list(steps))}),
    "sharing": Entry("copies whose engine is open go to Vector and Scalar in turn", "old", "all", ("sharing",), {"shared_copies": _steps}),
    "renaming": Entry("a tile that is overwritten as a whole is a new tile", "old without middle end", "all", ("renaming",), {"with_new_tiles": lambda program: program}, "traces: four convolutions overlap as new tiles would; documents: multi-buffering is implicit"),
    "store order": Entry("stores go behind loads, the latest first", "old without middle end", "all", ("store_order",), {"with_stores_in_turn": lambda program: program}),
    "identities": Entry("the PE transposes with a matrix that is loaded once", "old", "all", ("identities",), kept="traces: bytes of eight, the first load of five others"),
    "spilling": Entry("tiles without room leave SBUF or PSUM", "old", "all", ("spilling", "leaving_psum"), kept="profiles: kernels whose tiles have no room ran, with names of spills; such a program has the wide range"),
    "computations": Entry("a program that computes the same twice says that its counts are not exact", "old", "all", ("computations",), kept="profiles: FLOPs of two kernels; it moves no time"),
    "dma_two_cores_ns": Entry("what waits for a DMA waits longer where both cores work", "all", "trn2, trn3", off="dma_two_cores_ns=0"),
    "disabled_dge_read_stall": Entry("part of the stalls that reads under --disable-dge have", "all", "trn2, trn3", off="disabled_dge_read_stall=0"),
    "dma_element_ns": Entry("elements that a DMA moves one by one", "all", "all", off="dma_element_ns=0"),
    "dma_read_stall_ns": Entry("reads of HBM stall", "all", "trn2, trn3", off="dma_read_stall_ns=0"),
}  # fmt: skip
GONE: Mapping[str, str] = {
    "PE clock of sharing": "an assumed speed of the PE for sharing copies, in place of the model's",
    "psum in place": "tiles read in PSUM where they lie, in half of the banks",
    "copies, current": "copies from PSUM left out",
    "copies, back end": "copies within SBUF and from PSUM left out",
    "scaled on Scalar": "tensor_scalar with one operator on Scalar",
    "store tiles": "rows for stores in one tile",
    "overwritten": "memsets that nobody reads left out",
    "same place": "a product waits for the one before in the same place of PSUM",
    "_ROW_BYTES": "rows of 8 KiB at most have descriptors of compile time; the two that gain measured the same kernels",
    "hbm_write_factor": "HBM takes longer to write",
}

Means = Mapping[str, Sequence[float]]
"""By repository: rows that the entry moves, mean error in percent with it, and without it."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path, nargs="?")
    parser.add_argument("--only", default="", help="rows whose repository, family or name contains this")
    parser.add_argument("--most", type=int, default=MOST, help="instructions of the largest program")
    given = parser.parse_args(arguments)
    figures = json.loads(FIGURES.read_bytes())
    if given.checkouts:
        for name, means in evaluated(given.checkouts, given.only, given.most).items():
            figures[name] = {**figures.get(name, {}), **means}
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    print("\n".join(table(figures)))
    return 0


def table(figures: Mapping[str, Means]) -> Iterator[str]:
    """Lines of Markdown."""
    yield "| part | what it does | dialects; chips | mean error with / without, by repository (rows) | |"
    yield "|---|---|---|---|---|"
    for name, entry in ENTRIES.items():
        means = figures.get(name, {})
        verdict = "stays" if earns_its_keep(means) else f"stays by {entry.kept}" if entry.kept else "not decided"
        yield f"| {name} | {entry.what} | {entry.dialects}; {entry.chips} | {_told(means)} | {verdict} |"
    for name, what in GONE.items():
        yield f"| {name} | {what} | | {_told(figures.get(name, {}))} | gone |"


def earns_its_keep(means: Means) -> bool:
    """Return whether it makes the rows of two repositories or more better than it makes those of others worse."""
    gains = [without - with_it for _, with_it, without in means.values()]
    return sum(gain >= LEAST for gain in gains) >= 2 and sum(gains) > 0


def _told(means: Means) -> str:
    parts = (
        f"{repository} {with_it:g} / {without:g} ({rows:g})" for repository, (rows, with_it, without) in means.items()
    )
    return ", ".join(parts) or "moves none"


def evaluated(checkouts: Path, only: str, most: int) -> dict[str, dict[str, list[float]]]:
    """Return the means of the development rows that may be evaluated."""
    from validation.correlation.__main__ import chosen

    errors: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    not_driven: list[str] = []
    for number, row in enumerate(chosen(checkouts, "development", only, not_driven), 1):
        moved = "refused"
        with contextlib.suppress(SimulatorError, OSError, ValueError, TypeError, LookupError):
            found = _moved(row, most)
            moved = ", ".join(found) or "moved by none"
            for name, told in found.items():
                errors[name][row.repository].append(told)
        print(
            f"{number} {time.process_time():.0f} s {row.repository} {row.family} {row.name}: {moved}", file=sys.stderr
        )
    print("\n".join(not_driven), file=sys.stderr)
    return {
        name: {
            repository: [len(told), *(round(statistics.mean(column), 1) for column in zip(*told, strict=True))]
            for repository, told in sorted(of_entry.items())
        }
        for name, of_entry in errors.items()
    }


def _moved(row: Measured, most: int) -> dict[str, tuple[float, float]]:
    """Return by each entry that moves the row its error in percent, with the entry and without it. Nothing for a program that is too large."""
    program = program_of(row)
    if sum(map(len, program.cores)) > most:
        return {}
    base = Compared(row, modelled(program))
    errors = {}
    for name, entry in ENTRIES.items():
        if not entry.concerns(row):
            continue
        with switched_off(entry) as changes:
            other = Compared(row, modelled(program_of(row) if entry.passes else program, changes))
        if abs(other.simulated_us - base.simulated_us) > 1e-6:
            with_it, without = (100 * abs(one.simulated_us / base.measured_us - 1) for one in (base, other))
            errors[name] = with_it, without
    return errors


@contextlib.contextmanager
def switched_off(entry: Entry) -> Iterator[list[str]]:
    """Provide the model without an entry; yields the constants to change."""
    if isinstance(entry.off, str):
        yield entry.off.split()
        return
    with contextlib.ExitStack() as stack:
        for name, other in entry.off.items():
            stack.enter_context(mock.patch.object(imitation, name, other))
        yield []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
