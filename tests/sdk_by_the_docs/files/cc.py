"""neuronx-cc: what its version says, and what a compile says that fails."""

import sys

from habits import HABITS


def main(_program, arguments):
    if "--version" in arguments:
        print(f"NeuronX Compiler version {HABITS['compiler_version']}+0a1b2c3d\n\nPython version 3.11.7")
        return 0
    print(HABITS["compiler_error"] or "[ERROR] [NCC_EVRF001] Operator is not supported", file=sys.stderr)
    return 70
