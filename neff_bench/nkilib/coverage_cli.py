"""Declares `neff-bench changed-kernels` and `neff-bench discover`: which cases nki-library has, and which judge a change of it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from neff_bench.errors import DONE, FAILED, NeffBenchError, WrongCall
from neff_bench.terminal import streams
from neff_bench.terminal.command import command

CHECKOUT = click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
TIMEOUT = click.option(
    "--timeout", type=click.FloatRange(min=1), default=120.0, show_default=True, metavar="S", help="For each test file."
)


@command("changed-kernels")
@CHECKOUT
@click.option(
    "--shapes", required=True, type=click.Path(exists=True, path_type=Path), help="The shapes file of the gate."
)
@click.option(
    "--discover", "out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Make cases of changed kernels that have none from nki-library's tests, and write them there.",
)  # fmt: skip
@TIMEOUT
def changed_kernels(checkout: Path, shapes: Path, out: Path | None, timeout: float) -> None:
    """Read changed paths from standard input, one a line, and say which cases judge them.

    The first line is `only=` and options of generate-neffs: `--only` globs, nothing for all cases, `none` for no case. A line
    `not covered: NAME` follows for each kernel that the change can change and of which there is no case.

    \b
    git diff --name-only main... | neff-bench changed-kernels . --shapes benchmarks/shapes.yaml
    """
    from neff_bench.nkilib.changed import covered, library_of, name_of, touched
    from neff_bench.nkilib.discover import SHAPES, discover
    from neff_bench.stage1_generate.shapes.read import read_shapes

    cases, paths = read_shapes(shapes), sys.stdin.read().split("\n")
    library = library_of(checkout, cases)
    found = touched(library, covered(library, cases), paths)
    options = found.options
    if out is not None and found.not_covered:
        kernels = [
            kernel
            for kernel in library.kernels
            if kernel.file in paths and name_of(kernel, library) in found.not_covered
        ]
        try:
            for name, reason in discover(library, kernels, shapes, out, timeout).reasons.items():
                streams.notice(f"{name}: {reason}")
            found = touched(library, covered(library, read_shapes(out / SHAPES)), paths)
            options = f"--shapes {out / SHAPES} {found.options}" if found.options != "none" else "none"
        except NeffBenchError as error:
            streams.warning(str(error))
    streams.line(f"only={options}")
    for name in found.not_covered:
        streams.line(f"not covered: {name}")


@command("discover")
@CHECKOUT
@click.option(
    "--shapes", type=click.Path(exists=True, path_type=Path), help="[default: CHECKOUT/benchmarks/shapes.yaml]"
)
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder of the new cases.")
@click.option("--kernel", "names", multiple=True, metavar="NAME", help="Only this kernel (repeatable).")
@TIMEOUT
def discover(checkout: Path, shapes: Path | None, out: Path, names: tuple[str, ...], timeout: float) -> int:
    """Write a case of each kernel that the shapes file has none of, with the inputs of nki-library's own tests.

    The tests run up to the launch of the kernel. OUT/shapes.yaml holds the cases of the shapes file and the new ones, and
    generate-neffs takes it. Exit code 0: every kernel has a case now; 1: some have none, and the answer says why.

    \b
    neff-bench discover ~/nki-library --out discovered --kernel cumsum
    """
    from neff_bench.nkilib import discover as tests
    from neff_bench.nkilib.changed import covered, library_of
    from neff_bench.stage1_generate.shapes.read import read_shapes

    shapes = shapes or checkout / "benchmarks" / "shapes.yaml"
    if not shapes.is_file():
        raise WrongCall(f"{shapes}: no such file; name one with --shapes, or run neff-bench install-benchmarks first")
    cases = read_shapes(shapes)
    library = library_of(checkout, cases)
    unknown = [name for name in names if name not in {kernel.name for kernel in library.kernels}]
    if unknown:
        known = ", ".join(sorted({kernel.name for kernel in library.kernels}))
        raise WrongCall(f"--kernel {unknown[0]}: no kernel of {checkout} has that name (there are: {known})")
    globs = covered(library, cases)
    wanted = [kernel for kernel in library.kernels if kernel.entry not in globs and (not names or kernel.name in names)]
    found = tests.discover(library, wanted, shapes, out, timeout)
    for name in found.cases:
        streams.line(f"covered: {name}")
    for name, reason in found.reasons.items():
        streams.line(f"not covered: {name}: {reason}")
    return FAILED if found.reasons else DONE


if __name__ == "__main__":
    changed_kernels()
