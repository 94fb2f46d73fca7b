"""Declares `neff-bench check`, which says whether AWS's compiler would take kernels."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neff_bench.chips import NAMES
from neff_bench.errors import WrongCall
from neff_bench.installation import __version__
from neff_bench.terminal import streams
from neff_bench.terminal.command import command
from neff_bench.terminal.options import FILE, PATH, argument, flag, option, takes
from neff_bench.terminal.output import write_text
from neff_bench.terminal.text import plain

if TYPE_CHECKING:
    from neff_bench.doors.judging import Judged
    from neff_bench.rules.findings import Finding


@dataclass(frozen=True)
class Wanted:
    """Holds what is to be told. `codes`: of the rules; `releases`: of the SDK; `strict`: a warning is an error too; `compiler`: the release
    whose own compiler is asked."""

    codes: frozenset[str]
    releases: tuple[str, ...]
    notes: bool
    strict: bool
    compiler: str | None


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """Holds which kernels are judged, by which rules, and how that is told."""

    kernels: tuple[Path, ...] = argument(default=(), nargs=-1, type=click.Path(exists=True, path_type=Path))
    shapes: Path | None = option(type=FILE, help="Judge the cases of this shapes file that name a kernel of KERNELS.")
    target: str = option(default="trn2", show_default=True, help=f"Chips, with commas: {', '.join(NAMES)}.")
    sdk: str | None = option(
        help="Releases: 2.32, 2.29..2.33 or 2.29,2.31.  [default: that of the compiler here, else the newest that is out]"
    )
    form: str | None = option(
        "--format",
        type=click.Choice(["text", "json", "sarif", "github"]),
        help="Default: json or sarif by the suffix of --output, else text.",
    )
    output: Path | None = option(type=PATH, metavar="FILE", help="Write the answer there, not to stdout.")
    select: str | None = option(
        help="Rules to ask for, by the beginning of their codes, with commas: E603,N.  [default: all]"
    )
    ignore: str = option(default="", help="Rules to leave out, named like those of --select.")
    notes: bool = flag(help="Name what is deprecated, inferred, or done by AWS's own library, too.")
    strict: bool = flag(help="Count a warning as an error.")
    with_neuronx_cc: bool = flag(help="Compile the cases of --shapes with AWS's compiler, where it is installed.")
    baseline: Path | None = option(
        type=click.Path(dir_okay=False, path_type=Path),
        help="Leave out the findings that this file holds; make it where there is none.",
    )
    fix: bool = flag(help="Change what has a safe fix, then check.")
    list_rules: bool = flag("--rules", help="List all rules.")
    explain: str | None = option(metavar="CODE", help="Print a rule in full.")


@command("check")
@takes(CheckOptions)
def check(options: CheckOptions) -> int:
    """Say which known rules of AWS's compiler the kernels in KERNELS break, by release of the SDK. It needs no device.

    Each file's source is judged, and each call that its kernels make: in the cases of --shapes, else in what the file launches when it runs
    as a script. So without --shapes a script does run here; of its kernels only the calls are noted, and nothing is computed. A folder stands for its Python files.
    `# nbl: ignore[E603]` on a line allows it. The exit code is 1 where a release refuses a kernel.

    A code is NBL, a letter for what the rule is about, and a number: C collectives, D element types, E engines and operators, K libraries,
    L launches, M memories, N names and arguments, P Python forms, S shapes, X DMAs.

    \b
    neff-bench check softmax.py
    neff-bench check kernels/ --sdk 2.29..2.33 --target trn2,trn3
    neff-bench check --explain E603
    """
    from neff_bench.rules.report import REFUSES, explained, listed
    from neff_bench.sdk.identify import between, older
    from neff_bench.sdk.installed import judged_by

    if options.list_rules:
        for text in listed():
            streams.line(text)
        return 0
    if options.explain is not None:
        streams.line(explained(_one(options.explain)))
        return 0
    if not options.kernels:
        raise WrongCall("name a file: neff-bench check KERNEL...")
    shapes = options.shapes
    releases = between(options.sdk) if options.sdk else (judged_by(None),)
    if before := older(options.sdk or ""):
        streams.notice(
            f"no rules are known of SDK {', '.join(before)}; those of {releases[0]}, the oldest known, are asked"
        )
    codes = _codes(options.select or "") - (_codes(options.ignore) if options.ignore else set())
    compiler = _compiler(shapes, releases) if options.with_neuronx_cc else None
    wanted = Wanted(frozenset(codes), releases, options.notes, options.strict, compiler)
    kernels = map(_from_here, options.kernels)
    files = [path for given in kernels for path in (sorted(given.rglob("*.py")) if given.is_dir() else [given])]
    if odd := next((path for path in files if not path.is_file()), None):
        raise WrongCall(f"{odd}: not a plain file")
    if options.fix:
        _fix(files, wanted)
    answers = _judged(files, _chips(options.target), shapes, wanted)
    texts = {str(path): path.read_text(errors="replace", encoding="utf-8") for path in files}
    _baseline(options.baseline, answers, texts)
    verdicts = [{one: _verdict(answer, one, wanted) for one in wanted.releases} for answer in answers]
    form = options.form or (options.output.suffix.lower().lstrip(".") if options.output else "")
    write_text(_told(form, answers, verdicts, texts), options.output)
    return int(any(said.startswith(REFUSES) for each in verdicts for said in each.values()))


def _from_here(path: Path) -> Path:
    """Return a path below the working directory as people write it, any other as it is given."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _compiler(shapes: Path | None, releases: Sequence[str]) -> str:
    from neff_bench.sdk.installed import compiler_release

    here = compiler_release()
    if here is None:
        raise WrongCall(
            "--with-neuronx-cc: AWS's compiler is not installed here; see `neff-bench doctor --install-help`"
        )
    if here.name not in releases:
        raise WrongCall(f"--with-neuronx-cc: the compiler here is of SDK {here.name}, which --sdk does not name")
    if shapes is None:
        raise WrongCall("--with-neuronx-cc compiles the cases of a shapes file; name it with --shapes")
    return here.name


def _chips(text: str) -> list[str]:
    chips = [word.strip() for word in text.split(",")]
    for chip in chips:
        if chip not in NAMES:
            raise WrongCall(f"--target {chip!r}: known: {', '.join(NAMES)}")
    return chips


def _one(code: str) -> str:
    from neff_bench.rules.rule import chosen

    found = sorted(chosen([code]))
    if not found:
        raise WrongCall(f"--explain {code}: no rule has this code; --rules lists them")
    return found[0]


def _codes(text: str) -> set[str]:
    from neff_bench.rules.rule import chosen

    words = [word.strip() for word in text.split(",")]
    for word in words:
        if not chosen([word]):
            raise WrongCall(f"no code of a rule begins with {word!r}; --rules lists them")
    return chosen(words)


def _judged(files: Sequence[Path], chips: Sequence[str], shapes: Path | None, wanted: Wanted) -> list[Judged]:
    """Return the answer for each file and chip, with the findings that are asked for."""
    from neff_bench.doors.compiling import compiled
    from neff_bench.doors.judging import Task, judge_files, read, with_cases
    from neff_bench.rules.findings import kept
    from neff_bench.simulator.errors import SpecError

    tasks = with_cases(files, chips, shapes) if shapes else [Task(path, chip) for path in files for chip in chips]
    answers = judge_files(tasks, min(len(os.sched_getaffinity(0)), len(tasks)))
    if shapes and wanted.compiler:
        for answer, said in zip(answers, compiled(tasks, shapes)):
            answer.compiled = said
    for task, answer in zip(tasks, answers):
        try:
            source = read(task.path)
        except SpecError:
            source = None
        told = [one for one in kept(answer.findings, source, wanted.codes) if _asked(one, wanted)]
        answer.findings = [_strict(one) for one in told] if wanted.strict else told
    return answers


def _strict(finding: Finding) -> Finding:
    import msgspec

    return msgspec.structs.replace(finding, level="error") if finding.level == "warning" else finding


def _asked(finding: Finding, wanted: Wanted) -> bool:
    return bool(set(finding.releases) & set(wanted.releases)) and (wanted.notes or finding.level != "note")


def _verdict(answer: Judged, release: str, wanted: Wanted) -> str:
    """Return what a release makes of a file: its own compiler where that was asked, else the rules."""
    from neff_bench.rules.report import REFUSES, verdict

    if release == wanted.compiler and answer.compiled is not None:
        return f"{REFUSES} (neuronx-cc)" if answer.compiled else "compiled"
    return verdict(answer.findings, answer.untold, release)


def _fix(files: Sequence[Path], wanted: Wanted) -> None:
    from neff_bench.doors.judging import read
    from neff_bench.rules import RULES
    from neff_bench.rules.fixes import applied, edits

    for path in files:
        source = read(path)
        codes = [code for code in wanted.codes if set(RULES[code].releases) & set(wanted.releases)]
        changes = [] if source.old else edits(source, codes)
        if changes:
            path.write_text(applied(source, changes), encoding="utf-8")
            streams.notice(f"{path}: {len(changes)} changes")


def _baseline(path: Path | None, answers: Sequence[Judged], texts: dict[str, str]) -> None:
    from neff_bench.rules import baseline

    if path is None:
        return
    if not path.exists():
        baseline.write(path, [one for answer in answers for one in answer.findings], texts)
    for answer in answers:
        answer.findings = baseline.new(path, answer.findings, texts)


def _told(form: str, answers: Sequence[Judged], verdicts: Sequence[dict[str, str]], texts: dict[str, str]) -> str:
    """Return the answers in a format. `verdicts`: what each release makes of each file. `texts`: of the files, by name."""
    import msgspec

    from neff_bench.rules import report

    findings = sorted({one for answer in answers for one in answer.findings})
    rows = [msgspec.structs.asdict(answer) | {"verdicts": said} for answer, said in zip(answers, verdicts)]
    for row in rows:
        del row["findings"]
    if form == "json":
        return json.dumps({"findings": [report.as_json(one) for one in findings], "files": rows}, indent=1) + "\n"
    if form == "sarif":
        return json.dumps(report.sarif(findings, texts, __version__), indent=1) + "\n"
    if form == "github":
        return "".join(f"{plain(report.as_annotation(one))}\n" for one in findings)
    refused = [f"{answer.path}: neuronx-cc: {answer.compiled}" for answer in answers if answer.compiled]
    large = filter(None, (report.forecast(answer.path, answer.instructions) for answer in answers))
    lines = (*map(report.line, findings), *refused, *large, *report.matrix(rows), *_how_to_tell(answers))
    return "".join(f"{plain(text)}\n" for text in lines)


def _how_to_tell(answers: Sequence[Judged]) -> list[str]:
    """Return the shapes file and the command that tell more of the first file whose kernels nothing launches."""
    from neff_bench.doors.judging import NO_LAUNCH, read, shapes_for

    for path in dict.fromkeys(answer.path for answer in answers if answer.untold == NO_LAUNCH):
        if shapes := shapes_for(read(Path(path))):
            return [
                f"to judge its calls too: neff-bench check {path} --shapes shapes.yaml, with your sizes in shapes.yaml:",
                shapes,
            ]
    return []
