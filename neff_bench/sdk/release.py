"""Reads the contract of one release of the Neuron SDK, read from `releases/*.yaml`: tools, flags, files, messages, variables.

The first file is complete, each later one holds what differs from the release before. Every entry says where it is known
from (`source`) and how sure it is (`sure`: `+` documented or done by AWS's code, `~` one public caller, `?` inferred).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from neff_bench.system.decoding import prepare

FOLDER = Path(__file__).parent / "releases"
Kind = Literal["user", "transient", "core", "device", "host", "none", "unknown"]
"""Who has to act on a message: the user; nobody, it passes; another core, device or host is to be used; it is no error."""
Answer = Literal[
    "wait",
    "without_dge",
    "single_io",
    "drop_flag",
    "other_format",
    "new_process",
    "another_core",
    "warn",
    "core_out",
    "device_out",
    "host_out",
    "fail",
    "ignore",
]
"""What follows from a message; see `stage2_profile.capture.failures`."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Holds what every entry has. `read`: the day on which the source was last read."""

    sure: Literal["+", "~", "?"]
    source: str
    read: str


class Versions(Entry, frozen=True, kw_only=True):
    """The versions of the components; None where one is not public."""

    tools: str
    nki: str
    neuronx_cc: str | None = msgspec.field(default=None, name="neuronx-cc")
    runtime: str | None = None
    driver: str | None = None
    nrtpy: str | None = None
    torch_neuronx: str | None = msgspec.field(default=None, name="torch-neuronx")


class Flag(Entry, frozen=True, kw_only=True):
    """A flag under its long name. `takes`: what its value is, None for a switch. `joined`: written `--flag=value`; both forms
    are understood. `more`: it takes every word up to the next flag.
    `values`: the only ones, `undocumented` those of them that no page names."""

    short: str | None = None
    aliases: tuple[str, ...] = ()
    takes: str | None = None
    joined: bool = True
    more: bool = False
    default: str | None = None
    values: tuple[str, ...] = ()
    undocumented: tuple[str, ...] = ()


class Format(Entry, frozen=True, kw_only=True):
    """An output format of `view`. `needs`: flags that must be given with it."""

    to: Literal["stdout", "file", "directory", "server"]
    needs: tuple[str, ...] = ()
    default_file: str | None = None


class File(Entry, frozen=True, kw_only=True):
    """A file that a tool writes: its name with the parts in braces that change."""

    name: str


class Line(Entry, frozen=True, kw_only=True):
    """A line that a tool prints, with the parts in braces that change."""

    text: str


class Exit(Entry, frozen=True, kw_only=True):
    """Says how a tool ends."""

    code: int


class Command(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A subcommand. `pairs`: takes `NAME FILE` pairs after its flags; `files_given`: that many files instead."""

    flags: dict[str, Flag]
    pairs: bool = False
    files_given: int = 0
    formats: dict[str, Format] = {}
    default_format: str | None = None
    files: dict[str, File] = {}
    lines: dict[str, Line] = {}
    exits: dict[str, Exit] = {}


class Json(Entry, frozen=True, kw_only=True):
    """Says how a tool is asked for JSON, and what comes: `array` of devices, or an `object` that holds it."""

    flag: tuple[str, ...]
    shape: Literal["array", "object"]


class Tool(Entry, frozen=True, kw_only=True):
    """A program. `version_line`: what `--version` prints; `unknown_flag`: what it says to a flag that it does not know."""

    version_line: str
    unknown_flag: str
    flags: dict[str, Flag]
    commands: dict[str, Command]
    json: Json | None = None


class Interface(Entry, frozen=True, kw_only=True):
    """Functions of a Python package, such as a way into NKI's compiler: `module:function` to the names of its parameters, with `=` behind those that may be left out
    and `*` before those that need their name."""

    functions: dict[str, tuple[str, ...]]


class Nki(Entry, frozen=True, kw_only=True):
    """NKI of the release. `generation`: its dialect, in words. `lnc_by`: what says for which LNC a kernel is compiled.
    `backend_splits_paths`: its back end gets the path of the NEFF in one string that is split at blanks. `targets`: that its pages name."""

    generation: str
    targets: tuple[str, ...] = ()
    lnc_by: Literal["launch grid", "environment"]
    backend_splits_paths: bool
    interfaces: dict[str, Interface]


class Module(Entry, frozen=True, kw_only=True):
    """A Python package of the SDK: its module, and a part that an empty placeholder of the same name lacks."""

    module: str
    part: str


class Variable(Entry, frozen=True, kw_only=True):
    """A variable of the environment. `role`: `neff` changes the NEFF and belongs to the key; `measurement` changes what is
    measured and is recorded; `unset` leads a tool elsewhere and is taken away. `set`: the value that we give, `default` the
    one that we give where the user gave none, for the steps of `used_by`. `lines`: the value that puts source lines into a NEFF."""

    role: Literal["neff", "measurement", "unset"]
    set: str | None = None
    default: str | None = None
    lines: str | None = None
    used_by: Literal["compile", "capture", "both"] = "both"


class Message(Entry, frozen=True, kw_only=True):
    """Something that a tool or the runtime says. `lines`: as documented. `statuses`: names and numbers of the NRT statuses
    that mean the same. `advice`: our words; `{0}` is the first group of `pattern`."""

    kind: Kind
    answer: Answer
    advice: str
    pattern: str | None = None
    lines: tuple[str, ...] = ()
    statuses: dict[str, int] = {}


class CompilerError(Entry, frozen=True, kw_only=True):
    """Something that neuronx-cc refuses. `codes`: as it prints them behind `NCC_`. `advice`: our words."""

    codes: tuple[str, ...]
    advice: str


class Schema(Entry, frozen=True, kw_only=True):
    """The schema of the Parquet tables. `version` None: not public. `flag`: the command that prints it."""

    version: str | None
    flag: str


class Release(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that is known of a release. `read`: the day on which the sources of its own entries were last read. `date`: None when it is only announced. `needs_driver`: the first driver that its
    runtime works with, where that is documented. `python`: what is called of packages other than NKI. `notes`: what a user should know who compares times with an earlier release."""

    name: str
    read: str
    date: str | None
    versions: Versions
    needs_driver: str | None
    parquet_schema: Schema
    packages: dict[str, Module]
    tools: dict[str, Tool]
    nki: Nki
    environment: dict[str, Variable]
    messages: dict[str, Message]
    compiler_errors: dict[str, CompilerError] = {}
    python: dict[str, Interface]
    notes: tuple[str, ...] = ()

    def formats(self, tool: str) -> dict[str, Format]:
        """Return the output formats of a profiler's `view`."""
        return self.tools[tool].commands["view"].formats


prepare(Release)


@cache
def names() -> tuple[str, ...]:
    """Return the releases that are known, oldest first."""
    return tuple(sorted((path.stem for path in FOLDER.glob("*.yaml")), key=order))


def order(version: str) -> tuple[int, ...]:
    """Return a version as numbers, for comparisons: `2.31.24-abc` is (2, 31, 24)."""
    return tuple(int(number) for number in re.findall(r"\d+", re.split(r"[^\d.]", version, maxsplit=1)[0]))


@cache
def load(name: str) -> Release:
    """Return a release by its name, such as "2.32". Raises `KeyError` for one that is not known."""
    return read(documents(), name)


@cache
def documents() -> dict[str, dict[str, Any]]:
    """Return the data files as they are written, by release, oldest first."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return {name: yaml.load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), loader) for name in names()}


def read(written: Mapping[str, Mapping[str, Any]], name: str) -> Release:
    """Return the release `name` from the files of all releases up to it. Raises `KeyError`, and `msgspec.ValidationError` for files
    that are not what this module describes."""
    return msgspec.convert(merged(written, name), Release)


def merged(written: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, Any]:
    """Return the whole contract of a release as plain data. Raises `KeyError`."""
    if name not in written:
        raise KeyError(name)
    whole: dict[str, Any] = {}
    for release, document in written.items():
        whole = _changed(whole, _dated(document, document.get("read")))
        if release == name:
            break
    return whole


def _dated(node: Any, day: Any) -> Any:
    """Return every entry of a file with the day on which its source was read."""
    if not isinstance(node, Mapping):
        return node
    dated = {key: _dated(value, day) for key, value in node.items()}
    return {"read": day, **dated} if "source" in node or "sure" in node else dated


def _changed(before: Any, change: Any) -> Any:
    """Return `before` with what differs: mappings entry by entry, `None` takes an entry away, all else is replaced."""
    if not isinstance(change, Mapping):
        return change
    result = dict(before) if isinstance(before, Mapping) else {}
    for key, value in change.items():
        if value is None and key not in _NULLABLE:
            result.pop(key, None)
        else:
            result[key] = _changed(result.get(key), value)
    return result


_NULLABLE = ("date", "needs_driver", "version", "neuronx-cc", "nrtpy", "runtime", "driver")
"""Fields whose None means "not known", and not "gone"."""
