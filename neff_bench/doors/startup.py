"""Says what each Python that `neff-bench run` starts does first: kernels of `nki` run on the embedded toolchain from its first import."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, TracebackType

from neff_bench.errors import NeffBenchError
from neff_bench.installation import IMPORT_ROOT, pip_install

PACKAGES = ("nki", "neuronxcc", "torch_neuronx", "torch_xla")
EXTRAS = {"torch": "torch", "jax": "xla"}
"""Packages that scripts import, and the extra of neff-bench that installs each."""


def begin(store: str, names: str, lnc: int | None) -> None:
    """Prepare this process for the first import of one of `PACKAGES`; nothing heavy is imported before that.

    `store`: gets a bundle of each launch. `names`: a file that gets the name of each bundle, a line each, as soon as it is
    there: a script that crashes loses nothing. `lnc`: physical cores of a launch without a grid, None for what AWS takes.
    """
    sys.meta_path.insert(0, _FirstImport(lambda: _prepare(Path(store), Path(names), lnc)))
    sys.excepthook = _told


def _prepare(store: Path, names: Path, lnc: int | None) -> None:
    """Make `import nki` and `import neuronxcc.nki` work in this process, and collect what kernels do."""
    from neff_bench.doors.embedded import embed
    from neff_bench.doors.launches import Launches
    from neff_bench.neffs.store import Store
    from neff_bench.simulator.nki.launch import Launch

    launches = Launches(Store(store))

    def hear(launch: Launch) -> None:
        before = len(launches.names)
        launches.add(launch)
        with names.open("a", encoding="utf-8") as file:
            file.writelines(f"{name}\n" for name in launches.names[before:])

    embed(hear, lnc)


def _told(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print a traceback without our own frames. What a kernel did wrong is told once, at its line."""
    told = traceback.TracebackException(kind, error, trace)
    one: traceback.TracebackException | None = told
    while one is not None:
        one.stack = traceback.StackSummary.from_list(
            [frame for frame in one.stack if not frame.filename.startswith(f"{IMPORT_ROOT}/neff_bench/")]
        )
        one = one.__cause__ or one.__context__
    if isinstance(error, NeffBenchError):
        told.__cause__ = told.__context__ = None
    print("".join(told.format()), end="", file=sys.stderr)
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        print(f"{error.name} is not installed: {pip_install(EXTRAS[error.name])}", file=sys.stderr)


class _FirstImport(MetaPathFinder, Loader):
    """Calls `prepare`, which puts the packages into `sys.modules`, when one of them is imported for the first time."""

    def __init__(self, prepare: Callable[[], None]) -> None:
        self._prepare = prepare

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the package, from `sys.modules`; None for anything else and for one that `prepare` does not make."""
        if name not in PACKAGES:
            return None
        sys.meta_path.remove(self)
        self._prepare()
        return ModuleSpec(name, self) if name in sys.modules else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module that `prepare` has made."""
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is complete."""
