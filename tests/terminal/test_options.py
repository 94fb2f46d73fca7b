"""One declaration of an option is its flag, its default and what the command's function gets."""

from dataclasses import dataclass

import click
from click.testing import CliRunner

from neff_bench.terminal.command import command
from neff_bench.terminal.options import CaseOptions, argument, flag, option, takes


@dataclass(frozen=True, kw_only=True)
class Options(CaseOptions):
    """Of a command that does not exist."""

    file: str = argument(default="here")
    num_exec: int = option(default=2, type=click.IntRange(1), help="How often.")
    lock_timeout_s: float = option("--lock-timeout", default=1.5, help="How long.")
    force: bool = flag(help="Even so.")
    internal: int = 7


@command("try")
@takes(Options)
def show(options: Options) -> None:
    """Print what it is given."""
    print(options)


def test_what_is_not_given_is_the_default_of_the_declaration():
    assert CliRunner().invoke(show, []).output == f"{Options()}\n"


def test_each_flag_sets_the_field_of_its_declaration():
    words = "there --num-exec 3 --lock-timeout 2 --force --only a --only b --shard 1/2".split()
    given = CliRunner().invoke(show, words).output
    assert "file='there', num_exec=3, lock_timeout_s=2.0, force=True, internal=7" in given
    assert "only=('a', 'b'), skip=(), shard=Shard(number=1, count=2)" in given


def test_a_field_that_is_no_option_has_no_flag():
    assert CliRunner().invoke(show, ["--internal", "8"]).exit_code == 2


def test_an_operand_that_must_be_given_is_asked_for():
    @dataclass(frozen=True, kw_only=True)
    class One:
        before: str = argument(required=True)

    @command("one")
    @takes(One)
    def one(options):
        print(options.before)

    missing = CliRunner().invoke(one, [])
    assert missing.exit_code == 2 and "Missing argument 'BEFORE'" in missing.stderr
    assert CliRunner().invoke(one, ["this"]).output == "this\n"


def test_help_lists_a_commands_own_options_first():
    lines = CliRunner().invoke(show, ["--help"]).output.split()
    assert [word for word in lines if word.startswith("--")] == [
        "--num-exec", "--lock-timeout", "--force", "--only", "--skip", "--shard", "--version", "--help",
    ]  # fmt: skip
