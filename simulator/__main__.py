"""`python -m neff_bench.simulator`: the command `neuron-sim`."""

from neff_bench.simulator.commands.cli import main as neuron_sim


def main() -> None:
    """Entry point, also of a warm process."""
    neuron_sim(prog_name="neuron-sim")


if __name__ == "__main__":
    main()
