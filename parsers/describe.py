"""Makes plain dictionaries of what a file holds, ready for JSON. The keys are part of the command's contract: `inspect --help` names them."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from neff_bench.parsers.container import same_program
from neff_bench.parsers.errors import ParseError, guarded
from neff_bench.parsers.hlo import HloComputation, HloModule, Shape, read_hlo_file
from neff_bench.parsers.kinds import describe_json, kind_of
from neff_bench.parsers.metadata import Metadata
from neff_bench.parsers.neff import Neff, TensorInfo, read_neff, read_uuid
from neff_bench.parsers.ntff import read_ntff
from neff_bench.parsers.plausibility import PEAK_FACTOR, active_s, first_execution, impossible
from neff_bench.parsers.profile_json import read_metadata, read_summary
from neff_bench.parsers.summary import Summary
from neff_bench.parsers.trace import Ntff

SUFFIXES = (".neff", ".ntff", ".json", ".hlo")
LEVELS_ABOVE = 2


def files_under(path: Path, unreadable: list[OSError]) -> list[Path]:
    """Return the files to show of a directory, recursively: NEFFs, NTFFs, JSON and Parquet profiles; links and hidden directories are left out."""
    if not os.path.isdir(path) or (path / "Summary.parquet").is_file():
        return [path]
    found: list[Path] = []
    for directory, names, files in os.walk(path, onerror=unreadable.append):
        here = Path(directory)
        if "Summary.parquet" in files:
            names.clear()
            found.append(here)
            continue
        names[:] = sorted(name for name in names if not name.startswith("."))
        found += [here / name for name in sorted(files) if name.lower().endswith(SUFFIXES)]
    return found


@guarded
def describe(path: Path, neffs: Iterable[Path] = ()) -> dict[str, Any] | None:
    """Return one file. `neffs`: those that an NTFF is checked against. None for JSON that is no profile. Raises ParseError."""
    kind = kind_of(path)
    if kind == "neff":
        return describe_neff(read_neff(path))
    if kind == "ntff":
        trace = read_ntff(path)
        return {**describe_ntff(trace), "neff": program_of(trace, neffs)}
    if kind == "hlo":
        return describe_hlo(path, read_hlo_file(path))
    if kind == "parquet":
        from neff_bench.parsers.parquet import read_parquet

        return describe_profile(path, *read_parquet(path))
    profile = describe_json(path)
    if profile is None:
        return None
    if profile.kind == "session":
        from neff_bench.parsers.session import read_session

        session = read_session(path)
        cores = [{**dataclasses.asdict(core), "time_s": core.time_s} for core in session.cores]
        return {"kind": "session", "path": str(path), "total_time_s": session.total_time_s, "cores": cores}
    return describe_profile(path, read_summary(path), read_metadata(path)[0])


def describe_hlo(path: Path, module: HloModule) -> dict[str, Any]:
    """Return the module with its computations, the entry last; FLOPs are two for each multiply-accumulate of a `dot`."""
    entry = module.computations[module.entry]
    macs = module.mac_counts()
    parameters = sorted((i for i in entry.instructions if i.opcode == "parameter"), key=lambda i: i.parameter_number)
    root = next(i for i in entry.instructions if i.id == entry.root)
    results = root.shape.elements or (root.shape,)
    return {
        "kind": "hlo",
        "path": str(path),
        "bytes": path.stat().st_size,
        "name": module.name,
        "flops": 2 * macs[module.entry],
        "parameters": [{"name": i.name, **_shape(i.shape)} for i in parameters],
        "results": [_shape(shape) for shape in results],
        "computations": [_computation(module.computations[number], macs[number]) for number in macs],
    }


def _computation(computation: HloComputation, macs: int) -> dict[str, Any]:
    opcodes = Counter(i.opcode for i in computation.instructions)
    return {
        "name": computation.name,
        "instruction_count": len(computation.instructions),
        "flops": 2 * macs,
        "opcodes": dict(opcodes.most_common()),
        "dots": [
            {"name": i.name, **_shape(i.shape), "flops": 2 * macs_of_dot} for i, macs_of_dot in computation.dots()
        ],
    }


def _shape(shape: Shape) -> dict[str, Any]:
    return {"shape": list(shape.dimensions), "dtype": shape.dtype}


def describe_neff(neff: Neff) -> dict[str, Any]:
    """Return a NEFF as a plain dictionary."""
    return {
        "kind": "neff",
        "path": neff.path,
        "bytes": neff.bytes,
        "simulated": neff.simulated,
        "version": neff.version,
        "package_version": neff.package_version,
        "compiler_version": neff.compiler_version,
        "target": neff.target,
        "architecture": neff.architecture,
        "lnc": neff.lnc,
        "uuid": neff.uuid,
        "hash": neff.hash,
        "name": neff.name,
        "inputs": [_tensor(tensor) for tensor in neff.inputs],
        "outputs": [_tensor(tensor) for tensor in neff.outputs],
        "hlo_mac_count": neff.hlo_mac_count,
        "engines": {name: {"instruction_count": engine.instruction_count} for name, engine in neff.engines.items()},
        "queues": [dataclasses.asdict(queue) for queue in neff.queues],
        "members": [{"name": member.name, "bytes": member.bytes} for member in neff.members],
    }


def _tensor(tensor: TensorInfo) -> dict[str, Any]:
    return {"name": tensor.name, "shape": list(tensor.shape), "dtype": tensor.dtype, "bytes": tensor.bytes}


def describe_ntff(trace: Ntff) -> dict[str, Any]:
    """Return a trace as a plain dictionary."""
    return {
        "kind": "ntff",
        "path": trace.path,
        "bytes": trace.bytes,
        "version": trace.version,
        "certainty": trace.certainty,
        "neff_name": trace.neff_name,
        "uuid": trace.uuid,
        "instance_type": trace.instance_type,
        "runtime_version": trace.runtime_version,
        "driver_version": trace.driver_version,
        "collectives_version": trace.collectives_version,
        "total_time_s": trace.total_time_s,
        "neuroncore_cycle_count": trace.neuroncore_cycle_count,
        "event_count": trace.event_count,
        "matmul_instruction_count": trace.matmul_instruction_count,
        "activate_instruction_count": trace.activate_instruction_count,
        "engines": {name: dataclasses.asdict(engine) for name, engine in trace.engines.items()},
        "dma": None if trace.dma is None else dataclasses.asdict(trace.dma),
        "dma_kinds": {kind: dataclasses.asdict(time) for kind, time in trace.dma_kinds.items()},
        "dma_queue_count": len(trace.queues),
        "total_active_time_s": trace.total_active_time_s,
        "trace_count": trace.trace_count,
        "target": trace.family,
        "memory": [dataclasses.asdict(use) for use in trace.memory],
        "full_buffers": list(trace.full_buffers),
        "undecoded": dict(trace.undecoded),
        "warnings": [*filter(None, [first_execution(trace.total_time_s, trace.summed_active_time_s)])],
    }


def program_of(trace: Ntff, neffs: Iterable[Path]) -> dict[str, Any] | None:
    """Return the NEFF that the trace is of, or one that it is not of, or None where there is no NEFF to ask.

    Asked are `neffs`, those beside the trace, and the directories above it, where test harnesses keep the NEFF: up there another program
    means nothing. `same_program`: True, False, or None where the trace keeps too little of the uuid to tell.
    """
    directory = Path(trace.path).absolute().parent
    beside = dict.fromkeys((*neffs, *sorted(directory.glob("*.neff"))))
    above = [path for parent in directory.parents[:LEVELS_ABOVE] for path in sorted(parent.glob("*.neff"))]
    answers = [(answer, path) for path in beside if (answer := _answer(trace, path)) != "unreadable"]
    answers += [(True, path) for path in above if _answer(trace, path) is True]
    for wanted in (True, None, False):
        for answer, path in answers:
            if answer is wanted:
                return {"path": str(path), "same_program": answer}
    return None


def _answer(trace: Ntff, neff: Path) -> bool | None | Literal["unreadable"]:
    try:
        return same_program(trace.uuid, read_uuid(neff))
    except ParseError:
        return "unreadable"


def describe_profile(path: Path, summary: Summary, metadata: Metadata) -> dict[str, Any]:
    """Return the summary of a profile as a plain dictionary, with the figures that disagree with its own counters."""
    from neff_bench.parsers.selfcheck import check

    checks = check(summary, metadata)
    known = {key: value for key, value in dataclasses.asdict(summary).items() if value not in (None, {})}
    return {
        "kind": "profile",
        "path": str(path),
        "is_simulation": summary.is_simulation,
        "summary": known,
        "metadata": dataclasses.asdict(metadata),
        "suspect": list(impossible(summary, PEAK_FACTOR)),
        "warnings": [*filter(None, [first_execution(summary.total_time_s, active_s(summary))])],
        "self_check": {
            "checked": len(checks),
            "disagreements": [dataclasses.asdict(one) for one in checks if not one.agrees],
        },
    }
