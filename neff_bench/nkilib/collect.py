"""Holds a pytest plugin: nki-library's tests run up to the launch of a kernel, and what they would launch it with is written down.

RECORD_TO names a folder, RECORD_KERNELS the entries of the wanted kernels, RECORD_TARGET the chip, RECORD_TEST_S the CPU seconds of a test at most.
Each launch gives `<n>.npz`, with the tensors of each rank and the outputs that the test expects, and a line in `launches.jsonl`, or there a reason.
Packages of the tests that are not installed are there by name; what calls them fails, and that test gives nothing.
"""

from __future__ import annotations

import ast
import inspect
import json
import math
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

from neff_bench.neffs.dtypes import values_of
from neff_bench.nkilib.discover import LAUNCHES, REFERENCE
from neff_bench.simulator.nki.jit import body
from neff_bench.simulator.numpy_dtypes import dtype_name

PER_KERNEL = 2
"""Launches of a kernel that are written down; the smallest is taken."""
BYTES_MAX = 512 << 20
"""Tensors of a launch that are written down."""
_OPTIONAL = (
    "aws_embedded_metrics boto3 botocore fabric2 invoke pandas paramiko plotext pytest_html pytest_metadata scipy torch"
).split()
_ALIAS = ".must_alias_input"


class _Missing(ModuleType):
    """A module that is not installed: every name in it is a class that raises when it is made."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def raises(*_: Any, **__: Any) -> Any:
            raise NotImplementedError(f"{self.__name__}.{name} is not installed")

        return type(name, (Exception,), {"__init__": raises})


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in _missing else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Missing(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


_missing = {name for name in _OPTIONAL if find_spec(name) is None}
sys.meta_path.append(_Finder())


class _Record:
    def __init__(self, folder: Path, wanted: list[str]) -> None:
        self.folder, self.left, self.count = folder, dict.fromkeys(wanted, PER_KERNEL), 0

    def launch(self, arguments: Any) -> None:
        for entry in _kernels(arguments.kernel_func):
            if self.left.get(entry, 0):
                self._write(entry, arguments)

    def _write(self, entry: str, arguments: Any) -> None:
        said: dict[str, Any] = {"entry": entry, "target": os.environ["RECORD_TARGET"]}
        try:
            if _entry(arguments.kernel_func) != entry:
                said["wrapper"] = cut(body(arguments.kernel_func))
                said["launched"] = arguments.kernel_func.__name__
            ranks = range(arguments.inference_args.collective_ranks)
            tensors, said["arguments"] = _taken([_of_rank(arguments.kernel_input, rank) for rank in ranks])
            said["lnc"] = int(arguments.compiler_input.logical_nc_config)
            said["ranks"] = len(ranks)
            said["inputs"] = {name: [list(of[0].shape), dtype_name(of[0].dtype)] for name, of in tensors.items()}
            said["bytes"] = sum(array.nbytes for of in tensors.values() for array in of)
            if said["bytes"] > BYTES_MAX:
                raise ValueError(f"its tensors have {said['bytes'] >> 20} MiB")
            expected, said["tolerance"] = _expected(arguments.validation_args, ranks)
            said["outputs"] = len(expected)
            said["file"] = f"{self.count}.npz"
            plain: Any = {
                f"{name}.{rank}": array if array.dtype.isbuiltin == 1 else values_of(array)
                for name, of in (tensors | expected).items()
                for rank, array in enumerate(of)
            }
            np.savez(self.folder / said["file"], **plain)
            self.count += 1
            self.left[entry] -= 1
        except (TypeError, ValueError) as error:
            said = {"entry": entry, "reason": str(error)}
        with (self.folder / LAUNCHES).open("a", encoding="utf-8") as file:
            file.write(json.dumps(said) + "\n")

    @property
    def done(self) -> bool:
        return not any(self.left.values())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests with the smallest shapes first: their numbers stand in their names."""
    items.sort(key=lambda item: math.prod(int(number) or 1 for number in re.findall(r"\d+", item.name)))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let each test end where it would compile its kernel."""
    from test.utils import test_orchestrator

    record = _Record(Path(os.environ["RECORD_TO"]), os.environ["RECORD_KERNELS"].split())

    def execute(self: Any, arguments: Any) -> None:
        record.launch(arguments)
        if record.done:
            session.shouldstop = "every kernel was launched"
        pytest.skip("written down")

    test_orchestrator.Orchestrator.execute = execute


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """End a test that takes long to make its inputs: others of the file may be faster."""

    def late(*_: Any) -> None:
        pytest.skip("its inputs take long")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, float(os.environ["RECORD_TEST_S"]))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _entry(kernel: Any) -> str:
    return f"{getattr(kernel, '__module__', '')}:{getattr(kernel, '__name__', '')}"


def _kernels(launched: Any) -> Iterator[str]:
    """Yield the entry of a launched kernel; and of a test's own wrapper those of the functions that it names."""
    yield _entry(launched)
    function = body(launched)
    if getattr(launched, "__module__", "").startswith("test."):
        names = function.__code__.co_names
        yield from (_entry(function.__globals__[name]) for name in names if name in function.__globals__)


def _of_rank(given: Any, rank: int) -> Any:
    return given.for_rank(rank) if hasattr(given, "for_rank") else given


def _taken(given: list[Any]) -> tuple[dict[str, list[np.ndarray]], dict[str, Any]]:
    """Return tensors, for each rank, and other arguments. Raises ValueError for what a shapes file cannot say."""
    tensors: dict[str, list[np.ndarray]] = {}
    others = {}
    for name, value in given[0].items():
        if isinstance(value, np.ndarray) and value.ndim:
            tensors[name.removesuffix(_ALIAS)] = [of[name] for of in given]
        else:
            others[name] = _said(name, value)
            if any(_said(name, of[name]) != others[name] for of in given):
                raise ValueError(f"argument {name} differs from rank to rank")
    return tensors, others


def _expected(validation: Any, ranks: range) -> tuple[dict[str, list[np.ndarray]], list[float]]:
    """Return the outputs that the test expects and its tolerance, a part of the largest value of all; nothing where it has a check of its
    own or leaves outputs out."""
    given: Any = getattr(validation, "golden_output", None)
    if hasattr(given, "for_rank"):
        by_rank = [given.for_rank(rank) for rank in ranks]
        names = list(by_rank[0])
    else:
        golden = getattr(given, "golden", given) or {}
        by_rank, names = [golden for _ in ranks], list(getattr(given, "output_ndarray", golden))
    if not names or any(set(of) != set(names) for of in by_rank):
        return {}, []
    outputs = {f"{REFERENCE}{at}": [of[name] for of in by_rank] for at, name in enumerate(names)}
    if not all(isinstance(array, np.ndarray) for of in outputs.values() for array in of):
        return {}, []
    largest = [
        np.abs(values[np.isfinite(values)]).max(initial=0) for values in map(values_of, map(np.stack, outputs.values()))
    ]
    rtol, atol = float(validation.relative_accuracy), float(validation.absolute_accuracy)
    return outputs, [rtol, atol + rtol * float(max(largest))]


def _said(name: str, value: Any) -> Any:
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Enum):
        return {"ref": f"{type(value).__module__}:{type(value).__qualname__}.{value.name}"}
    if isinstance(value, (type, FunctionType)):
        return {"ref": f"{_module(value)}:{value.__qualname__}"}
    if isinstance(value, np.dtype):
        return dtype_name(value)
    if isinstance(value, (list, tuple)):
        return [_said(name, item) for item in value]
    given = _made_with(value)
    if given is None:
        raise ValueError(f"argument {name} is a {type(value).__name__}")
    return {
        "ref": f"{_module(type(value))}:{type(value).__qualname__}",
        "args": [_said(name, each) for each in given],
    }


def _module(value: Any) -> str:
    """Return where a class or function is imported from: a public module of NKI for what we put there."""
    public = (
        name
        for name, module in sys.modules.items()
        if name.startswith("nki.") and vars(module).get(value.__name__) is value
    )
    return next(public, None) or str(value.__module__)


def _made_with(value: Any) -> list[Any] | None:
    """Return the arguments that make an equal object, where its attributes of the same names are; else None."""
    try:
        _, *parameters = signature(type(value).__init__).parameters
        given = [getattr(value, parameter) for parameter in parameters if hasattr(value, parameter)]
        same = vars(type(value)(*given)) == vars(value)
    except Exception:  # their constructor may raise anything
        return None
    return given if same else None


_TESTS = ("test", "pytest")


def cut(function: Callable[..., Any]) -> str:
    """Return the statements of its module that bind a function's name and, in turn, the names that they use, in their order. Raises
    ValueError where these import tests."""
    source = inspect.getsource(sys.modules[function.__module__])
    statements = ast.parse(source).body
    kept: set[int] = set()
    wanted, seen = {function.__name__}, set[str]()
    while wanted:
        seen |= wanted
        used = set()
        for at, statement in enumerate(statements):
            if at not in kept and _bound(statement) & wanted:
                kept.add(at)
                used |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        wanted = used - seen
    whole = [_only(statements[at], seen) for at in sorted(kept)]
    for statement in whole:
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").partition(".")[0] in _TESTS:
            raise ValueError(f"its wrapper {function.__name__} imports {statement.module}")
    return "\n\n".join(map(ast.unparse, whole)) + "\n"


def _bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    imports = [node for node in ast.walk(statement) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return names | {_name(alias) for node in imports for alias in node.names}


def _only(statement: ast.stmt, names: set[str]) -> ast.stmt:
    """Return an import without the names that are not used."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        statement.names = [alias for alias in statement.names if _name(alias) in names]
    return statement


def _name(alias: ast.alias) -> str:
    return (alias.asname or alias.name).partition(".")[0]
