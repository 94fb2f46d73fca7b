"""Runs a kernel in numpy: what the fake nki.language and nki.isa write down, and in which module the kernel lies."""

import importlib.util
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
from habits import HERE

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

program: list[tuple[str, str, int, int]] = []
"""Of the kernel that runs: engine, opcode, bytes that it reads or writes in HBM, floating-point operations."""
cores = {"here": 0, "all": 1}
shared: dict[tuple, "Tensor"] = {}
asked = {"count": 0}


class Tensor(np.ndarray):
    """As an array; HBM or not decides which moves count."""

    buffer = "hbm"

    def __array_finalize__(self, other):
        self.buffer = getattr(other, "buffer", "hbm")

    def broadcast_to(self, shape):
        return np.broadcast_to(self, shape, subok=True)


def tensor(array, buffer="hbm"):
    made = np.array(array, subok=False).view(Tensor)
    made.buffer = buffer
    return made


def note(engine, opcode, bytes_=0, flops=0):
    program.append((engine, opcode, bytes_, flops))


def graph_function(hlo):
    """What a graph of XLA does, of arrays in the order of its parameters; and these, as shapes and dtypes."""
    import jax
    from jax._src.lib import xla_client

    text = xla_client._xla.mlir.xla_computation_to_mlir_module(xla_client.XlaComputation(hlo))
    device = jax.devices("cpu")[0]
    runs = device.client.compile_and_load(text.encode(), xla_client.DeviceList((device,)))
    shapes = [
        jax.ShapeDtypeStruct(each.dimensions(), each.numpy_dtype())
        for each in xla_client.XlaComputation(hlo).program_shape().parameter_shapes()
    ]
    return lambda *arrays: [
        np.asarray(each) for each in runs.execute([jax.device_put(array) for array in arrays])
    ], shapes


def load(kernel):
    """The function that a NEFF names, or the graph in it."""
    if "hlo" in kernel:
        function, _ = graph_function(kernel["hlo"])
        return lambda **tensors: function(*(np.asarray(each) for each in tensors.values()))
    sys.path[:0] = [str(HERE / "site"), str(Path(kernel["file"]).parent)]
    spec = importlib.util.spec_from_file_location(kernel["module"], kernel["file"])
    module = importlib.util.module_from_spec(spec)
    sys.modules[kernel["module"]] = module
    spec.loader.exec_module(module)
    function = module
    for part in kernel["function"].split("."):
        function = getattr(function, part)
    if kernel.get("by_place"):  # traced by torch_neuronx
        import torch

        return lambda **tensors: function(*(np.asarray(each).view(torch.Tensor) for each in tensors.values()))
    return getattr(function, "func", function)


def run(function, tensors, scalars, lnc):
    """What it returns, for tensors by name; those that it writes into change."""
    shared.clear()
    for core in range(lnc):
        program.clear()
        cores.update(here=core, all=lnc)
        asked["count"] = 0
        result = function(**tensors, **scalars)
    return result if isinstance(result, tuple | list) else (result,)
