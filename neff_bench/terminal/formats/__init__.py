"""The formats of an answer: each is one file here.

A format `x` is the module `x.py` with `SUFFIX`, the end of a file's name that asks for it, and `render(answer, page)`, which
returns the text. Whatever lies here is offered by every command that has `--format`.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from neff_bench.errors import WrongCall
from neff_bench.terminal.answer import Answer

DEFAULT = "table"
FORMATS = tuple(
    sorted((found.name for found in pkgutil.iter_modules(__path__)), key=lambda name: (name != DEFAULT, name))
)


class Page(NamedTuple):
    """What a format for people is laid out for. `width`: columns of the terminal."""

    width: int = 120
    color: bool = False


def render(answer: Answer, format: str, page: Page = Page()) -> str:
    """The answer in one of FORMATS."""
    text: str = _module(format).render(answer, page)
    return text


def chosen(format: str | None, output: Path | None) -> str:
    """The format that was asked for, else that of the suffix of `output`, else the table. Raises `WrongCall`."""
    if format is not None:
        return format
    if output is None:
        return DEFAULT
    suffixes = {_module(name).SUFFIX: name for name in FORMATS}
    found = suffixes.get(output.suffix.lower())
    if found is None:
        known = ", ".join(f"{suffix} ({name})" for suffix, name in suffixes.items())
        raise WrongCall(f"--output {output}: the suffix names no format; expected {known}, or give --format")
    return found


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}")
