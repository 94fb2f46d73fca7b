from simulator.cli import main

main(prog_name="neuron-sim")
