"""A pytest plugin: nki-library's tests run up to the launch of a kernel, and what they would launch it with is written down.

RECORD_TO names a folder, RECORD_KERNELS the entries of the kernels that are wanted, separated by spaces, RECORD_TARGET the chip. For each launch of one
of them there is `<n>.npz` with the tensors and a line in `launches.jsonl`; for one that cannot be written down the line has a
reason. Packages of the tests that are not installed are there by name; what calls them fails, and that test gives nothing.
"""

from __future__ import annotations

import json
import os
import sys
from enum import Enum
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from neff_bench.nkilib.discover import LAUNCHES

PER_KERNEL = 4
"""Launches of a kernel that are looked at; the smallest is taken."""
BYTES_MAX = 64 << 20
"""Tensors of a launch that are written down."""
_EXACT = {np.dtype(getattr(ml_dtypes, name)) for name in ("bfloat16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2")}
"""Types that float32 holds exactly; npz has none of them."""
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
        entry = _entry(arguments.kernel_func)
        if self.left.get(entry, 0) == 0:
            return
        self.left[entry] -= 1
        said: dict[str, Any] = {"entry": entry, "target": os.environ["RECORD_TARGET"]}
        try:
            tensors, said["arguments"] = _taken(arguments.kernel_input)
            said["lnc"] = int(arguments.compiler_input.logical_nc_config)
            said["inputs"] = {name: [list(array.shape), _name(array.dtype)] for name, array in tensors.items()}
            said["bytes"] = sum(array.nbytes for array in tensors.values())
            if said["bytes"] > BYTES_MAX:
                raise ValueError(f"its tensors have {said['bytes'] >> 20} MiB")
            said["file"] = f"{self.count}.npz"
            plain: Any = {name: _plain(array) for name, array in tensors.items()}
            np.savez(self.folder / said["file"], **plain)
            self.count += 1
        except (TypeError, ValueError) as error:
            said = {"entry": entry, "reason": str(error)}
        with (self.folder / LAUNCHES).open("a", encoding="utf-8") as file:
            file.write(json.dumps(said) + "\n")

    @property
    def done(self) -> bool:
        return not any(self.left.values())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests that nki-library marks as fast first."""
    items.sort(key=lambda item: item.get_closest_marker("fast") is None)


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


def _entry(kernel: Any) -> str:
    return f"{getattr(kernel, '__module__', '')}:{getattr(kernel, '__name__', '')}"


def _taken(given: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return tensors and other arguments. Raises ValueError for what a shapes file cannot say."""
    if not isinstance(given, dict):
        raise ValueError("its inputs differ from rank to rank")
    tensors, others = {}, {}
    for name, value in given.items():
        if isinstance(value, np.ndarray) and value.ndim:
            tensors[name.removesuffix(_ALIAS)] = value
        else:
            others[name] = _said(name, value)
    return tensors, others


def _said(name: str, value: Any) -> Any:
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Enum):
        return {"ref": f"{type(value).__module__}:{type(value).__qualname__}.{value.name}"}
    if isinstance(value, (type, FunctionType)):
        return {"ref": f"{value.__module__}:{value.__qualname__}"}
    if isinstance(value, (list, tuple)):
        return [_said(name, item) for item in value]
    given = _made_with(value)
    if given is None:
        raise ValueError(f"argument {name} is a {type(value).__name__}")
    return {
        "ref": f"{type(value).__module__}:{type(value).__qualname__}",
        "args": [_said(name, each) for each in given],
    }


def _made_with(value: Any) -> list[Any] | None:
    """Return the arguments that make an equal object, where its attributes of the same names are; else None."""
    try:
        _, *parameters = signature(type(value).__init__).parameters
        given = [getattr(value, parameter) for parameter in parameters if hasattr(value, parameter)]
        same = vars(type(value)(*given)) == vars(value)
    except Exception:  # their constructor may raise anything
        return None
    return given if same else None


def _name(dtype: np.dtype) -> str:
    return str(dtype.name)


def _plain(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype in _EXACT else array
