"""`python -m neff_bench.simulator`: the command `neuron-sim`."""

from neff_bench.simulator.commands.cli import main

main(prog_name="neuron-sim")
