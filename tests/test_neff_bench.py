"""The umbrella command loads what is called, and nothing else."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from neff_bench.cli import COMMANDS, main


def test_help_lists_every_command_without_importing_any():
    check = (
        "import sys; from click.testing import CliRunner; from neff_bench.cli import COMMANDS, main;"
        "out = CliRunner().invoke(main, ['--help']).output;"
        "missing = [name for name in COMMANDS if name not in out];"
        "rooms = {f'neff_bench.{entry.module}' for entry in COMMANDS.values()} & set(sys.modules);"
        "print(missing, sorted(rooms), 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] [] False"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name):
    result = CliRunner().invoke(main, [name, "--help"])
    assert result.exit_code == 0, result.output
    assert f"neff-bench {name}" in result.output or f"{name}-neffs" in result.output


def test_an_unknown_command_is_a_wrong_call_and_the_nearest_is_named():
    done = CliRunner().invoke(main, ["comapre"])
    assert done.exit_code == 2
    assert done.stderr == "error: No such command 'comapre'; did you mean compare? (see neff-bench --help)\n"
