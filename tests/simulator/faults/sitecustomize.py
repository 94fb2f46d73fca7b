"""Makes each Python that has this folder on PYTHONPATH play the faults of NEURON_SIM_FAULTS where it runs `neuron-sim`, forked processes among them."""

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.util import find_spec

COMMANDS = "neff_bench.simulator.commands.cli"


class Finder(MetaPathFinder):
    """Lets the commands misbehave as soon as they are imported."""

    def find_spec(self, name, path=None, target=None):
        if name != COMMANDS:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        load = spec.loader.exec_module

        def exec_module(module):
            from neuron_sim_faults import play_in

            load(module)
            play_in(module.main)

        spec.loader.exec_module = exec_module
        return spec


if os.environ.get("NEURON_SIM_FAULTS"):
    sys.meta_path.insert(0, Finder())
