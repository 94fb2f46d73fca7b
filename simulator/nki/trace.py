"""From a kernel to a `Program`: run it once for each core and gather what it recorded."""

from __future__ import annotations

import inspect
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neff_bench.chips import CHIPS, PAIRED
from neff_bench.simulator.compiler.capacity import check_capacity
from neff_bench.simulator.compiler.middle_end import middle_end
from neff_bench.simulator.compiler.placement import check_placement
from neff_bench.simulator.errors import (
    CapacityError,
    CapacityWarning,
    KernelError,
    MissingAttribute,
    SimulatorError,
    SpecError,
)
from neff_bench.simulator.nki.cores import check_meetings, share_by_use, share_collectives
from neff_bench.simulator.nki.data import register_value
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.program import Buffer, Program
from neff_bench.simulator.recording import views
from neff_bench.simulator.recording.creation import allocate, whole
from neff_bench.simulator.recording.dtype_names import dtype_of
from neff_bench.simulator.recording.lines import OWN
from neff_bench.simulator.recording.recorder import Recorder, Storage, recording
from neff_bench.simulator.recording.regions import MemoryRegion
from neff_bench.simulator.recording.tensor import NkiTensor

if TYPE_CHECKING:
    import numpy as np


def record(
    function: Callable[..., Any],
    name: str,
    inputs: Iterable[InputSpec],
    arguments: dict[str, Any],
    output_names: tuple[str, ...],
    target: str,
    lnc: int,
    fits: bool = True,
    arrays: Mapping[str, np.ndarray] | None = None,
) -> Program:
    """Run `function` for each core with `inputs` and `arguments` as keywords and return what it recorded.

    Raises KernelError for a kernel that fails, and CapacityError when its tensors do not fit into SBUF or PSUM; without
    `fits` the latter is a warning. `arrays`: the inputs' values by name, which loops that they bound need.
    """
    if target not in CHIPS:
        raise SpecError(f"unknown target {target!r}; known: {', '.join(CHIPS)}")
    if lnc not in CHIPS[target].lncs:
        raise SpecError(f"lnc {lnc} does not exist on {target}; 1 anywhere, 2 on {PAIRED.replace(', ', ' and ')}")
    with recording(target, lnc) as now:
        if arrays is not None:
            now.run = lambda register: register_value(now, _buffers(now), arrays, register)
        made = {given.name: input_tensor(now, given) for given in inputs}
        results: list[list[NkiTensor]] = []
        for core in range(lnc):
            now.start_core(core)
            try:
                results.append(list(_tensors(function(**made, **arguments))))
            except SimulatorError as error:
                raise error if error.source else type(error)(error.what, _home(function)) from error
            except (Exception, SystemExit) as error:
                raise _kernel_error(error, function) from error
        check_meetings(now)
        share_by_use(now, results)
        share_collectives(now)
        outputs = _outputs(results, output_names, _home(function))
        program = _program(now, name, [tensor.storage for tensor in made.values()], outputs)
        if now.dialect.get("middle_end"):
            program = middle_end(program)
        check_placement(program)
        try:
            check_capacity(program)
        except CapacityError as error:
            if fits:
                raise
            warnings.warn(str(error), CapacityWarning, stacklevel=2)
        return program


def input_tensor(now: Recorder, given: InputSpec) -> NkiTensor:
    """The HBM tensor that an input is, in a recording."""
    dtype = dtype_of(given.dtype)
    return whole(allocate(now, given.shape, dtype, MemoryRegion.shared_hbm, given.name, "input", None, 0))


def _tensors(result: Any) -> Iterable[NkiTensor]:
    """The tensors in a kernel's result: one, or several in tuples, lists and dicts; None is no result."""
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


def _buffers(now: Recorder) -> tuple[Buffer, ...]:
    return tuple(
        Buffer(
            storage.name or f"{storage.memory}{storage.index}",
            storage.memory,
            storage.shape,
            storage.dtype,
            storage.kind,
            storage.core,
            storage.data,
            storage.address,
            storage.source,
            storage.partition,
        )
        for storage in now.storages
    )


def _program(now: Recorder, name: str, inputs: list[Storage], outputs: list[Storage]) -> Program:
    return Program(
        name=name,
        target=now.target,
        lnc=now.lnc,
        buffers=_buffers(now),
        inputs=tuple(storage.index for storage in inputs),
        outputs=tuple(storage.index for storage in outputs),
        cores=tuple(tuple(core) for core in now.cores),
        sources=_portable(now.lines.texts),
        callers=tuple(now.lines.callers),
    )


@lru_cache(maxsize=8)
def _folders(path: tuple[str, ...], here: Path) -> tuple[str, ...]:
    """The folders of a `sys.path`, relative ones below `here`, the longest first."""
    return tuple(sorted({f"{(here / entry).resolve()}/" for entry in path}, key=len, reverse=True))


def _portable(sources: Iterable[str]) -> tuple[str, ...]:
    """Lines as "package/file.py:33", below the entry of `sys.path` that holds the file: a program names no folder of the
    machine that compiled it."""
    folders = _folders(tuple(sys.path), Path.cwd())
    return tuple(_below(text, folders) for text in sources)


@lru_cache(maxsize=4096)
def _below(text: str, folders: tuple[str, ...]) -> str:
    if not text.startswith("/"):
        return text
    return next((text[len(folder) :] for folder in folders if text.startswith(folder)), text.rpartition("/")[2])


def _kernel_error(error: BaseException, function: Callable[..., Any]) -> KernelError:
    """A kernel's own exception (an assert, a TypeError) with the innermost line that is the kernel's.

    An exception inside of the dialect comes from arguments that no rule foresaw; it names the function that got them.
    """
    line = kernel_line(error) or _home(function)
    if isinstance(error, AttributeError) and (owner := _owner(error.obj)):
        return MissingAttribute(f"{owner} has no attribute {error.name!r}", line)
    what = str(error) or "failed"
    called = _called(error)
    if called and isinstance(error, (TypeError, ValueError, AttributeError, LookupError, ArithmeticError)):
        what = f"{called} cannot take these arguments: {what}"
    elif not isinstance(error, AssertionError):
        what = f"{type(error).__name__}: {what}"
    return KernelError(what, line)


def _owner(value: Any) -> str:
    """What an object or a class of the dialect is to the kernel's author; "" for anything else.

    Tensors have no __getattr__ that would say so: with one, each attribute that they have takes three times as long.
    """
    kind = value if isinstance(value, type) else type(value)
    if not kind.__module__.startswith(_OURS):
        return ""
    return "a tensor of nki" if kind is NkiTensor else f"nki's {kind.__name__}"


_OURS = __name__.rpartition(".nki.")[0]


def _called(error: BaseException) -> str:
    """The function of the dialect that the kernel's innermost line called; "" when the kernel itself raised, "the kernel" when
    no line of it ran."""
    name = ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(OWN):
            return name
        name = _WORDS.get(frame.name, frame.name)
    return "the kernel"


_WORDS = {"__getitem__": "indexing", "getitem": "indexing", "__setitem__": "assignment", "method": "an operator",
          "returning": "an instruction", "__call__": "a call"}  # fmt: skip
"""What to call functions whose names say nothing to the kernel's author."""


def kernel_line(error: BaseException) -> str | None:
    """ "file.py:33" of the innermost frame that is neither ours nor Python's nor numpy's."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((*OWN, "<frozen")) and not _of_python(frame.filename):
            return f"{frame.filename}:{frame.lineno}"
    return None


def _of_python(filename: str) -> bool:
    packages = "site-packages" in filename or "dist-packages" in filename
    return (filename.startswith(_STANDARD) and not packages) or (packages and "/numpy/" in filename)


_STANDARD = sysconfig.get_path("stdlib") + "/"


def _home(function: Callable[..., Any]) -> str:
    """Where a kernel is defined."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(function)
