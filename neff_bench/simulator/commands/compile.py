"""Implements `compile`: an NKI kernel or an HLO module to a simulated NEFF."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from neff_bench.neffs.intake import default_lnc
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.code.descriptors import made_at_compile_time
from neff_bench.simulator.errors import CompileError, SimulatorError
from neff_bench.simulator.files.neff import write_neff
from neff_bench.simulator.program import ENGINES, Program


def compile_model(
    model: str, framework: str, target: str, lnc: int | None, output: str, disable_dge: bool = False
) -> Program:
    """Compile `framework` NKI, a kernel.json, or XLA, a serialized HloModuleProto (or a directory with graph.hlo). Raises CompileError.

    `disable_dge`: descriptors are made at compile time.
    """
    chip = chip_for(target)
    lnc = lnc or (default_lnc(target) if framework == "NKI" else chip.max_lnc)  # that of neuronx-cc
    if lnc > chip.max_lnc:
        raise CompileError(f"--lnc {lnc}: a logical core of {target} has {chip.max_lnc} physical core")
    program = _trace_kernel(model, target, lnc) if framework == "NKI" else _lower(model, target, lnc)
    if disable_dge:
        program = made_at_compile_time(program)
    try:
        write_neff(program, output)
    except OSError as error:
        raise CompileError(f"cannot write the NEFF: {error.strerror}", output) from None
    return program


def told(program: Program, output: str) -> Iterator[str]:
    """Yield what was done, in lines: operations, memory and machine instructions of each core, and the file."""
    from neff_bench.simulator.compiler.code.assembler import assemble
    from neff_bench.simulator.compiler.program.capacity import memory_peak

    yield f"INFO: {program.name}: {'HLO graph lowered' if program.from_hlo else 'kernel recorded'} for {program.target}"
    for number, (core, code) in enumerate(zip(program.cores, assemble(program), strict=True)):
        operations = Counter(instruction.op for instruction in core)
        yield f"INFO: core {number}: " + ", ".join(f"{count} {name}" for name, count in operations.most_common())
        counts = [f"{name} {int((code.engine == n).sum())}" for n, name in enumerate(ENGINES)]
        moved = sum(transfer.bytes for transfer in code.transfers)
        yield f"INFO: core {number}: instructions: {', '.join(counts)}; {len(code.transfers)} DMAs of {moved} bytes"
    for peak in memory_peak(program):
        memory = peak.memory.upper()
        yield f"INFO: core {peak.core}: {memory}: {peak.used_bytes} of {peak.capacity_bytes} bytes of each partition"
    yield f"INFO: wrote {output}: {os.path.getsize(output)} bytes"


def _trace_kernel(path: str, target: str, lnc: int) -> Program:
    from neff_bench.simulator.nki.load import trace_kernel
    from neff_bench.simulator.nki.spec import read_spec

    return trace_kernel(read_spec(Path(path)), target, lnc)


def _lower(path: str, target: str, lnc: int) -> Program:
    from neff_bench.simulator.hlo.lower import lower_hlo

    graph = os.path.join(path, "graph.hlo") if os.path.isdir(path) else path
    try:
        with open(graph, "rb") as file:
            hlo = file.read()
    except OSError as error:
        raise CompileError(f"{error.strerror}", graph) from None
    try:
        return lower_hlo(hlo, target, lnc)
    except SimulatorError as error:
        raise type(error)(error.what, error.source or graph) from None
