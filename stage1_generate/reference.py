"""Call a reference of the user's own.

Its file may also hold the kernel. Where NKI is not installed, stand-ins take the place of its modules while that file is
imported: every name in them exists, and a decorator from them returns its function. The kernel itself is not called here.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from neff_bench.stage1_generate.entries import load
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.toolchains.find import module_folder

if TYPE_CHECKING:
    import numpy as np

_NKI = {"nki": "isa", "neuronxcc": "nki"}


def call_reference(
    entry: str, inputs: Mapping[str, np.ndarray], arguments: Mapping[str, Any]
) -> tuple[np.ndarray, ...]:
    """Call the function that an absolute entry names with `inputs` by name and those of `arguments` that it names.

    Returns its arrays, one for each output. Raises `BuildError` when it cannot be imported, raises, or returns something else.
    """
    import numpy as np

    try:
        with _stand_ins():
            function = load(entry)
    except (Exception, SystemExit) as error:  # it is the user's code, it may raise anything
        raise BuildError(f"reference {entry}: cannot import: {_said(error)}") from None
    wanted = {name: value for name, value in arguments.items() if name in _parameters(function)}
    try:
        result = function(**inputs, **wanted)
    except Exception as error:
        where = _line(error, entry)
        raise BuildError(f"reference {where}: {_said(error)}; it is called with {', '.join(inputs)}") from error
    arrays = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    try:
        return tuple(np.asarray(array) for array in arrays)
    except Exception as error:
        raise BuildError(f"reference {entry}: returned no array: {_said(error)}") from None


def _parameters(function: Any) -> Sequence[str]:
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _line(error: BaseException, entry: str) -> str:
    """The innermost line in the reference's own file."""
    file, where, trace = entry.rpartition(":")[0], entry, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            where = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return where


class _StandIn(ModuleType):
    """A module in which every name exists."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()


class _Anything:
    """Stands for a dtype, an operation or a decorator of NKI."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __call__(self, *positional: Any, **keywords: Any) -> Any:
        return positional[0] if len(positional) == 1 and not keywords and callable(positional[0]) else self


class _Finder(MetaPathFinder, Loader):
    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = packages

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in self._packages else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


@contextmanager
def _stand_ins() -> Iterator[None]:
    absent = [name for name, part in _NKI.items() if module_folder(name, part) is None and name not in sys.modules]
    finder = _Finder(absent)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name, module in sys.modules.items() if isinstance(module, _StandIn)]:
            del sys.modules[name]
