"""`neuronx-cc compile MODEL --framework XLA --target T --output FILE [--lnc N] ...`, as documented for SDK 2.32."""

import argparse
import json
import sys
from pathlib import Path

import fake_sdk

from neff_bench.parsers.hlo import read_hlo


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
    parser = argparse.ArgumentParser(prog="neuronx-cc", allow_abbrev=False)
    commands = parser.add_subparsers(required=True)
    compile = commands.add_parser("compile", allow_abbrev=False)
    compile.add_argument("model")
    compile.add_argument("--framework", choices=["XLA"], required=True)
    compile.add_argument("--target", choices=["inf2", "trn1", "trn1n", "trn2", "trn3"], required=True)
    compile.add_argument("--output", default="file.neff")
    compile.add_argument("--lnc", "--logical-nc-config", type=int, default=1)
    compile.add_argument("--optlevel", "-O", type=int)
    compile.add_argument("--verbose")
    compile.add_argument("--disable-dge", action="store_true")
    options = parser.parse_args()
    if options.optlevel == 9:
        print("ERROR: [NCC_FAKE] cannot optimise that much", file=sys.stderr)
        return 70
    model = Path(options.model)
    fake_sdk.record(argv=sys.argv[1:])
    if model.suffix == ".py":  # penguin.py of the fake IRWriter
        inputs, outputs = json.loads(model.read_text()).values()
    else:
        inputs, outputs = signature(read_hlo(model.read_bytes()))
    fake_sdk.neff(options.output, options.target, options.lnc, inputs, outputs)
    print("Compiler status PASS")
    return 0


if __name__ == "__main__":
    sys.exit(main())
