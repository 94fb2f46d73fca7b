"""`neuron-ls` of a host that is not there: a program on PATH, and the JSON that the real one prints.

Fields as in AWS Neuron docs, tools/neuron-sys-tools/neuron-ls.rst, and as trn2 prints them with runtime 2.34.
"""

import json
import sys
from pathlib import Path

PROGRAM = """#!{python}
import json, os, sys
from pathlib import Path
here = Path(__file__).resolve().parent
arguments = {arguments}
if sys.argv[1:] != arguments:
    print("unknown flag `" + sys.argv[1].lstrip("-") + "'", file=sys.stderr)
    sys.exit(1)
said = json.loads((here / "neuron-ls.json").read_text())
devices = said if isinstance(said, list) else said["neuron_devices"]
for running in (here / "running").glob("*"):
    pid, cores, lnc = running.read_text().split()
    first = int(cores.split("-")[0]) * int(lnc)
    for device in devices:
        size = device.get("logical_neuroncore_config", 1)
        if first // size in device["neuroncore_ids"]:
            device["neuron_processes"].append({{"pid": int(pid), "command": "neuron-profile capture", "neuron_runtime_version": "2.34.10.0"}})
print('time="2026-09-01T00:00:00Z" level=warning msg="a line of the log"')
print(json.dumps(said))
"""


def devices(count: int, *, logical: int = 4, lnc: int | None = 2, busy: dict[int, int] | None = None) -> list[dict]:
    """The array of SDK 2.28 to 2.33. `busy`: device -> pid of a process that uses it. `lnc` None: trn1, inf2."""
    said = []
    for number in range(count):
        device = {
            "instance_type": "trn2.48xlarge",
            "instance_id": "i-0aabbccdd",
            "neuron_device": number,
            "bdf": f"0000:{number:02x}:00.0",
            "cpu_affinity": "0-47",
            "numa_node": "-1",
            "connected_to": None if count == 1 else [(number + 1) % count],
            "nc_count": logical,
            "logical_neuroncore_config": lnc,
            "memory_size": 103079215104,
            "neuroncore_ids": list(range(number * logical, (number + 1) * logical)),
            "neuron_processes": [],
        }
        if lnc is None:
            for key in ("logical_neuroncore_config", "instance_type", "instance_id"):
                del device[key]
        if busy and number in busy:
            device["neuron_processes"] = [
                {"pid": busy[number], "command": "python3 train.py", "neuron_runtime_version": "2.34.10.0"}
            ]
        said.append(device)
    return said


def announced(array: list[dict]) -> dict:
    """The same as the object that is announced for 2.34; the name of its list is a guess."""
    without = [
        {key: value for key, value in each.items() if key not in ("instance_type", "instance_id")} for each in array
    ]
    return {"instance_type": "trn2.48xlarge", "ultraserver": {"size": 4, "ids": [1, 2]}, "neuron_devices": without}


def install(directory: Path, said: list[dict] | dict) -> Path:
    """Make the program `neuron-ls` in a directory. It takes the flag of the release that prints such JSON, and adds the captures
    that `directory`/running tells of (`PID CORES LNC` in a file each)."""
    directory.mkdir(exist_ok=True)
    (directory / "running").mkdir(exist_ok=True)
    (directory / "neuron-ls.json").write_text(json.dumps(said))
    program = directory / "neuron-ls"
    arguments = ["--json-output"] if isinstance(said, list) else ["--output-format", "json"]
    program.write_text(PROGRAM.format(python=sys.executable, arguments=arguments))
    program.chmod(0o755)
    return program
