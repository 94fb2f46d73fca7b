"""Says what `watch` and `tune` are about: a kernel on given inputs, the cases of a shapes file, or a script."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from neff_bench.chips import NAMES
from neff_bench.doors.inputs import InputShape
from neff_bench.errors import WrongCall
from neff_bench.sdk.installed import OPTION, judged_by
from neff_bench.terminal.options import FILE, argument, option

if TYPE_CHECKING:
    from neff_bench.neffs.case import Case

_INPUT = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<shape>\d+(x\d+)*):(?P<dtype>\w+)")


class Subject(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """`file`: what the user named, absolute. `function`: of a kernel's file. `shapes`: the shapes file whose cases of that kernel are watched.
    `target`, `lnc`: above those of a shapes file; None for its own, else for what every door takes."""

    file: str
    function: str = ""
    shapes: str = ""
    inputs: dict[str, InputShape] = {}
    arguments: dict[str, Any] = {}
    reference: str | None = None
    implementation: str = "nki"
    target: str | None = None
    lnc: int | None = None
    sdk: str | None = None
    only: str = "*"

    @property
    def is_script(self) -> bool:
        """Whether the file is run, and not a function of it."""
        return self.file.endswith(".py") and not self.function

    @property
    def files(self) -> list[Path]:
        """Those that are named, the kernel's own first."""
        named = [self.file, self.shapes, (self.reference or "").rpartition(":")[0]]
        return [Path(one) for one in named if one.endswith((".py", ".yaml", ".yml"))]


@dataclass(frozen=True, kw_only=True)
class SubjectOptions:
    """Holds which kernel is meant, on what, for which chip and release."""

    inputs: tuple[str, ...] = argument(default=(), nargs=-1, metavar="[INPUT=SHAPE:DTYPE|ARGUMENT=VALUE]...")
    shapes: Path | None = option(type=FILE, help="Take the cases of this shapes file that name the kernel.")
    only: str = option(default="*", metavar="GLOB", help="Take only the cases of the shapes file with such a name.")
    reference: str | None = option(
        metavar="FILE.py:FUNCTION", help="Function that computes what is right; outputs are compared with it."
    )
    implementation: str = option(
        default="nki", type=click.Choice(["nki", "xla"]), show_default=True, help="xla: a jax function."
    )
    target: str | None = option(
        type=click.Choice(list(NAMES)), help="Chip.  [default: that of the shapes file, else trn2]"
    )
    lnc: int | None = option(
        type=click.IntRange(1, 2), help="Physical cores in the logical core.  [default: 1, as AWS launches]"
    )
    sdk: str | None = option(metavar="RELEASE", help=OPTION)

    def subject(self, what: str) -> Subject:
        """Return what these options name with the first word of the command. Raises WrongCall."""
        return subject_of(
            what, self.inputs, self.shapes, self.reference, implementation=self.implementation, target=self.target,
            lnc=self.lnc, sdk=judged_by(self.sdk), only=self.only,
        )  # fmt: skip


def subject_of(what: str, words: Sequence[str], shapes: Path | None, reference: str | None, **rest: Any) -> Subject:
    """Return what the words of the command name. Raises WrongCall."""
    path, colon, function = what.rpartition(":") if ".py:" in what else (what, "", "")
    file = Path(path)
    if file.suffix not in (".py", ".yaml", ".yml"):
        raise WrongCall(f"{what}: expected KERNEL.py:function, a shapes file (.yaml) or a script (.py)")
    if not file.is_file():
        raise WrongCall(f"{file}: no such file")
    if (words or shapes or reference) and not colon:
        raise WrongCall(f"{what}: inputs, --shapes and --reference belong to KERNEL.py:function")
    if words and shapes:
        raise WrongCall("name inputs or --shapes, not both")
    inputs, arguments = _given(words)
    if colon and not inputs and not shapes:
        raise WrongCall(f"{what}: on which inputs? Name them, as in x=512x1024:bfloat16, or --shapes FILE")
    if reference is not None:
        where, mark, name = reference.rpartition(":")
        if not mark or not Path(where).is_file():
            raise WrongCall(f"--reference {reference}: expected FILE.py:function")
        reference = f"{Path(where).resolve()}:{name}"
    return Subject(
        file=str(file.resolve()),
        function=function,
        shapes=str(shapes.resolve()) if shapes else "",
        inputs=inputs,
        arguments=arguments,
        reference=reference,
        **rest,
    )


def _given(words: Sequence[str]) -> tuple[dict[str, InputShape], dict[str, Any]]:
    """Return the inputs and further arguments from words such as `x=512x1024:bfloat16` and `eps=1e-6`. Raises WrongCall."""
    from neff_bench.chips.dtypes import LONG, SIZE_BYTES

    inputs: dict[str, InputShape] = {}
    arguments: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise WrongCall(f"{word!r}: expected an input, x=512x1024:bfloat16, or an argument, eps=1e-6")
        if found := _INPUT.fullmatch(word):
            dtype = LONG.get(found["dtype"], found["dtype"])
            if dtype not in SIZE_BYTES:
                raise WrongCall(f"{word}: dtype {dtype!r} is not known; expected one of {', '.join(SIZE_BYTES)}")
            inputs[name] = InputShape(tuple(map(int, found["shape"].split("x"))), dtype)
        else:
            arguments[name] = value_of(value)
    return inputs, arguments


def value_of(text: str) -> Any:
    """Return a number, list, object or true and false as JSON writes them; any other text as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def cases_of(subject: Subject) -> list[Case]:
    """Return the cases of a subject that is no script. Raises `ShapesError`, and `WrongCall` where none is left."""
    from neff_bench.neffs.intake import kernel_name, own_case
    from neff_bench.neffs.own import OwnKernel, Tensor
    from neff_bench.stage1_generate.shapes.read import read_shapes

    entry = f"{subject.file}:{subject.function}"
    if subject.inputs:
        tensors = tuple(Tensor(name, given.shape, given.dtype) for name, given in subject.inputs.items())
        own = OwnKernel(entry, tensors, arguments=tuple(subject.arguments.items()), reference=subject.reference)
        shapes = [(tensor.shape, tensor.dtype) for tensor in tensors]
        target = subject.target or "trn2"
        case = own_case(kernel_name(entry), shapes, target, subject.lnc)
        return [replace(case, own=own, implementation=subject.implementation)]
    path = Path(subject.shapes or subject.file)
    every = read_shapes(path, {"target": subject.target, "lnc": subject.lnc})
    if subject.function:
        every = [case for case in every if own_function(case, path.parent) == entry]
    cases = [case for case in every if fnmatchcase(case.name, subject.only)]
    if not cases:
        raise WrongCall(f"{path}: no case of {entry if subject.function else subject.only}")
    return cases


def own_function(case: Case, folder: Path) -> str:
    """Return `file.py:function`, with the file's real path, of a case of the user's own kernel; "" for any other."""
    from neff_bench.neffs.own import OwnKernel

    file, _, name = (case.own.entry if isinstance(case.own, OwnKernel) else "").rpartition(":")
    return f"{(folder / file).resolve()}:{name}" if file.endswith(".py") else ""
