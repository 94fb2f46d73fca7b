"""Implements `profile`: build a kernel, run it, check it and say where its time goes, by the two stages that the commands are."""

from __future__ import annotations

import hashlib
import inspect
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neff_bench.errors import WrongCall

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from neff_bench.doors.inputs import Input
    from neff_bench.doors.row_list import Rows
    from neff_bench.neffs.case import Case
    from neff_bench.stage2_profile.metrics.rows import Row

    Kernel = Callable[..., Any] | str

TIMEOUT_S = 600.0
"""The limit in seconds of the build of one kernel, and of its capture."""
_ARRAYS = '''"""Arrays that a program gave to neff_bench.profile, by the hash of their values."""

from pathlib import Path

import numpy as np


def __getattr__(name):
    path = Path(__file__).with_name(f"{name}.npy")
    if not path.is_file():
        raise AttributeError(name)
    return lambda shape, rank=0: np.load(path).view(_dtype(name.split("__")[1])).reshape(-1, *shape)[rank]


def _dtype(name):
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name, name))
'''


@dataclass(frozen=True)
class Task:
    """One kernel on one set of inputs; the fields are the arguments of `profile`."""

    kernel: Kernel
    inputs: Mapping[str, Input]
    target: str = "trn2"
    lnc: int | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    reference: Callable[..., Any] | str | None = None
    tolerance: tuple[float, float] | None = None
    flops: int | None = None
    ranks: int = 1
    implementation: str = "nki"


def profile(  # noqa: PLR0913 - its users name them
    kernel: Kernel,
    inputs: Mapping[str, Input],
    *,
    target: str = "trn2",
    lnc: int | None = None,
    arguments: Mapping[str, Any] | None = None,
    reference: Callable[..., Any] | str | None = None,
    tolerance: tuple[float, float] | None = None,
    flops: int | None = None,
    ranks: int = 1,
    implementation: str = "nki",
    store: str | os.PathLike[str] | None = None,
    sdk: str | None = None,
) -> Row:
    """Build a kernel, run it on its inputs and profile it: on a device with the AWS SDK, else on the embedded toolchain.

    `kernel`: a function of a Python file, or `"file.py:name"`, or `"package.module:name"`; with the `implementation` "xla" a jax
    function. `inputs`: by parameter name, in the order of the NEFF: an array, or its shape (in elements) and canonical dtype, for which seeded values are drawn.
    `reference`: called with the inputs by name as float32 arrays; returns an array or a tuple of them. Without it the row's
    `check` is "unchecked". `tolerance`: (rtol, atol). `flops`: floating-point operations of the mathematics; MFU needs them.
    `lnc`: physical cores in the logical core; None for what AWS's launch without a grid has. `ranks`: logical cores that run the kernel together; arrays, and those that the reference gets and returns, then have the ranks as
    their first dimension. `store`: keeps the bundle and its traces; by default they are removed. `sdk`: as for `estimate`.

    A kernel that fails gives a row with `status` "failed" and the reason. Raises `WrongCall` for what is no kernel.
    """
    task = Task(kernel, inputs, target, lnc, dict(arguments or {}), reference, tolerance, flops, ranks, implementation)
    return profile_many([task], store=store, sdk=sdk)[0]


def profile_many(
    tasks: Iterable[Task],
    *,
    store: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    sdk: str | None = None,
) -> Rows:
    """Return the rows of several kernels, in their order; `jobs` are built at once (by default as many as there are CPUs)."""
    from neff_bench.doors.row_list import Rows
    from neff_bench.sdk.installed import judged_by

    release = judged_by(sdk)
    with _directory(store) as directory:
        cases = list(_told_apart(_case(task, directory) for task in tasks))
        names = _built(cases, directory, jobs or os.cpu_count() or 1)
        return Rows(_profiled(directory, names, release))


@contextmanager
def _directory(store: str | os.PathLike[str] | None) -> Iterator[Path]:
    if store is not None:
        yield Path(store).absolute()
        return
    with tempfile.TemporaryDirectory(prefix="neff-bench-") as directory:
        yield Path(directory) / "store"


def _case(task: Task, directory: Path) -> Case:
    from neff_bench.neffs.intake import check_own, kernel_name, own_case
    from neff_bench.neffs.own import OwnKernel

    entry = _entry(task.kernel, "kernel")
    tensors = tuple(_tensor(name, given, directory, task.ranks) for name, given in task.inputs.items())
    own = OwnKernel(
        entry,
        tensors,
        arguments=tuple(task.arguments.items()),
        reference=None if task.reference is None else _entry(task.reference, "reference"),
        tolerance=task.tolerance,
        flops=task.flops,
    )
    inputs = [(tensor.shape, tensor.dtype) for tensor in tensors]
    apart = _digest(own.arguments) if own.arguments else ""
    case = own_case(kernel_name(entry), inputs, task.target, task.lnc, apart)
    return replace(case, own=own, ranks=task.ranks, implementation=check_own(task.implementation))


def _told_apart(cases: Iterable[Case]) -> Iterator[Case]:
    """Yield the tasks; cases of one name that differ, such as in the reference, get names of their own."""
    named: dict[str, Case] = {}
    for case in cases:
        if named.setdefault(case.name, case) != case:
            case = replace(case, variant=f"{case.variant}-{_digest(case.own)}")
        yield case


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:8]


def _entry(given: Callable[..., Any] | str, what: str) -> str:
    """Return `file.py:function` with an absolute path, or `package.module:function`. Raises WrongCall."""
    if isinstance(given, str):
        file, colon, name = given.rpartition(":")
        if not colon or not name:
            raise WrongCall(f"{what} {given!r}: expected 'file.py:name', 'package.module:name' or a function")
        return f"{Path(file).absolute()}:{name}" if file.endswith(".py") else given
    function = inspect.unwrap(getattr(given, "function", given))
    try:
        source = inspect.getsourcefile(function)
    except TypeError:
        source = None
    name = getattr(function, "__qualname__", "")
    if source is None or not Path(source).is_file() or "<" in name:
        raise WrongCall(
            f"{what} {name or given!r}: expected a function at the top level of a Python file; write it to a file and name it "
            "as 'file.py:name'"
        )
    return f"{Path(source).absolute()}:{name}"


def _tensor(name: str, given: Input, directory: Path, ranks: int) -> Any:
    from neff_bench.doors.inputs import read_input
    from neff_bench.neffs.own import Tensor

    shape, dtype, array = read_input(name, given)
    if array is None:
        return Tensor(name, shape, dtype)
    if ranks > 1 and shape[:1] != (ranks,):
        raise WrongCall(f"input {name}: found shape {shape}, expected the {ranks} ranks as its first dimension")
    return _kept_array(name, array, shape if ranks == 1 else shape[1:], directory)


def _kept_array(name: str, array: np.ndarray, shape: tuple[int, ...], directory: Path) -> Any:
    """Return the tensor of an array, whose values lie beside the bundles under their hash. `shape`: of one rank. Raises `StoreError`
    where they cannot be written."""
    import io

    import numpy as np

    from neff_bench.neffs.errors import StoreError
    from neff_bench.neffs.own import Tensor
    from neff_bench.neffs.store import OWN, check_own
    from neff_bench.system.files import write_whole

    raw = np.ascontiguousarray(array).view(np.uint8)
    key = f"a{hashlib.sha256(raw.tobytes()).hexdigest()[:24]}__{array.dtype.name}"
    folder = directory / OWN / "arrays"
    data = io.BytesIO()
    np.save(data, raw)
    try:
        check_own(directory)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{key}.npy", data.getvalue())
        write_whole(folder / "arrays.py", _ARRAYS.encode())
    except OSError as error:
        raise StoreError(directory, f"cannot write to it: {error.strerror}") from None
    return Tensor(name, shape, array.dtype.name, values=f"{folder / 'arrays.py'}:{key}")


def _built(cases: Sequence[Case], directory: Path, workers: int) -> list[str]:
    """Build what the store lacks; returns the bundles' names in the order of the cases."""
    from neff_bench.neffs.store import Store
    from neff_bench.stage1_generate.jobs.build import Builder
    from neff_bench.stage1_generate.jobs.job import Job
    from neff_bench.stage1_generate.jobs.keys import Keys
    from neff_bench.stage1_generate.jobs.warm import warm_parent
    from neff_bench.stage1_generate.options import Options
    from neff_bench.stage1_generate.toolchains.find import choose

    toolchain = choose("auto", None)
    here = str(Path.cwd())
    keys, options = Keys(toolchain, here), Options(timeout_s=TIMEOUT_S)
    work = [Job(case, keys.key(case), toolchain.name, None, options, here) for case in dict.fromkeys(cases)]

    with warm_parent(work) or nullcontext() as warm:
        Builder(Store(directory), toolchain, options, warm=warm).build_all(work, workers)
    return [case.name for case in cases]


def _profiled(directory: Path, names: Sequence[str], sdk: str) -> list[Row]:
    from neff_bench.stage2_profile.directory import profiled_rows
    from neff_bench.stage2_profile.options import Options

    _, rows = profiled_rows(Options(directory=directory, only=tuple(dict.fromkeys(names)), sdk=sdk))
    by_name = {row.case: row for row in rows}
    return [by_name[name] for name in names]
