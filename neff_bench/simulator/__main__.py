"""Starts the command `neuron-sim`, as `python -m neff_bench.simulator`."""

import sys


def main() -> None:
    """Entry point, also of a warm process."""
    if sys.argv[1:] == ["--version"] and _said_version():
        return
    from neff_bench.simulator.commands.cli import main as neuron_sim

    neuron_sim(prog_name="neuron-sim")


def _said_version() -> bool:
    """Print the version without importing the commands; every call of profile-neffs asks for it. False where standard output takes nothing."""
    from neff_bench.errors import OutputError
    from neff_bench.simulator.commands.version import version
    from neff_bench.terminal.streams import line

    if sys.stdout is None:
        return False
    try:
        line(version())
    except (OutputError, BrokenPipeError):
        return False
    return True


if __name__ == "__main__":
    main()
