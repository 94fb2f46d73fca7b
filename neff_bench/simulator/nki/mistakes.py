"""Tells the author of a kernel what its own exception means: one line, at the innermost line that is the author's."""

from __future__ import annotations

import inspect
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable
from typing import Any

from neff_bench.simulator.errors import FailedAssertion, KernelError, MissingAttribute
from neff_bench.simulator.recording.lines import OWN
from neff_bench.simulator.recording.tensor import NkiTensor


def kernel_error(error: BaseException, function: Callable[..., Any]) -> KernelError:
    """Return a kernel's own exception (an assert, a TypeError) with the innermost line that is the kernel's.

    An exception inside of the dialect comes from arguments that no rule foresaw; it names the function that got them.
    """
    line = kernel_line(error) or home(function)
    if isinstance(error, AttributeError) and (owner := _owner(error.obj)):
        return MissingAttribute(f"{owner} has no attribute {error.name!r}", line)
    what = str(error) or _unsaid(error)
    if isinstance(error, TypeError) and (told := _of_tensors(what) or _of_signature(error, what)):
        return KernelError(told, line)
    called = _called(error)
    if called and isinstance(error, (TypeError, ValueError, AttributeError, LookupError, ArithmeticError)):
        what = f"{called} cannot take these arguments: {what}"
    elif isinstance(error, AssertionError):
        return FailedAssertion(what, line)
    else:
        what = f"{type(error).__name__}: {what}"
    return KernelError(what, line)


def home(function: Callable[..., Any]) -> str:
    """Return where a kernel is defined."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(function)


def _owner(value: Any) -> str:
    """Return what an object or a class of the dialect is to the kernel's author; "" for anything else."""
    kind = value if isinstance(value, type) else type(value)
    if not kind.__module__.startswith(_OURS):
        return ""
    return "a tensor of nki" if kind is NkiTensor else f"nki's {kind.__name__}"


_OURS = __name__.rpartition(".nki.")[0]


def _unsaid(error: BaseException) -> str:
    """Return what an exception without a text failed at: the source of the line."""
    return f"failed: {traceback.extract_tb(error.__traceback__)[-1].line}"


def _of_tensors(what: str) -> str:
    """Explain that a function of numpy or Python got a tensor; "" for any other mistake."""
    if "__array_ufunc__" in what:
        return "numpy's functions do not take tensors; call those of nki.language"
    found = re.search(r"'(?:NkiTensor|Tile|Element)' object (.*)", what)
    return f"a tensor, whose value is not known while the kernel is recorded, {found[1]}" if found else ""


_MISFIT = re.compile(r"(?:\w+\.)*(\w+)\(\) (got .*|missing .*|takes .*)")


def _of_signature(error: BaseException, what: str) -> str:
    """Explain that arguments do not fit the signature of a function of the dialect; "" where it is the kernel's own function."""
    found = _MISFIT.fullmatch(what)
    if not found:
        return ""
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    if all(filename.startswith(OWN) for filename in frames):  # No line of the kernel ran: it has this name itself.
        return ""
    beta = any("/simulator/nki/beta/" in filename for filename in frames)
    for module in ("isa", "language"):
        dialect = sys.modules.get(f"{_OURS}.nki.{'beta.' if beta else ''}{module}")
        function = getattr(dialect, found[1].removeprefix("reduce_"), None)
        if function is not None and not isinstance(function, type):
            return f"{'nisa' if module == 'isa' else 'nl'}.{found[1].removeprefix('reduce_')} {found[2]}{_parameters(function)}"
    return ""


def _parameters(function: Any) -> str:
    try:
        named = [name for name in inspect.signature(function).parameters if name not in ("args", "options", "_", "__")]
    except (TypeError, ValueError):
        return ""
    return f"; it takes {', '.join(named)}" if len(named) > 2 else ""


def _called(error: BaseException) -> str:
    """Return the function of the dialect that the kernel's innermost line called; "" when the kernel itself raised, "the kernel" when
    no line of it ran."""
    name = ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(OWN):
            return name
        name = _WORDS.get(frame.name, frame.name)
    return "the kernel"


_WORDS = {"__getitem__": "indexing", "getitem": "indexing", "__setitem__": "assignment", "method": "an operator",
          "returning": "an instruction", "function": "a function of nl", "__call__": "a call"}  # fmt: skip
"""What to call functions whose names say nothing to the kernel's author."""


def kernel_line(error: BaseException) -> str | None:
    """Return "file.py:33" of the innermost frame that is neither ours nor Python's nor numpy's."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((*OWN, "<frozen")) and not _of_python(frame.filename):
            return f"{frame.filename}:{frame.lineno}"
    return None


def _of_python(filename: str) -> bool:
    packages = "site-packages" in filename or "dist-packages" in filename
    return (filename.startswith(_STANDARD) and not packages) or (packages and "/numpy/" in filename)


_STANDARD = sysconfig.get_path("stdlib") + "/"
