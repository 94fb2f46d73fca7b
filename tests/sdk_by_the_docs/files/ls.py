"""neuron-ls --json-output: an entry for each device (tools/neuron-sys-tools/neuron-ls.rst; fields as real output has them)."""

import json
import os

from habits import HABITS


def main(_program, arguments):
    if not {"-j", "--json-output"} & set(arguments):
        print("instance-type:", HABITS["instance"])
        return 0
    device = {
        "neuron_device": 0,
        "bdf": "0000:e1:00.0",
        "cpu_affinity": "0-11",
        "numa_node": "-1",
        "connected_to": None,
        "memory_size": 103079215104,
        "neuron_processes": [],
    }
    if HABITS["instance"].startswith(("trn1", "inf2")):
        device |= {"nc_count": 2, "neuroncore_ids": [0, 1], "memory_size": 34359738368}
    else:
        lnc = int(os.environ.get("NEURON_LOGICAL_NC_CONFIG", HABITS["host_lnc"]))
        device |= {
            "nc_count": 8 // lnc,
            "neuroncore_ids": list(range(8 // lnc)),
            "logical_neuroncore_config": lnc,
            "instance_type": HABITS["instance"],
            "instance_id": "i-0123456789abcdef0",
        }
    print(json.dumps([device]))
    return 0
