"""Says what each pass of the compiler's imitation and each fitted number is worth, on development rows.

    python -m validation.ablation                                      # the table
    python -m validation.ablation CHECKOUTS [--only TEXT] [--most N]   # with the figures of these rows anew

Each entry is switched off alone, and the mean error of the rows of each repository is told with it and without it, each row by its own clock. An entry
stays where it makes the rows of two repositories or more better than it makes those of others worse. `kept` says why one stays that
these rows do not decide on. `validation/ablation.json` keeps the figures, also of what is gone; docs/model.md shows the table.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from neff_bench.simulator.compiler import imitation
from neff_bench.simulator.compiler.passes import sharing
from neff_bench.simulator.errors import SimulatorError
from validation.correlation.modelled import modelled
from validation.correlation.recorded import program_of
from validation.correlation.report import Compared

FIGURES = Path(__file__).with_name("ablation.json")
LEAST = 0.1
"""Points of mean error below which the rows of a repository are neither better nor worse."""
MOST = 8000
"""Instructions of the largest program that is evaluated."""


class Entry(NamedTuple):
    """A part of the model. chips: generations that it is for. off: names in `compiler/imitation.py` and what takes their place, or a changed
    constant. passes: modules of compiler/passes that it is. kept: why it stays where the rows do not decide."""

    what: str
    dialects: str
    chips: str
    passes: tuple[str, ...] = ()
    off: Mapping[str, Any] | str = {}
    kept: str = ""


def _steps(_: Any, steps: Any, *__: Any, **___: Any) -> Any:
    return list(steps)


ENTRIES: Mapping[str, Entry] = {
    "repeated loads": Entry("what was loaded and is unchanged is not loaded again", "old", "all", ("loads",), {"without_repeated_loads": lambda program, core: (list(program.cores[core]), False)}, "52 unseen rows of fused GELU: 10.3 % with it, 31.6 % without"),
    "loads in place": Entry("what still lies in SBUF is not loaded again", "current, old without middle end", "all", ("loads",), {"without_loads_in_place": lambda program, **_: program}, "the bytes that GEMM and three convolutions read"),
    "invariants": Entry("work that a loop repeats with the same result is done once", "old", "all", ("invariants",), {"without_repeated_work": lambda program, core, steps: list(steps)}, "52 unseen rows of fused GELU: 10.3 % with it, 11.3 % without"),
    "merging": Entry("neighbouring tiles are handled by one instruction", "old", "all", ("merging", "contraction"), {"merged_tiles": lambda program, steps, operations=None: (program.buffers, list(steps))}, "52 unseen rows of fused GELU: 10.3 % with it, 17.6 % without"),
    "sharing": Entry("copies whose engine is open go to Vector and Scalar in turn", "old", "all", ("sharing",), {"shared_copies": _steps}),
    "PE clock of sharing": Entry("how fast the compiler takes the PE for when it shares copies", "old", "all", ("sharing",), "ESTIMATED_PE_GHZ=2.4 ESTIMATED_FLOAT32_GHZ=0.6", "in traces the copies of float32 transposes alternate between the engines, those of two bytes do not"),
    "renaming": Entry("a tile that is overwritten as a whole is a new tile", "old without middle end", "all", ("renaming",), {"with_new_tiles": lambda program: program}, "AWS documents it: multi-buffering is implicit"),
    "store order": Entry("stores go behind loads, the latest first", "old without middle end", "all", ("store_order",), {"with_stores_in_turn": lambda program: program}),
    "identities": Entry("the PE transposes with a matrix that is loaded once", "old", "all", ("identities",), kept="the bytes of eight traces, and the first load of five others"),
    "spilling": Entry("tiles without room leave SBUF or PSUM", "old", "all", ("spilling", "leaving_psum"), kept="kernels that ran on hardware would be refused; such a program has the wide range"),
    "computations": Entry("a program that computes the same twice says that its counts are not exact", "old", "all", ("computations",), kept="it moves no time"),
    "dma_two_cores_ns": Entry("what waits for a DMA waits longer where both cores work", "all", "trn2, trn3", off="dma_two_cores_ns=0"),
    "disabled_dge_read_stall": Entry("part of the stalls that reads under --disable-dge have", "all", "trn2, trn3", off="disabled_dge_read_stall=0"),
    "dma_element_ns": Entry("elements that a DMA moves one by one", "all", "all", off="dma_element_ns=0"),
    "dma_read_stall_ns": Entry("reads of HBM stall", "all", "trn2, trn3", off="dma_read_stall_ns=0"),
}  # fmt: skip
GONE: Mapping[str, str] = {
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
        verdict = f"stays: {entry.kept}" if entry.kept else "stays" if earns_its_keep(means) else "not decided"
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
    for row in chosen(checkouts, "development", only, []):
        with contextlib.suppress(SimulatorError, OSError, ValueError, TypeError, LookupError):
            program = program_of(row)
            if sum(map(len, program.cores)) > most:
                continue
            base = Compared(row, modelled(program))
            for name, entry in ENTRIES.items():
                with switched_off(entry) as changes:
                    other = Compared(row, modelled(program_of(row) if entry.passes else program, changes))
                if abs(other.simulated_us - base.simulated_us) > 1e-6:
                    told = tuple(100 * abs(one.simulated_us / base.measured_us - 1) for one in (base, other))
                    errors[name][row.repository].append(told)
    return {
        name: {
            repository: [len(told), *(round(statistics.mean(column), 1) for column in zip(*told, strict=True))]
            for repository, told in sorted(of_entry.items())
        }
        for name, of_entry in errors.items()
    }


@contextlib.contextmanager
def switched_off(entry: Entry) -> Iterator[list[str]]:
    """Provide the model without an entry; yields the constants to change."""
    if isinstance(entry.off, str) and not entry.passes:
        yield entry.off.split()
        return
    off = dict(one.split("=") for one in entry.off.split()) if isinstance(entry.off, str) else entry.off
    with contextlib.ExitStack() as stack:
        for name, other in off.items():
            place, value = (sharing, float(other)) if isinstance(other, str) else (imitation, other)
            stack.enter_context(mock.patch.object(place, name, value))
        yield []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
