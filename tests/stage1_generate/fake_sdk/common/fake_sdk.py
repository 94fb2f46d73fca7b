"""What the fakes share: a NEFF with the given tensors, and a record of the call for the tests to read."""

import json
import os
from pathlib import Path

from neff_bench.simulator.files.neff import write_neff
from neff_bench.simulator.program import Buffer, Program


def neff(path, target, lnc, inputs, outputs):
    """`inputs`, `outputs`: (name, shape, dtype) in order; FAKE_NEFF has another order, or another LNC."""
    if os.environ.get("FAKE_NEFF") == "reversed":
        inputs, outputs = inputs[::-1], outputs[::-1]
    lnc = 3 - lnc if os.environ.get("FAKE_NEFF") == "other lnc" else lnc
    buffers = [Buffer(name, "hbm", tuple(shape), str(dtype), "input") for name, shape, dtype in inputs]
    buffers += [Buffer(name, "hbm", tuple(shape), str(dtype), "output") for name, shape, dtype in outputs]
    count = len(inputs)
    program = Program(
        "fake", target, lnc, tuple(buffers), tuple(range(count)), tuple(range(count, len(buffers))), ((),) * lnc
    )
    write_neff(program, str(path))


def record(**call):
    """Keep what a fake was called with."""
    if os.environ.get("FAKE_SDK_RECORD"):
        Path(os.environ["FAKE_SDK_RECORD"]).write_text(json.dumps(call, default=str))


class Spec:
    def __init__(self, name, shape, dtype):
        self.name, self.shape, self.dtype = name, tuple(shape), str(dtype)


def run(kernel, inputs):
    """Input and output specs of a kernel that returns `nl.ndarray`s, under the names of NKI: output_0, ...; an input that is returned is
    marked, and what is returned has its name."""
    function = getattr(kernel, "func", kernel)
    results = function(**inputs)
    results = results if isinstance(results, tuple) else (results,)
    specs = [Spec(name, value.shape, value.dtype) for name, value in inputs.items() if hasattr(value, "shape")]
    made = []
    for index, result in enumerate(results):
        name = next((name for name, value in inputs.items() if value is result), None)
        for spec in specs:
            spec.name += ".must_alias_input" if spec.name == name else ""
        made.append(Spec(name or f"output_{index}", result.shape, result.dtype))
    return specs, made


def tensors(specs):
    return [(spec.name, spec.shape, spec.dtype) for spec in specs]
