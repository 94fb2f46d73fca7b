"""Declares `neff-bench explain`: what `neuron-sim explain` is, for one case or several, and what a word of our tables means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neff_bench.errors import WrongCall, meant
from neff_bench.simulator.commands.cli import ExplainOptions, explain_command
from neff_bench.terminal import streams
from neff_bench.terminal.command import command
from neff_bench.terminal.text import listed

if TYPE_CHECKING:
    from neff_bench.neffs.bundle import Bundle

_PARAMETERS = [
    click.Argument(["neffs"], nargs=-1, metavar="[STORE|CASE|NEFF]... | WORD"),
    click.Option(
        ["--only"], multiple=True, metavar="GLOB", help="Of a store only the cases whose name matches (repeatable)."
    ),
    *(parameter for parameter in explain_command.params if parameter.name not in ("neff", "version")),
]
_MEASURED = "{what}; for profiles that were measured: profile-neffs {path} --hot 10, or neff-bench view"
HELP = f"""{(explain_command.help or "").replace("neuron-sim explain", "neff-bench explain")}
    --format other than table and --output take one case. A WORD is a metric, a key of a row in JSON, a constant of the chip or a word of docs/glossary.md, marks and most heads of columns among them; what it means is printed.
"""


def _explain(neffs: tuple[str, ...], only: tuple[str, ...], **given: Any) -> None:
    if only and not any(Path(name).is_dir() for name in neffs):
        raise WrongCall("--only chooses among the cases of a store; name a store")
    if neffs and not any(Path(name).exists() or name.endswith(".neff") for name in neffs):
        _word(" ".join(neffs), given)
        return
    if not neffs and not given["operations"]:
        raise WrongCall("name a store, a case, a NEFF, or a word to explain")
    found = [neff for name in neffs for neff in _neffs(Path(name), only)]
    if len(found) > 1 and (given["output"] or given["format_"] not in (None, "table")):
        raise WrongCall("--output and --format take one case; choose it with --only, or name its directory")
    for neff in found or (None,):
        if neff and len(found) > 1:
            streams.line(f"\n{Path(neff).parent.name}:")
        explain_command.callback(neff=neff, **given)  # type: ignore[misc]


def _neffs(path: Path, only: Sequence[str]) -> list[str]:
    """Return the NEFF of a case's directory, or those of a store; a file is itself. `only`: globs for the names of cases."""
    from neff_bench.neffs.bundle import MANIFEST, Bundle, read_bundle
    from neff_bench.neffs.store import Store

    if not path.is_dir():
        if path.suffix in (".json", ".ntff"):
            raise WrongCall(_MEASURED.format(what=f"{path} is a profile, not a NEFF", path=path.parent))
        return [str(path)]
    bundles = []
    for one in [read_bundle(path)] if (path / MANIFEST).is_file() else Store(path).bundles():
        if isinstance(one, Bundle):
            bundles.append(one)
        else:
            streams.warning(str(one))
    found = []
    for bundle in _chosen(bundles, only):
        if bundle.neff_path is None:
            streams.warning(f"{bundle.path}: the case has no NEFF")
        else:
            found.append(str(bundle.neff_path))
    if not found:
        raise WrongCall(_MEASURED.format(what=f"{path}: no simulated case in it", path=path))
    return found


def _chosen(bundles: Sequence[Bundle], only: Sequence[str]) -> list[Bundle]:
    """Return those whose case, or kernel, a glob matches; without globs all. Raises `WrongCall` for a glob that matches none."""
    from neff_bench.neffs.case import check_only, matches

    names = [(bundle.manifest.case.kernel, bundle.name) for bundle in bundles]
    check_only(only, names, listed(bundle.name for bundle in bundles))
    return [bundle for bundle, of in zip(bundles, names) if not only or matches(of, only)]


def _word(word: str, given: dict[str, Any]) -> None:
    from neff_bench.stage2_profile.compare.report import metrics_answer
    from neff_bench.stage2_profile.metrics.rows import METRICS
    from neff_bench.terminal.output import write_answer

    glossary, key = words(), word.lower()
    found = [each for each in METRICS.values() if key in (each.name, each.head.lower())]
    if found:
        options = ExplainOptions(**{key: value for key, value in given.items() if key != "calibration"})
        write_answer(metrics_answer(found), options.format, options.output)
        if key in glossary and options.format in (None, "table") and options.output is None:
            streams.line(glossary[key])
        return
    named = next(
        (said for name in (key, key.removesuffix(" us"), key.strip("()")) if (said := glossary.get(name))), None
    )
    if named is None:
        raise WrongCall(
            f"{word}: there is no such file or store, and no such word to explain{meant(word, [*METRICS, *glossary])};"
            " neff-bench compare --list-metrics names the metrics"
        )
    streams.line(named)


def words() -> dict[str, str]:
    """Return what the glossary says of each of its words, in lower case."""
    text = files("neff_bench.doors").joinpath("glossary.md").read_text(encoding="utf-8")
    said = {}
    for names, meaning in re.findall(r"^\| (?!word |`check` |key |constant )(.+?) \| (.+) \|$", text, re.MULTILINE):
        told = re.sub(r" \(\[\w+\]\([^)]*\)\)", "", meaning)
        told = re.sub(r"\[(\w+)\]\([^)]*\)", r"\1", told).replace("`", "")
        for name in re.sub(r"\(.*?\)|`", "", names).split(","):
            said[name.strip().lower()] = f"{names.replace('`', '')}: {told}"
    return said


explain = command("explain", help=HELP, params=_PARAMETERS)(_explain)
