from neff_bench.simulator.commands.cli import main

main(prog_name="neuron-sim")
