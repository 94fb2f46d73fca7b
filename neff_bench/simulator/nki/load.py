"""Makes a `Program` of a kernel specification (kernel.json): imports the kernel and records it."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from neff_bench.errors import meant
from neff_bench.neffs.intake import kernel_name
from neff_bench.neffs.kernel_file import execute, kernel_module
from neff_bench.simulator.errors import KernelError, SpecError
from neff_bench.simulator.nki.install import MADE_UP, install, sdk_imported, undone
from neff_bench.simulator.nki.jit import body
from neff_bench.simulator.nki.mistakes import kernel_line
from neff_bench.simulator.nki.spec import KernelSpec, lookup, resolve_arguments
from neff_bench.simulator.nki.trace import Call, record
from neff_bench.simulator.program import Program
from neff_bench.terminal import streams

_turn = threading.RLock()
"""Held while a kernel is imported and recorded: `sys.path` and `sys.modules` belong to the whole process."""


def trace_kernel(spec: KernelSpec, target: str, lnc: int) -> Program:
    """Record the kernel on `target` with `lnc` physical cores. Raises SpecError, and KernelError with the kernel's line."""
    with loaded(spec.entry, spec.path) as kernel:
        function = body(kernel)
        arguments = resolve_arguments(spec.arguments) | _varied(function, spec)
        call = Call(function, kernel_name(spec.entry), spec.inputs, arguments, spec.outputs)
        program = record(call, target, lnc)
    if spec.ranks is not None and program.ranks > spec.ranks:
        raise _too_few_ranks(program, spec.ranks)
    return program


def _varied(function: Any, spec: KernelSpec) -> dict[str, Any]:
    """Return the varied values that are arguments of the function, and put the others into its file. Raises SpecError."""
    if not spec.varied:
        return {}
    parameters = inspect.signature(function).parameters
    arguments = {name: value for name, value in spec.varied.items() if name in parameters}
    constants = inspect.unwrap(function).__globals__
    for name in spec.varied.keys() - arguments.keys():
        if name not in constants:
            raise SpecError(f"{name} is no argument of the function and no constant of its file", spec.entry)
        constants[name] = spec.varied[name]
    return arguments


@contextlib.contextmanager
def loaded(entry: str, path: Sequence[str] = ()) -> Iterator[Any]:
    """Yield the function that an entry names; what it prints goes to stderr. `path`: folders for `sys.path`. The process is as it was
    afterwards, but for modules that the function's file imported from elsewhere than its own folder. Raises SpecError."""
    with _turn:
        if sdk_imported():
            raise SpecError(
                "the AWS nki package is imported in this process; simulate in another one, or compile with the SDK"
            )
        with undone(*MADE_UP), streams.prints_to_stderr(), contextlib.ExitStack() as at_end:
            install(over_sdk=True)
            sys.path[:0] = [folder for folder in path if folder not in sys.path]
            yield _load(entry, at_end)


def _too_few_ranks(program: Program, ranks: int) -> KernelError:
    """Refuse ranks that do not run: the others would wait for them for ever."""
    communicates = next(step for core in program.cores for step in core if "groups" in step.attributes)
    return KernelError(
        f"{communicates.op} is between ranks 0 to {program.ranks - 1}, and {ranks} would run: say `ranks: {program.ranks}`",
        program.sources[communicates.source] or None,
    )


def _load(entry: str, at_end: contextlib.ExitStack) -> Any:
    """Return the kernel that an entry names. `at_end`: forgets its file, and what was imported from the folder of that."""
    module_name, _, function = entry.rpartition(":")
    if not module_name.endswith(".py"):
        with _import_errors(module_name):
            return lookup(entry)
    path = Path(module_name)
    if not os.path.isfile(path):  # False also for a name that is too long
        raise SpecError(f"no such file: {path}")
    module = kernel_module(path)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
        at_end.callback(_forget_folder, f"{path.parent}/", set(sys.modules))
    at_end.callback(_put_back, path.stem, sys.modules.get(path.stem))
    sys.modules[path.stem] = module
    with _import_errors(path):
        execute(module)
    if not hasattr(module, function):
        raise SpecError(f"{path} has no function {function!r}{meant(function, vars(module))}")
    return getattr(module, function)


def _put_back(name: str, module: ModuleType | None) -> None:
    if module is None:
        sys.modules.pop(name, None)
    else:
        sys.modules[name] = module


def _forget_folder(folder: str, known: set[str]) -> None:
    """Forget a folder: the next kernel may lie beside other files of the same names, or beside newer ones."""
    for name in set(sys.modules) - known:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder):
            del sys.modules[name]


@contextlib.contextmanager
def _import_errors(what: str | Path) -> Iterator[None]:
    """Raise what importing a kernel raises, as SpecError with the line that raised it."""
    try:
        yield
    except SpecError:
        raise
    except SyntaxError as error:
        raise SpecError(f"SyntaxError: {error.msg}", f"{error.filename}:{error.lineno}") from error
    except (Exception, SystemExit) as error:
        raise SpecError(f"cannot import: {type(error).__name__}: {error}", kernel_line(error) or str(what)) from error
