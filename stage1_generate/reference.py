"""Calls a reference of the user's own, or a function that makes the values of an input.

Its file may also hold the kernel. Where NKI is not installed, stand-ins take the place of its modules while that file is imported.
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

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.neffs.own import resolved
from neff_bench.sdk.installed import module_folder
from neff_bench.stage1_generate.entries import line_of, load
from neff_bench.stage1_generate.errors import BuildError

if TYPE_CHECKING:
    import numpy as np

_NKI = {"nki": "isa", "neuronxcc": "nki", "neuron_dtypes": "__init__"}
"""AWS's packages, each with a part of it. nki-library's references of packed dtypes call the last one; others import it."""


class NoTorch(BuildError):
    """A reference needs torch, which is not installed."""


def call_reference(
    entry: str, inputs: Mapping[str, np.ndarray], arguments: Mapping[str, Any]
) -> tuple[np.ndarray, ...]:
    """Call the function that an absolute entry names with `inputs` by name and those of `arguments` that it names.

    A function of a module that imports torch gets tensors, and only those that it names. Returns its arrays, one for each output. Raises
    `BuildError` when it cannot be imported, raises, or returns something else; `NoTorch` where it needs a torch that is not installed.
    """
    function = _function(entry, "reference")
    parameters = _parameters(function)
    wanted = {name: resolved(value, _looked_up) for name, value in arguments.items() if name in parameters}
    given: Mapping[str, Any] = inputs
    if isinstance(torch := getattr(function, "__globals__", {}).get("torch"), ModuleType):
        given = {name: _tensor(torch, inputs[of]) for name in parameters if (of := _named(name, inputs)) is not None}
    result = _called(f"it is called with {', '.join(given)}", "reference", entry, function, **given, **wanted)
    arrays = result.values() if isinstance(result, Mapping) else result
    return tuple(
        _array(array, "reference", entry)
        for array in (arrays if isinstance(arrays, (tuple, list)) or isinstance(result, Mapping) else (arrays,))
    )


def _named(parameter: str, inputs: Mapping[str, np.ndarray]) -> str | None:
    """Return the input for a parameter: that of its name, else the only one that adds where it lies, as `logits_hbm` for `logits`."""
    longer = [name for name in inputs if name.startswith(f"{parameter}_")]
    return parameter if parameter in inputs else longer[0] if len(longer) == 1 else None


def _tensor(torch: Any, array: np.ndarray) -> Any:
    import numpy as np

    if array.dtype.kind in "iu" and array.dtype.itemsize > 1:  # torch's indices are of 64 bits
        array = array.astype(np.int64)
    return torch.from_numpy(np.array(array))


def _looked_up(entry: str) -> Any:
    with _stand_ins():
        return load(entry)


def check_count(arrays: Sequence[np.ndarray], outputs: int) -> None:
    """Check that a reference returned one array for each of the kernel's `outputs`. Raises `BuildError`."""
    if len(arrays) != outputs:
        hint = "; is there a `return` of its output tensors?" if not outputs else ""
        raise BuildError(f"the reference returns {len(arrays)} arrays, the kernel {outputs}{hint}")


def call_values(entry: str, shape: tuple[int, ...], rank: int = 0) -> np.ndarray:
    """Call the function that an absolute entry names with `shape`, and with `rank=` where it has that parameter. Raises `BuildError` when it does not return an array of
    that shape."""
    function = _function(entry, "values")
    wanted = {"rank": rank} if "rank" in _parameters(function) else {}
    array = _array(_called("it is called with the shape", "values", entry, function, shape, **wanted), "values", entry)
    if array.shape != shape:
        raise BuildError(f"values {entry}: returned shape {array.shape}, expected {shape}")
    return array


def _function(entry: str, what: str) -> Any:
    try:
        with _stand_ins():
            return load(entry)
    except ModuleNotFoundError as error:
        kind = NoTorch if error.name == "torch" else BuildError
        raise kind(f"{what} {entry}: cannot import: {_said(error)}") from None
    except (Exception, SystemExit) as error:  # it is the user's code, it may raise anything
        raise BuildError(f"{what} {entry}: cannot import: {_said(error)}") from None


def _called(how: str, what: str, entry: str, function: Any, *positional: Any, **keywords: Any) -> Any:
    try:
        return function(*positional, **keywords)
    except (Exception, SystemExit) as error:
        raise BuildError(f"{what} {_line(error, entry)}: {_said(error)}; {how}") from error


def _array(value: Any, what: str, entry: str) -> np.ndarray:
    import numpy as np

    try:
        if hasattr(value, "detach"):  # numpy knows no bfloat16 of torch
            value = value.detach()
            value = value.float() if value.is_floating_point() else value
        array = np.asarray(value)
    except Exception as error:
        raise BuildError(f"{what} {entry}: returned no array: {_said(error)}") from None
    if array.dtype.kind not in "fiub" and array.dtype.name not in SIZE_BYTES:
        raise BuildError(f"{what} {entry}: returned an array of {array.dtype}, expected numbers")
    return array


def _parameters(function: Any) -> Sequence[str]:
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _line(error: BaseException, entry: str) -> str:
    """Return the innermost line in the reference's own file."""
    file = entry.rpartition(":")[0]
    line = line_of(error, file)
    return entry if line is None else f"{file}:{line}"


class _StandIn(ModuleType):
    """A module in which every name exists."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()


class _Anything:
    """Stands for a dtype, an operation, a decorator or a class of NKI."""

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return ()  # a class that inherits from it inherits nothing

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
