"""Compares the outputs of a recorded program against a reference, in process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neff_bench.stage2_profile.metrics.check import WORST, Comparison, Verdict, with_findings

if TYPE_CHECKING:
    import numpy as np

    from neff_bench.neffs.findings import Finding
    from neff_bench.simulator.program import Program

SEED = 42
"""The seed of the inputs that are drawn."""


def check_program(
    program: Program, reference: str | None, arguments: Mapping[str, Any], tolerance: tuple[float, float] | None
) -> tuple[Verdict, list[Finding]]:
    """Execute `program` on seeded inputs and compare its outputs with those of `reference` (`file.py:name`). Returns the verdict, and
    what else the execution shows.

    A program that communicates runs on all ranks that it names, each on inputs of its own. The reference then gets each input with
    the ranks as its first dimension, and returns each output in the same form. `arguments`: those of the kernel; the reference
    gets the ones that it names. `tolerance`: (rtol, atol), None for that of the element types. Raises `SimulatorError` for a
    program that cannot run and `BuildError` for a reference that fails.
    """
    from neff_bench.neffs.own import Tensor
    from neff_bench.stage1_generate.entries import place
    from neff_bench.stage1_generate.jobs.tensors import draw
    from neff_bench.stage1_generate.reference import call_reference

    inputs = [program.buffers[at] for at in program.inputs]
    tensors = [Tensor(buffer.name, buffer.shape, buffer.dtype) for buffer in inputs]
    drawn = [draw(tensors, SEED, rank) for rank in range(program.ranks)]
    if reference is None:
        return compared(program, drawn, None, tolerance)
    entry = place(reference, Path.cwd()).entry
    return compared(program, drawn, lambda arrays: call_reference(entry, arrays, arguments), tolerance)


def compared(
    program: Program,
    drawn: Sequence[Mapping[str, np.ndarray]],
    compute: Callable[[Mapping[str, np.ndarray]], Sequence[np.ndarray]] | None,
    tolerance: tuple[float, float] | None,
) -> tuple[Verdict, list[Finding]]:
    """Return the same on given inputs. `drawn`: those of each rank by name. `compute`: what is right for them as float32 arrays; None where nobody says."""
    import numpy as np

    from neff_bench.simulator.execution.execute import execute_ranks
    from neff_bench.stage1_generate.errors import BuildError
    from neff_bench.stage1_generate.jobs.tensors import default_tolerance
    from neff_bench.stage1_generate.reference import check_count

    findings: list[Finding] = []
    outputs = _together(execute_ranks(program, drawn, findings))
    if compute is None:
        return with_findings(Verdict("unchecked", None, "no reference was given"), findings), findings
    arrays = _together(drawn)
    exact = {name: a if a.dtype.kind in "iu" else a.astype(np.float32) for name, a in arrays.items()}
    expected = compute(exact)
    check_count(expected, len(outputs))
    rounded = [ref.astype(out.dtype) for out, ref in zip(outputs.values(), expected, strict=True)]
    dtypes = [program.buffers[at].dtype for at in (*program.inputs, *program.outputs)]
    limits = tolerance or default_tolerance(dtypes, rounded)
    verdicts = []
    for (name, out), ref in zip(outputs.items(), rounded, strict=True):
        if ref.shape != out.shape:
            raise BuildError(f"reference of {name} has shape {ref.shape}, the kernel's output {out.shape}")
        comparison = Comparison(limits, (out.shape or (1,))[-1])
        comparison.add(out.astype(np.float64), ref.astype(np.float64))
        verdicts.append(comparison.verdict(name, out.shape))
    return with_findings(min(verdicts, key=lambda verdict: WORST.index(verdict.check)), findings), findings


def _together(ranks: Sequence[Mapping[str, np.ndarray]]) -> Mapping[str, np.ndarray]:
    """Return the arrays of all ranks by name, with the ranks as a first dimension where there are several."""
    import numpy as np

    return ranks[0] if len(ranks) == 1 else {name: np.stack([of[name] for of in ranks]) for name in ranks[0]}
