"""Takes one look at what is watched, in a process of its own, which the next save may end: numbers first, then the picture, then what is wrong."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from neff_bench.doors.subject import Subject, cases_of, own_function
from neff_bench.doors.watch.diagnostics import Diagnostic, Seen, broken_rules, checked, of_error
from neff_bench.doors.watch.drawing import Drawing, Figures, case_of, draw, figures_of, texts_of
from neff_bench.errors import NeffBenchError
from neff_bench.installation import IMPORT_ROOT

if TYPE_CHECKING:
    import numpy as np

    from neff_bench.doors.subject import Subject
    from neff_bench.neffs.case import Case
    from neff_bench.neffs.findings import Finding
    from neff_bench.simulator.nki.launch import Launch
    from neff_bench.simulator.program import Program
    from neff_bench.stage2_profile.metrics.check import Verdict


SIZE_BYTES = 8
"""The bytes of the number in front of each message: its length, big-endian."""
PICTURES_MAX = 12
"""Cases of a shapes file that get a timeline."""


class Told(msgspec.Struct, omit_defaults=True):
    """A message; None: nothing new. `figures`, `programs`: by case. `files`: what the subject is made of. `broken`: why there is no number."""

    rows: list[dict[str, Any]] | None = None
    figures: dict[str, Figures] | None = None
    page: bytes | None = None
    programs: dict[str, bytes] | None = None
    diagnostics: list[Diagnostic] | None = None
    files: list[str] | None = None
    broken: str | None = None


REQUEST = msgspec.msgpack.Decoder(Subject | Drawing)
Tell = Callable[[Told], None]


def main() -> int:
    """Answer one request; return the exit code."""
    request = REQUEST.decode(sys.stdin.buffer.read())
    # Python takes cached bytecode for current where a file of the same length is saved again within a second.
    sys.dont_write_bytecode = True
    out = os.dup(1)
    os.dup2(2, 1)  # what a kernel prints is for people

    def tell(told: Told) -> None:
        data = msgspec.msgpack.encode(told)
        data = len(data).to_bytes(SIZE_BYTES, "big") + data
        while data:
            data = data[os.write(out, data) :]

    if isinstance(request, Drawing):
        tell(Told(page=draw(request)))
    else:
        look(request, tell)
    return 0


def warm_up() -> None:
    """Look at a kernel of ours once, so that each look is forked from a process that has done all of it. Nothing of that kernel stays."""
    from neff_bench.doors import embedded  # noqa: F401
    from neff_bench.doors.tutorial_cli import FILES

    path, modules = [*sys.path], {*sys.modules}
    look(Subject(file=str(FILES / "shapes.yaml")), lambda _: None)
    sys.path[:] = path
    for name in {*sys.modules} - modules:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(FILES)):
            del sys.modules[name]


def look(subject: Subject, tell: Tell) -> None:
    """Tell all that there is to say of a subject."""
    found: list[Diagnostic] = []
    folders = [Path(subject.file).parent, Path(subject.shapes or subject.file).parent, Path.cwd(), *sys.path]
    try:
        seen = _seen(subject, tell, found, folders)
    except NeffBenchError as error:
        tell(Told(broken=str(error), diagnostics=[of_error(error, subject, folders)]))
        seen = []
    tell(Told(files=sorted(map(str, files_of(subject)))))
    if not seen:
        return
    _picture(seen, folders, tell)
    found += broken_rules(subject, seen, folders)
    checked(seen, found, subject, folders)
    tell(Told(rows=_records(seen), diagnostics=sorted(set(found))))


def files_of(subject: Subject) -> set[Path]:
    """Return the files that a change of may change the answer: those that are named, and what they import."""
    from neff_bench.neffs.own import OwnKernel
    from neff_bench.stage1_generate.entries import place
    from neff_bench.stage1_generate.jobs.closure import Closures

    folder = Path(subject.shapes or subject.file).parent
    cases: Sequence[Case] = ()
    with suppress(NeffBenchError):  # it is told where the cases are looked at
        cases = () if subject.is_script else cases_of(subject)
    entries = {
        entry for case in cases if isinstance(case.own, OwnKernel) for entry in (case.own.entry, case.own.reference)
    }
    found = {*subject.files}
    for where in [place(entry, folder) for entry in entries if entry]:
        found |= Closures((where.folder,)).files(where.root)
    for path in subject.files:
        found |= Closures((path.parent,)).files(path) if path.suffix == ".py" else set()
    return found


def _seen(subject: Subject, tell: Tell, found: list[Diagnostic], folders: Sequence[Any]) -> list[Seen]:
    """Record what there is, and tell its numbers. Raises `NeffBenchError` where nothing can be recorded."""
    from neff_bench.doors.estimation import numbers_of, simulated

    if subject.is_script:
        seen = []
        for program in launches_of(subject):
            timed = simulated(program)
            seen.append(Seen(timed, numbers_of(timed), subject.file))
            tell(Told(rows=_records(seen)))
        return seen
    seen, failed = [], []
    for case in cases_of(subject):
        try:
            seen.append(_of_case(case, Path(subject.shapes or subject.file).parent))
        except NeffBenchError as error:
            found.append(of_error(error, subject, folders))
            failed.append(error)
            continue
        tell(Told(rows=_records(seen)))
    if failed and not seen:
        raise failed[0]
    return seen


def _of_case(case: Case, folder: Path) -> Seen:
    from neff_bench.doors.estimation import numbers_of, record_kernel, simulated
    from neff_bench.errors import WrongCall
    from neff_bench.stage1_generate.kernel import Dims
    from neff_bench.stage1_generate.own_kernel import kernel_of, search_folders

    kernel = kernel_of(case, str(folder))
    how, dims = kernel.implementations[case.implementation], Dims(**dict(case.dims))
    if how.needs or how.route == "isa":
        raise WrongCall(f"{case.name}: {case.implementation} kernels are not watched; use generate-neffs")
    sys.path[:0] = [path for path in search_folders(case, str(folder), None) if path not in sys.path]
    tensors = kernel.inputs_of(case.implementation, dims, case.dtype)
    names = how.parameters or tuple(tensor.name for tensor in tensors)
    entry = how.entry if isinstance(how.entry, str) else how.entry(dims)
    inputs = {name: (tensor.shape, tensor.dtype) for name, tensor in zip(names, tensors, strict=True)}
    program = record_kernel(entry, inputs, case.target, case.lnc, dict(how.arguments(dims)), how.route)
    timed = simulated(program)

    def check() -> tuple[Verdict, list[Finding]]:
        from neff_bench.doors.checking import compared
        from neff_bench.stage1_generate.jobs.tensors import draw

        def right(arrays: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
            plain = {tensor.name: arrays[name] for name, tensor in zip(names, tensors, strict=True)}
            return kernel.reference(dims, plain) if kernel.reference else ()  # it is asked where there is one alone

        drawn = [draw(tensors, case.seed, rank) for rank in range(program.ranks)]
        given = [dict(zip(names, arrays.values(), strict=True)) for arrays in drawn]
        return compared(program, given, right, kernel.tolerance.get(case.dtype))

    row = numbers_of(timed, kernel.model_flops(dims), case)
    return Seen(timed, row, own_function(case, folder) or entry, check if kernel.reference else None)


def _picture(seen: Sequence[Seen], folders: Sequence[Any], tell: Tell) -> None:
    from neff_bench.simulator.program import encode
    from neff_bench.viewer.page.document import document

    drawn = seen[:PICTURES_MAX]
    cases = [case_of(one.row.case, [one.timed], [texts_of(one.timed, folders)]) for one in drawn]
    page = document(seen[0].row.kernel or "", cases)
    figures = {one.name: figures_of(one) for one in cases}
    programs = {one.row.case: encode(one.timed.program) for one in drawn}
    tell(Told(page=page, figures=figures, programs=programs))


def _records(seen: Sequence[Seen]) -> list[dict[str, Any]]:
    from neff_bench.stage2_profile.metrics.rows import to_dict

    return [to_dict(one.row) for one in seen]


class ScriptFailed(NeffBenchError):
    """A script ended with an exception, or launched nothing. `source`: its file, and the line where one is known."""

    def __init__(self, source: str, what: str) -> None:
        self.source, self.what = source, what
        super().__init__(f"{source}: {what}")


def launches_of(subject: Subject) -> list[Program]:
    """Run the script in this process, as `neff-bench run` does; the distinct programs that it launched. Raises `ScriptFailed`."""
    from neff_bench.doors.embedded import run_script
    from neff_bench.simulator.program import encode

    found: dict[bytes, Program] = {}

    def hear(launch: Launch) -> None:
        found.setdefault(encode(launch.program), launch.program)

    try:
        run_script(subject.file, subject.target, hear, subject.lnc)
    except NeffBenchError:
        raise
    except SystemExit as end:
        if end.code not in (None, 0):
            raise ScriptFailed(subject.file, f"the script ended with {end.code}") from None
    except BaseException as error:
        raise ScriptFailed(_line(error, subject.file), f"{type(error).__name__}: {error}") from None
    if not found:
        raise ScriptFailed(subject.file, "the script launched no kernel")
    return list(found.values())


def _line(error: BaseException, file: str) -> str:
    """Return the innermost line that is not ours, with its file."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [one for one in traceback.extract_tb(error.__traceback__) if os.path.isfile(one.filename)]
    own = [
        one
        for one in frames
        if not one.filename.startswith((f"{IMPORT_ROOT}/neff_bench/", os.path.dirname(os.__file__)))
    ]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else file
