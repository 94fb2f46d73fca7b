"""`neuronx-cc compile` as the contract in FAKE_CONTRACT describes it."""

import json
import os
import sys
from pathlib import Path

import fake_sdk

from neff_bench.parsers.hlo import read_hlo
from tests.sdk.grammar import Refused, parse, value


def signature(module):
    """Inputs and outputs of the module under the compiler's names: input0, ..., output0, ..."""
    entry = module.computations[module.entry]
    parameters = sorted(
        (i for i in entry.instructions if i.opcode == "parameter"), key=lambda parameter: parameter.parameter_number
    )
    (root,) = (i for i in entry.instructions if i.id == entry.root)
    results = root.shape.elements or (root.shape,)
    inputs = [(f"input{index}", i.shape.dimensions, i.shape.dtype) for index, i in enumerate(parameters)]
    return inputs, [(f"output{index}", shape.dimensions, shape.dtype) for index, shape in enumerate(results)]


def main():
    contract = json.loads(Path(os.environ["FAKE_CONTRACT"]).read_text())
    tool = contract["tools"]["neuronx-cc"]
    words = sys.argv[1:]
    if words == ["--version"]:
        print(tool["version_line"].format(compiler=contract["versions"]["neuronx-cc"]))
        return 0
    command = tool["commands"][words[0]]
    flags = command["flags"]
    try:
        given, (model,) = parse(flags, words[1:], command["files_given"])
    except Refused as refused:
        print(tool["unknown_flag"].format(flag=refused), file=sys.stderr)
        return command["exits"]["failed"]["code"]
    if given.get("--optlevel") == "9":
        print("ERROR: [NCC_FAKE] cannot optimise that much", file=sys.stderr)
        return command["exits"]["failed"]["code"]
    model = Path(model)
    fake_sdk.record(argv=words)
    if model.suffix == ".py":  # penguin.py of the fake IRWriter
        inputs, outputs = json.loads(model.read_text()).values()
    else:
        inputs, outputs = signature(read_hlo(model.read_bytes()))
    path = command["files"]["neff"]["name"].format(output=value(given, flags, "--output"))
    fake_sdk.neff(path, given["--target"], int(given.get("--logical-nc-config", 1)), inputs, outputs)
    print(command["lines"]["passed"]["text"])
    return command["exits"]["done"]["code"]


if __name__ == "__main__":
    sys.exit(main())
