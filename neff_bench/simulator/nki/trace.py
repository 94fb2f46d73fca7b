"""Makes a `Program` of a kernel: runs it once for each core and gathers what it recorded."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neff_bench.chips import CHIPS, PAIRED
from neff_bench.simulator.compiler.imitation import compiled
from neff_bench.simulator.compiler.program.capacity import check_capacity
from neff_bench.simulator.compiler.program.placement import check_placement
from neff_bench.simulator.errors import CapacityError, CapacityWarning, KernelError, SimulatorError, SpecError
from neff_bench.simulator.nki.cores import check_meetings, share_by_use, share_collectives
from neff_bench.simulator.nki.mistakes import home, kernel_error
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.operations.registers import compare_branch
from neff_bench.simulator.program import Access, Buffer, Instruction, Program
from neff_bench.simulator.recording import views
from neff_bench.simulator.recording.buffers import buffers_of
from neff_bench.simulator.recording.creation import allocate, whole
from neff_bench.simulator.recording.dtype_names import dtype_of
from neff_bench.simulator.recording.recorder import Recorder, Storage, not_modelled, recording
from neff_bench.simulator.recording.regions import MemoryRegion
from neff_bench.simulator.recording.register import VirtualRegister
from neff_bench.simulator.recording.tensor import NkiTensor, access

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Call:
    """A kernel and what it is called with, by parameter name: tensors, and everything else. `name`: of the program. `outputs`: the names
    of what the kernel returns, () for output0, output1 ... `arrays`: the inputs' values by name, which loops that they bound need.
    """

    function: Callable[..., Any]
    name: str
    inputs: Iterable[InputSpec]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    arrays: Mapping[str, np.ndarray] | None = None


def record(call: Call, target: str, lnc: int, fits: bool = True) -> Program:
    """Run a kernel for each core and return what it recorded. Raises KernelError, and CapacityError, which without `fits` is a warning."""
    if target not in CHIPS:
        raise SpecError(f"unknown target {target!r}; known: {', '.join(CHIPS)}")
    if lnc not in CHIPS[target].lncs:
        raise SpecError(f"lnc {lnc} does not exist on {target}; 1 anywhere, 2 on {' and '.join(PAIRED)}")
    program, has_middle_end = traced(call, target, lnc)
    program = compiled(program, has_middle_end)
    check_placement(program)
    try:
        check_capacity(program)
    except CapacityError as error:
        if fits:
            raise
        warnings.warn(str(error), CapacityWarning, stacklevel=2)
    return program


def traced(call: Call, target: str, lnc: int) -> tuple[Program, bool | None]:
    """Return what the kernel does as it is written, and whether it has the compiler's middle end: None for one of the current dialect."""
    with recording(target, lnc) as now:
        if (arrays := call.arrays) is not None:
            now.run = lambda register: register_value(now, buffers_of(now.storages), arrays, register)
        made = {given.name: input_tensor(now, given) for given in call.inputs}
        results: list[list[NkiTensor]] = []
        for core in range(lnc):
            now.start_core(core)
            try:
                results.append(list(_tensors(call.function(**made, **call.arguments))))
            # An error that does not know its line gets that of the kernel's definition.
            except SimulatorError as error:
                raise error if error.source else type(error)(error.what, home(call.function)) from error
            except (Exception, SystemExit) as error:
                raise kernel_error(error, call.function) from error
        # Only now is it known what every core does: their meetings, what they share, and what they return.
        check_meetings(now)
        share_by_use(now, results)
        share_collectives(now)
        outputs = _outputs(results, call.outputs, home(call.function))
        program = _program(now, call.name, [tensor.storage for tensor in made.values()], outputs)
        return program, now.dialect.get("middle_end")


def input_tensor(now: Recorder, given: InputSpec) -> NkiTensor:
    """Return the HBM tensor that an input is, in a recording."""
    dtype = dtype_of(given.dtype)
    return whole(allocate(now, given.shape, dtype, MemoryRegion.shared_hbm, given.name, "input", None, 0))


def _tensors(result: Any) -> Iterable[NkiTensor]:
    """Yield the tensors in a kernel's result: one, or several in tuples, lists and dicts; None is no result."""
    if isinstance(result, NkiTensor):
        yield result
    elif isinstance(result, dict):
        yield from _tensors(list(result.values()))
    elif isinstance(result, (tuple, list)):
        for item in result:
            yield from _tensors(item)
    elif result is not None:
        raise KernelError(f"a kernel returns tensors, not {type(result).__name__}")


def _outputs(results: list[list[NkiTensor]], names: tuple[str, ...], home: str) -> list[Storage]:
    """Mark the results of core 0 as outputs. Both cores must return the same HBM tensors."""
    outputs = []
    for place, tensor in enumerate(results[0]):
        storage = tensor.storage
        if storage.memory != "hbm":
            raise KernelError(f"result {place} is in {storage.memory}; a kernel returns HBM tensors: {tensor!r}", home)
        for other in results[1:]:
            if len(other) != len(results[0]) or other[place].storage is not storage:
                raise KernelError(f"result {place} is not the same shared HBM tensor on both cores: {tensor!r}", home)
        if tensor.size != storage.size or not views.is_contiguous(tensor.shape, tensor.strides):
            raise KernelError(f"result {place} is a part of a tensor; a kernel returns whole tensors: {tensor!r}", home)
        if storage.kind == "internal":
            storage.kind = "output"
            storage.shape, storage.dtype = tensor.shape, tensor.dtype
            storage.name = names[place] if place < len(names) else f"output{place}"
        outputs.append(storage)
    if names and len(names) != len(outputs):
        raise SpecError(f"the kernel returns {len(outputs)} tensors, 'outputs' names {len(names)}", "kernel.json")
    return outputs


def _program(now: Recorder, name: str, inputs: list[Storage], outputs: list[Storage]) -> Program:
    return Program(
        name=name,
        target=now.target,
        lnc=now.lnc,
        buffers=buffers_of(now.storages),
        inputs=tuple(storage.index for storage in inputs),
        outputs=tuple(storage.index for storage in outputs),
        cores=tuple(tuple(core) if isinstance(core, list) else core for core in now.cores),
        sources=_portable(now.lines.texts),
        callers=tuple(now.lines.callers),
    )


@lru_cache(maxsize=8)
def _folders(path: tuple[str, ...], here: Path) -> tuple[str, ...]:
    """Return the folders of a `sys.path`, relative ones below `here`, the longest first."""
    return tuple(sorted({f"{(here / entry).resolve()}/" for entry in path}, key=len, reverse=True))


def _portable(sources: Iterable[str]) -> tuple[str, ...]:
    """Return lines as "package/file.py:33", below the entry of `sys.path` that holds the file: a program names no folder of the
    machine that compiled it."""
    folders = _folders(tuple(sys.path), Path.cwd())
    return tuple(_below(text, folders) for text in sources)


@lru_cache(maxsize=4096)
def _below(text: str, folders: tuple[str, ...]) -> str:
    if not text.startswith("/"):
        return text
    return next((text[len(folder) :] for folder in folders if text.startswith(folder)), text.rpartition("/")[2])


def register_value(
    now: Recorder, buffers: Sequence[Buffer], arrays: Mapping[str, np.ndarray], register: VirtualRegister
) -> int:
    """Return what `register` holds after the instructions of this core, for the inputs `arrays`, by name. Raises NotModelledError.

    `buffers`: those of the recording so far. A branch on that value is recorded too: the program serves these data only.
    """
    from neff_bench.simulator.execution.execute import execute

    cell = access(register.cell)
    steps = _behind(now.instructions, cell.buffer)
    if any("sync" in step.attributes for step in steps):
        raise not_modelled("a register whose value depends on the other core")
    peek = len(buffers)
    store = Instruction("register_store", "sync", {"dst": Access(peek, 0, ((1, 1),), "int32")}, {"src": cell}, {})
    inputs = tuple(at for at, buffer in enumerate(buffers) if buffer.kind == "input")
    program = Program(
        name="register",
        target=now.target,
        lnc=1,
        buffers=(*buffers, Buffer("register value", "hbm", (1,), "int32", "output")),
        inputs=inputs,
        outputs=(peek,),
        cores=((*steps, store),),
        sources=tuple(now.lines.texts),
    )
    value = int(execute(program, arrays)["register value"][0])
    compare_branch(register, value)
    return value


def _behind(instructions: Sequence[Instruction], buffer: int) -> list[Instruction]:
    """Return the instructions that have a part in what `buffer` holds, in order. All of them where an engine's accumulator,
    which no operand names, may have one."""
    needed = {buffer}
    found = []
    for step in reversed(instructions):
        if any(to.buffer in needed for to in step.writes.values()):
            if "reduce_cmd" in step.attributes:
                return list(instructions)
            found.append(step)
            for operand in (*step.reads.values(), *step.writes.values()):
                needed.add(operand.buffer)
                needed.update(part.index.buffer for part in operand.dynamic)
    return found[::-1]
