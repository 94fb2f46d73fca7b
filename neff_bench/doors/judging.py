"""Would AWS's compiler take a file's kernels? Its source is judged, and what it records: with the cases of a shapes file, else with
the examples that the file itself launches.

A file runs in a process of its own: whatever it does to that process ends with it.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import signal
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from neff_bench.errors import NeffBenchError, WrongCall
from neff_bench.neffs.own import OwnKernel
from neff_bench.rules import RULES, findings
from neff_bench.rules.findings import Finding
from neff_bench.rules.source import Source
from neff_bench.system.files import read_plain

if TYPE_CHECKING:
    from neff_bench.neffs.case import Case
    from neff_bench.simulator.errors import SimulatorError
    from neff_bench.simulator.program import Program

NO_LAUNCH = "nothing launches its kernels; give their shapes with --shapes"
TIMEOUT_S = 30.0
_MEMORY_BYTES = 8 * 1024**3
_ENDING_S = 2.0
"""What is kept of the limit to tell what was found before it."""


class Judged(msgspec.Struct):
    """Holds what is known of a file on a chip. `recorded`: how many of its launches were recorded. `untold`: why nothing, or not
    all, was; "" where all was. `compiled`: why AWS's compiler refused a case, "" where it took them all, None where it was not asked. `instructions`: of its
    largest launch, with all loops unrolled."""

    path: str
    target: str
    findings: list[Finding]
    recorded: int = 0
    untold: str = ""
    compiled: str | None = None
    instructions: int = 0


@dataclass(frozen=True)
class Task:
    """A file to judge on a chip. `cases`: those of the file `shapes` in `folder` that name a kernel of the file."""

    path: Path
    target: str
    cases: tuple[Case, ...] = ()
    folder: Path = Path()
    shapes: str = ""


def judge_files(tasks: Sequence[Task], jobs: int) -> list[Judged]:
    """Return each task's answer, in the order of the tasks; of what is no Python, that nothing is told."""
    from neff_bench.simulator.errors import SpecError
    from neff_bench.system.forked import Died, map_forked

    warm_up()
    answers = {}
    judged = map_forked(_answer, tasks, jobs=jobs, timeout_s=TIMEOUT_S, memory_bytes=_MEMORY_BYTES)
    for task, answer in judged:
        if isinstance(answer, Died):
            answers[task] = Judged(str(task.path), task.target, [], 0, answer.reason)
            with contextlib.suppress(SpecError):
                answers[task].findings = findings.of_source(read(task.path), task.target)
        else:
            answers[task] = msgspec.msgpack.decode(answer, type=Judged)
    return [answers[task] for task in tasks]


def warm_up() -> None:
    """Import what every task needs, before a process is forked."""
    from neff_bench.doors import estimation, launches  # noqa: F401
    from neff_bench.simulator.execution import calls  # noqa: F401
    from neff_bench.simulator.nki import host, launch  # noqa: F401


def read(path: Path) -> Source:
    """Return a file's source. Raises SpecError for what is no Python."""
    from neff_bench.simulator.errors import SpecError

    try:
        return Source(read_plain(path).decode().replace("\r\n", "\n"), str(path))
    except SyntaxError as error:
        raise SpecError(f"SyntaxError: {error.msg}", f"{path}:{error.lineno}") from error
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise SpecError(f"no Python source: {error}", str(path)) from error


def judge(task: Task) -> Judged:
    """Judge a file in this process, which has its modules and its working directory afterwards."""
    source, broken = _of_file(task)
    found = Found(task, source.old)
    try:
        _record(source, found)
    except _TimeIsUp:
        found.untold = f"took longer than {TIMEOUT_S:g} s"
    if source.old and not found.untold:
        found.untold = "it is of the old dialect, of which neff-bench knows only some rules: what the chip refuses, and AWS's list of errors"
    every = findings.once({*broken, *found.findings})
    return Judged(str(task.path), task.target, every, found.recorded, found.untold, None, found.instructions)


def _record(source: Source, found: Found) -> None:
    task = found.task
    if task.cases:
        for case in task.cases:
            found.of(lambda case=case: _case(case, task))  # type: ignore[misc]
    elif _launches(source):
        _run(task.path, task.target, found)
    else:
        found.untold = _no_launch(task)


def _no_launch(task: Task) -> str:
    return f"no case of {task.shapes} names a kernel of {task.path.name}" if task.shapes else NO_LAUNCH


class Found:
    """Holds what the launches of a file have given so far. `old`: the file is of the old dialect."""

    def __init__(self, task: Task, old: bool) -> None:
        self.task, self.old = task, old
        self.findings: set[Finding] = set()
        self.recorded = self.instructions = 0
        self.untold = ""

    def of(self, record: Callable[[], Program]) -> None:
        """Record a program and judge it."""
        from neff_bench.simulator.errors import SimulatorError

        try:
            self.hear(record())
        except SimulatorError as error:
            self.hear(error)
        except NeffBenchError as error:
            self.untold = str(error)

    def hear(self, recorded: Program | SimulatorError) -> None:
        """Judge a program, or why there is none."""
        from neff_bench.simulator.execution.calls import judged, of_refusal

        if isinstance(recorded, Exception):
            found = of_refusal(recorded, self._place(recorded.source or ""), self.task.target)
            if found is None:
                self.untold = self.untold or f"the simulator refuses it: {recorded}"
            else:
                self.findings.add(found)
        else:
            self.recorded += 1
            self.instructions = max(self.instructions, sum(map(len, recorded.cores)))
            self.findings |= {
                msgspec.structs.replace(one, place=self._place(one.place))
                for one in judged(recorded)
                if not self.old or "errors" in RULES[one.code].source
            }

    def _place(self, place: str) -> str:
        """Return the place with the file as the user named it; one of another file as it was recorded."""
        file, _, line = place.rpartition(":")
        own = str(self.task.path.resolve())
        return f"{self.task.path}:{line}" if file and f"/{own}".endswith(f"/{file.lstrip('/')}") else place


def _of_file(task: Task) -> tuple[Source, list[Finding]]:
    """Return a file's source and the rules that it breaks. To look for cycles in its tree would cost a third of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        source = read(task.path)
        return source, findings.of_source(source, task.target)
    finally:
        if collecting:
            gc.enable()


class _TimeIsUp(KeyboardInterrupt):
    """The limit of a file is near. No `except Exception` of the file may catch it."""


def _stop(number: int, frame: object) -> None:
    raise _TimeIsUp


def _answer(task: Task) -> bytes:
    """Judge a file in a process that is forked for it alone; what was found before its time is up is told."""
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, TIMEOUT_S - _ENDING_S)
    return msgspec.msgpack.encode(judge(task))


def _case(case: Case, task: Task) -> Program:
    """Return the program of a case of a user's own kernel."""
    from neff_bench.doors.estimation import record_kernel
    from neff_bench.stage1_generate.entries import place

    own = case.own
    if not isinstance(own, OwnKernel):
        raise WrongCall(f"{case.name}: only cases that name a file and a function are judged")
    inputs = {tensor.name: (tensor.shape, tensor.dtype) for tensor in own.inputs}
    return record_kernel(place(own.entry, task.folder).entry, inputs, task.target, case.lnc, dict(own.arguments))


def shapes_for(source: Source) -> str:
    """Return a shapes file with the first kernel of a file that nothing launches, "" where it has none. Its sizes are to be changed."""
    for function in source.device:
        if source.kernels_of(function):
            required = function.args.args[: len(function.args.args) - len(function.args.defaults)]
            tensors = ", ".join(f"{one.arg}: {{shape: [128, 512], dtype: float32}}" for one in required)
            return f"cases: [{{kernel: {source.path}:{function.name}, implementation: nki, inputs: {{{tensors}}}}}]"
    return ""


def _launches(source: Source) -> bool:
    """Return whether the file, run as a script, may launch a kernel of its own."""
    from neff_bench.rules.source import top_level_calls

    part_of_a_package = any(node.level for node in source.of(ast.ImportFrom))
    return source.nki and not part_of_a_package and top_level_calls(source)


def _run(path: Path, target: str, found: Found) -> None:
    """Run a file as a script; its launches are recorded and not executed."""
    from neff_bench.doors.embedded import run_script
    from neff_bench.simulator.nki import launch

    launch.recorded_only = found.hear
    warnings.simplefilter("ignore")
    try:
        run_script(str(path), target, lambda _: None, 1)
    except (Exception, SystemExit) as error:
        if not found.recorded and not found.findings and not found.untold:
            found.untold = f"its examples do not run here: {type(error).__name__}: {error}"
    if not found.recorded and not found.findings and not found.untold:
        found.untold = _no_launch(found.task)


def with_cases(paths: Iterable[Path], targets: Sequence[str], shapes: Path) -> list[Task]:
    """Return the tasks of files whose kernels a shapes file names. Raises ShapesError."""
    from neff_bench.doors.subject import own_function
    from neff_bench.stage1_generate.shapes.read import read_shapes

    cases, folder = read_shapes(shapes, draws=False), shapes.resolve().parent
    tasks = []
    for path in paths:
        own = tuple(case for case in cases if own_function(case, folder).rpartition(":")[0] == str(path.resolve()))
        tasks += [Task(path, target, own, folder, shapes.name) for target in targets]
    return tasks
