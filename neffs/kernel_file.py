"""Imports python files that hold kernels as they are at this moment: cached bytecode counts for all changes within one second."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import RLock
from types import CodeType, ModuleType
from typing import Any

_compiled: dict[str, tuple[bytes, CodeType]] = {}
"""Source and code of the files of this process."""
_GUARD = RLock()


class KernelFileLoader(SourceFileLoader):
    """Neither reads nor writes cached bytecode. `source`: the file when it was imported."""

    source: bytes

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the file as it is now; compiled once for each content in a process."""
        path = self.get_filename(fullname)
        self.source = self.get_data(path)
        known = _compiled.get(path)
        if known is not None and known[0] == self.source:
            return known[1]
        code: CodeType = self.source_to_code(self.source, path)
        _compiled[path] = (self.source, code)
        return code


def kernel_module(path: Path) -> ModuleType:
    """Return the module of a file under the file's own name, not executed yet. Raises `ImportError` for a file that is no Python file."""
    spec = spec_from_file_location(path.stem, path, loader=KernelFileLoader(path.stem, str(path)))
    if spec is None:
        raise ImportError(f"{path} is no Python file")
    return module_from_spec(spec)


def execute(module: ModuleType) -> None:
    """Execute the file of a module that `kernel_module` made. What its code raises comes through."""
    loader: Any = module.__loader__
    with importing():
        loader.exec_module(module)


@contextmanager
def importing() -> Iterator[None]:
    """Let one thread at a time put kernels into `sys.modules`. Nothing that is imported leaves bytecode behind: the modules that a kernel
    imports may change as fast as the kernel."""
    with _GUARD:
        before = sys.dont_write_bytecode
        sys.dont_write_bytecode = True
        try:
            yield
        finally:
            sys.dont_write_bytecode = before
