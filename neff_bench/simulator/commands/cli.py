"""Declares the `neuron-sim` command: the embedded toolchain, with the argument lists of neuronx-cc and neuron-explorer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from neff_bench.chips import LISTED, NAMES
from neff_bench.chips.calibration_option import calibration_option
from neff_bench.simulator.commands.capture_options import CaptureOptions
from neff_bench.simulator.commands.version import VERSION_NAMES, version
from neff_bench.terminal import streams
from neff_bench.terminal.command import Command, Lazy, LazyGroup, command, group
from neff_bench.terminal.formats import FORMATS
from neff_bench.terminal.options import OutputOptions, argument, flag, option, takes
from neff_bench.terminal.output import write_answer
from neff_bench.terminal.text import plain_json, plain_lines


class _Commands(LazyGroup):
    """Lists all commands by name."""

    lazy = {
        "nkilib-tests": Lazy("simulator.commands.nkilib_tests", "Run nki-library's own tests in their simulation mode.")
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(super().list_commands(ctx))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None:
            names = sorted(self.list_commands(ctx))
            streams.status(
                f"Unknown command `{args[0]}'. Please specify one command of: {', '.join(names[:-1])} or {names[-1]}"
            )
            ctx.exit(2)
        return super().resolve_command(ctx, args)


def _command(name: str) -> Callable[[Callable[..., None]], Command]:
    """Return a command of `neuron-sim`."""

    def add(function: Callable[..., None]) -> Command:
        made = command(name, version=version)(function)
        main.add_command(made)
        return made

    return add


@group("neuron-sim", cls=_Commands, version=version, version_names=VERSION_NAMES)
def main() -> None:
    """Compile, capture and view kernels without the AWS SDK. Everything it writes says that it is simulated.

    \b
    Examples:
      neuron-sim compile --framework XLA graph.hlo --target trn2 --lnc 2 --output graph.neff
      neuron-sim capture -n graph.neff -s profile.ntff --num-exec 2 --profile-nth-exec 2 --save-output x inp-x-000.bin
      neuron-sim view -n graph.neff -s profile_exec_2.ntff --output-format summary-json
      neuron-sim show-session -s profile_exec_2.ntff -j
      neuron-sim explain graph.neff --what-if hbm_bandwidth=2x
    """


@_command("compile")
@calibration_option
@click.argument("model", type=click.Path())
@click.option(
    "--framework", type=click.Choice(["XLA", "NKI"]), default="XLA", show_default=True, help="NKI takes a kernel.json."
)
@click.option("--target", required=True, help=f"{LISTED}.")
@click.option(
    "--lnc",
    "-lnc",
    "--logical-nc-config",
    type=click.IntRange(1, 2),
    help="Cores of a logical core [XLA: 2 where the chip has pairs; NKI: 1].",
)
@click.option(
    "--output", default="file.neff", show_default=True, type=click.Path(dir_okay=False), help="NEFF to write."
)
@click.option("--verbose", help="info or debug: say what was done.", metavar="LEVEL")
@click.option("--model-type", default=None, hidden=True)
@click.option("--auto-cast", default=None, hidden=True)
@click.option("--auto-cast-type", default=None, hidden=True)
@click.option("-O", "--optlevel", default=None, hidden=True)
@click.option("--logfile", default=None, hidden=True)
@click.option("--pipeline", nargs=2, default=None, hidden=True)
@click.option("--disable-dge", is_flag=True, help="Descriptors are made at compile time, not on the device.")
@click.option("--internal-tensorizer-opt-level", default=None, hidden=True)
def compile_command(model: str, framework: str, target: str, lnc: int | None, output: str, **o: Any) -> None:
    """Compile an HLO module or an NKI kernel to a simulated NEFF.

    \b
    Examples:
      neuron-sim compile --framework NKI kernel.json --target trn2 --lnc 2 --output file.neff
      neuron-sim compile --framework XLA graph.hlo --target trn2 --lnc 2 --output graph.neff

    Compiler options of neuronx-cc that change nothing here (-O, --auto-cast, --model-type) are accepted.
    """
    from neff_bench.simulator.commands.compile import compile_model, told
    from neff_bench.simulator.execution.findings import of_program

    program = compile_model(model, framework, target, lnc, output, o["disable_dge"])
    for finding in of_program(program):
        streams.warning(str(finding))
    if o["verbose"] in ("info", "debug"):
        for line in told(program, output):
            streams.line(line)
    streams.line("Compiler status PASS")


@_command("capture")
@calibration_option
@takes(CaptureOptions)
@click.option("--single-io-threshold", type=click.IntRange(0), hidden=True, expose_value=False)
@click.option("-t", "--capture-type", type=click.Choice(["profile"]), hidden=True, expose_value=False)
@click.option("--exec-mode", type=click.Choice(["sync", "async", "async-wait"]), hidden=True, expose_value=False)
@click.option("--io-from", type=click.Choice(["neff", "runtime"]), hidden=True, expose_value=False)
def capture_command(options: CaptureOptions) -> None:
    """Run a simulated NEFF and write its trace. INPUTS: pairs of tensor name and file (raw bytes, or .npy).

    \b
    Example:
      neuron-sim capture -n file.neff -s profile.ntff --num-exec 2 --profile-nth-exec 2 --save-output x inp-x-000.bin
    """
    from neff_bench.simulator.commands.capture import capture

    options.check()
    capture(options)


@_command("view")
@calibration_option
@click.option("-n", "--neff-path", "neff", required=True, type=click.Path(), help="NEFF.")
@click.option("-s", "--session-file", required=True, type=click.Path(), help="Trace of an execution of that NEFF.")
@click.option(
    "--output-format", type=click.Choice(["summary-json", "summary-text", "json", "parquet"]), help="What to write."
)
@click.option("--output-file", type=click.Path(), help="File of json [ntff.json], directory of parquet.")
@click.option("--what-if", multiple=True, metavar="NAME=VALUE", help="Change a constant of the chip: hbm_bandwidth=2x.")
@click.option("--ingest-only", is_flag=True, hidden=True)
@click.option("--display-name", default=None, hidden=True)
@click.option("--disable-ui", is_flag=True, hidden=True)
@click.option("--nki-source-root", default=None, hidden=True)
@click.option("--db-bucket", default=None, hidden=True)
@click.option("--json-pretty-print", is_flag=True, help="Indent summary-json.")
@click.option("--ignore-nc-buf-usage", is_flag=True, hidden=True)
def view_command(
    neff: str, session_file: str, output_format: str | None, output_file: str | None, what_if: tuple[str, ...], **o: Any
) -> None:
    """Turn a trace into a profile. summary-json and summary-text go to standard output.

    \b
    Examples:
      neuron-sim view -n file.neff -s profile_exec_2.ntff --output-format summary-json
      neuron-sim view -n file.neff -s profile_exec_2.ntff --output-format json --output-file ntff.json
    """
    if output_format is None:
        raise click.UsageError(
            "the simulator has no web server: neff-bench view NEFF NTFF --output page.html --sources DIR writes a page; or give"
            " --output-format summary-json, summary-text, json or parquet"
        )
    if output_format.startswith("summary") and output_file:
        raise click.UsageError(f"--output-file does not go with {output_format}: it is printed")
    from neff_bench.simulator.commands.view import (
        load_profile,
        summary_lines,
        summary_record,
        write_json,
        write_parquet,
    )

    profile = load_profile(neff, session_file, what_if)
    wait_ns = profile.schedule.overheads.first_execution_ns
    if profile.schedule.first_execution and wait_ns:
        streams.notice(
            f"{session_file} is of the first execution after loading, in which GpSimd waits {wait_ns / 1000:.1f} us (measured on "
            "inf2); capture --profile-nth-exec 2 traces a later one"
        )
    if output_format == "summary-json":
        import orjson

        options = orjson.OPT_APPEND_NEWLINE | (orjson.OPT_INDENT_2 if o["json_pretty_print"] else 0)
        streams.write(plain_json(orjson.dumps(summary_record(profile), option=options)))
    elif output_format == "summary-text":
        streams.write(plain_lines(summary_lines(profile)))
    elif output_format == "json":
        write_json(profile, neff, session_file, output_file or "ntff.json")
    else:
        write_parquet(profile, neff, session_file, output_file or "parquet")


@_command("show-session")
@click.option("-s", "--session-file", required=True, type=click.Path(), help="Trace.")
@click.option("-j", "as_json", is_flag=True, help="JSON on standard output.")
@click.option("-e", "--show-errors", is_flag=True, help="Print hardware and runtime errors.")
def show_session_command(session_file: str, as_json: bool, show_errors: bool) -> None:
    """Show what a trace holds, without its NEFF.

    \b
    Example:
      neuron-sim show-session -s profile_exec_2.ntff -j
    """
    from neff_bench.simulator.commands.show_session import session_json, session_text
    from neff_bench.simulator.files.ntff import read_head

    head = read_head(session_file)
    if as_json:
        import orjson

        streams.write(plain_json(orjson.dumps(session_json(head), option=orjson.OPT_APPEND_NEWLINE)))
    else:
        streams.write(plain_lines(session_text(head)))
    if show_errors and not as_json:
        streams.line("no errors")


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(OutputOptions):
    """Holds which NEFF is explained, and what is said of it."""

    neff: str | None = argument(type=click.Path())
    what_if: tuple[str, ...] = option(
        default=(), multiple=True, metavar="NAME=VALUE", help="Say the time with a constant changed; may be repeated."
    )
    lines: int = option(default=10, type=click.IntRange(1), show_default=True, help="Rows of each table.")
    constants: bool = flag(help="Print instead the chip's constants with their sources.")
    operations: bool = flag(help="Print instead what every ISA operation costs, and how far that is from hardware.")
    target: str | None = option(
        type=click.Choice(list(NAMES)), help="Chip whose operations --operations prints, where no NEFF is named."
    )


@_command("explain")
@calibration_option
@takes(ExplainOptions)
def explain_command(options: ExplainOptions) -> None:
    """Say why a simulated NEFF takes its time, and what would help.

    The answer is what bounds the kernel, the critical path, waits, source lines, advice, and which constants of the chip matter.
    NEFF is one that neuron-sim built. For a trace that was measured: profile-neffs --hot, or neff-bench view.

    \b
    Examples:
      neuron-sim explain file.neff
      neuron-sim explain file.neff --what-if hbm_bandwidth=2x --what-if dma_issue_ns=100 --format json
      neuron-sim explain --operations --target trn2
    """
    neff, format, output = options.neff, options.format, options.output
    if options.operations:
        from neff_bench.simulator.commands.operations_answer import operations_of

        write_answer(operations_of(neff, options.target), format, output)
        return
    if neff is None or options.target is not None:
        raise click.UsageError("name a NEFF" if neff is None else "--target goes with --operations")
    from neff_bench.simulator.commands.explain_answer import answer, explained
    from neff_bench.simulator.commands.view import load_profile

    if neff.endswith(".ntff"):
        raise click.UsageError(
            f"{neff} is a trace; explain takes its NEFF if neuron-sim built that, neff-bench view shows the trace"
        )
    if Path(neff).is_dir():
        raise click.UsageError(f"{neff} is a directory; name the NEFF of a case in it: CASE/file.neff")
    profile = load_profile(neff, None)
    if options.constants:
        from neff_bench.simulator.chips import constant_lines

        streams.line("\n".join(constant_lines(profile.schedule.chip)))
        return
    explanation, findings = explained(profile, neff)
    changed = {change: load_profile(neff, None, (change,)).schedule.total_ns / 1e3 for change in options.what_if}
    write_answer(answer(explanation, changed, findings, options.lines), format, output)


@_command("calibrate")
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--neff", "neffs", multiple=True, metavar="NEFF", type=click.Path(path_type=Path),
    help="Gives the instructions of an NTFF their operands; may be repeated.",
)  # fmt: skip
@click.option(
    "--output", required=True, metavar="FILE", type=click.Path(path_type=Path), help="Calibration file to write."
)
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True, help="Format of the answer."
)
def calibrate_command(traces: tuple[Path, ...], neffs: tuple[Path, ...], output: Path, format_: str) -> None:
    """Fit the timing model to traces of your own.

    TRACE is an NTFF, a whole-profile JSON or a Parquet profile; all are of one chip. Only what
    the traces show and what differs from the model's own constants is written, each with its 95 % interval. Use the
    file with `--calibration` of the commands that simulate; rows name it, and captures of another model are taken again.

    \b
    Examples:
      neuron-sim calibrate profile_exec_2.ntff --neff file.neff --output my.calibration.json
      neuron-sim calibrate */ntff.json --output my.calibration.json
      neuron-sim calibrate probes.tar.gz --output my.calibration.json
      profile-neffs neffs.out --calibration my.calibration.json
    """
    from neff_bench.simulator.commands.calibrate import answer, calibrate, write

    found = calibrate(traces, neffs)
    write_answer(answer(found, output), format_, None)
    write(found.calibration, output)
