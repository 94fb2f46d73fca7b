"""neuronx-cc: what its version says, a graph of XLA that it compiles, and what a compile says that fails."""

import sys
from pathlib import Path

import neff
from habits import HABITS

VALUED = {"--framework": "", "--target": "", "--output": "file.neff", "--lnc": "", "--logical-nc-config": ""}


def main(_program, arguments):
    if "--version" in arguments:
        print(f"NeuronX Compiler version {HABITS['compiler_version']}+0a1b2c3d\n\nPython version 3.11.7")
        return 0
    if HABITS["compiler_error"] or arguments[:1] != ["compile"]:
        print(HABITS["compiler_error"] or "[ERROR] [NCC_EVRF001] Operator is not supported", file=sys.stderr)
        return 70
    given, models = dict(VALUED), []
    waiting = arguments[1:]
    while waiting:
        name, equals, value = waiting.pop(0).partition("=")
        if name in VALUED:
            given[name] = value if equals else waiting.pop(0)
        elif name.startswith("-"):
            print(f"ERROR: Unrecognized argument {name}", file=sys.stderr)
            return 70
        else:
            models.append(name)
    (graph,) = models
    lnc = int(given["--lnc"] or given["--logical-nc-config"] or (2 if given["--target"] in ("trn2", "trn3") else 1))
    compile_graph(Path(graph).read_bytes(), given["--output"], given["--target"], lnc)
    print(".\nCompiler status PASS")
    return 0


def compile_graph(hlo, output, target, lnc):
    """Inputs and outputs are numbered, in the order of the graph's parameters and results."""
    from machine import graph_function

    function, parameters = graph_function(hlo)
    inputs = [(f"input{number}", each.shape, each.dtype) for number, each in enumerate(parameters)]
    write(output, target, lnc, inputs, function, {"hlo": hlo})


def write(output, target, lnc, inputs, function, kernel):
    """`function`: what the graph does, of arrays in the order of `inputs`."""
    import numpy as np

    results = function(*(np.zeros(shape, dtype) for _, shape, dtype in inputs))
    outputs = [(f"output{number}", each.shape, each.dtype) for number, each in enumerate(results)]
    sizes = [int(np.prod(shape)) * np.dtype(dtype).itemsize for _, shape, dtype in (*inputs, *outputs)]
    program = [("Sync", "DMA_DIRECT2D", size, 0) for size in sizes] + [("Tensor", "MATMUL", 0, 1000)]
    about = {
        **kernel,
        "tensors": {name: (shape, np.dtype(dtype).name) for name, shape, dtype in inputs},
        "scalars": {},
        "results": [name for name, _, _ in outputs],
        "lnc": lnc,
        "program": program,
    }
    neff.write(output, target=target, lnc=lnc, inputs=inputs, outputs=outputs, program=program, kernel=about)
