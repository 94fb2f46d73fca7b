"""From a kernel to a NEFF, whatever NKI calls the way: it runs in numpy once, on zeros."""

import inspect
import os
import shlex
import subprocess
import tempfile
from dataclasses import dataclass, field
from typing import Any

import neff
import numpy as np
from habits import HABITS
from machine import BFLOAT16, program, run, tensor

MUST_ALIAS_SUFFIX = ".must_alias_input"


class NCCError(RuntimeError):
    pass


@dataclass(frozen=True)
class Spec:
    name: str
    shape: tuple
    _dtype: Any

    @property
    def dtype(self):
        return np.dtype(self._dtype).name

    @property
    def element_size_bytes(self):
        return np.dtype(self._dtype).itemsize


@dataclass(frozen=True)
class KernelDescriptor:
    kernel_json_path: str
    input_specs: tuple
    output_specs: tuple
    version: str
    func_name: str
    kernel_format: str = "bir"
    aliases: tuple = ()

    def to_input_output_aliases_dict(self):
        return {
            given_to: self.input_specs[given].name.removesuffix(MUST_ALIAS_SUFFIX) for given, given_to in self.aliases
        }


@dataclass(eq=False)
class NirResult:
    descriptor: KernelDescriptor
    sg00_dir: str
    work_dir: str
    mlir_time: float = 0.0
    frontend_time: float = 0.0
    lnc: int = 1
    target: str = ""
    program: tuple = ()
    kernel: dict = field(default_factory=dict)

    @property
    def input_specs(self):
        return list(self.descriptor.input_specs)

    @property
    def output_specs(self):
        return list(self.descriptor.output_specs)


def lower(kernel_func, *, inputs, target, lnc, artifacts_dir=None, output_names=None):
    function = getattr(kernel_func, "func", kernel_func)
    bound = inspect.signature(function).bind(**inputs)  # an unknown name is a TypeError, as in a call
    bound.apply_defaults()
    tensors = {
        name: value for name, value in bound.arguments.items() if hasattr(value, "shape") and hasattr(value, "dtype")
    }
    scalars = {name: value for name, value in bound.arguments.items() if name not in tensors}
    zeros = {name: tensor(np.zeros(value.shape, _dtype(value.dtype))) for name, value in tensors.items()}
    results = run(function, zeros, scalars, lnc)
    order = list(zeros)
    aliases = [
        (order.index(name), number)
        for number, result in enumerate(results)
        for name, value in zeros.items()
        if result is value
    ]
    written = {order[given] for given, _ in aliases}
    specs = tuple(
        Spec(name + MUST_ALIAS_SUFFIX if name in written else name, value.shape, value.dtype)
        for name, value in zeros.items()
    )
    names = output_names or [f"output_{number}" for number in range(len(results))]
    outputs = tuple(Spec(name, value.shape, value.dtype) for name, value in zip(names, results, strict=True))
    work_dir = artifacts_dir or tempfile.mkdtemp(prefix="nki_")
    os.makedirs(work_dir, exist_ok=True)
    return NirResult(
        KernelDescriptor("", specs, outputs, HABITS["nki_version"], function.__name__, aliases=tuple(aliases)),
        os.path.join(work_dir, "sg00"),
        work_dir,
        lnc=lnc,
        target=target,
        program=tuple(program),
        kernel={
            "file": os.path.abspath(inspect.getsourcefile(function)),
            "module": function.__module__,
            "function": function.__qualname__,
            "parameters": order,
            "scalars": scalars,
            "tensors": {name: (value.shape, value.dtype.name) for name, value in zeros.items()},
        },
    )


def _dtype(dtype):
    return BFLOAT16 if str(dtype) == "bfloat16" else np.dtype(dtype)


def write_neff(compile_opts, nir):
    """neuronx-cc gets one line of arguments: a blank in the path breaks it, and NEURON_CC_FLAGS stand behind."""
    path = compile_opts.output_path
    if not os.path.isabs(path):
        path = os.path.join(nir.work_dir, path)
    line = f'--output={path} --internal-backend-options="{" ".join(compile_opts.neuronx_cc_backend_opts)}"'
    line += "".join(" " + shlex.quote(argument) for argument in compile_opts.neuronx_cc_args)
    line += " " + os.environ.get("NEURON_CC_FLAGS", "")
    output = next(part for part in shlex.split(line) if part.startswith("--output=")).removeprefix("--output=")
    if HABITS["compiler_error"]:
        done = subprocess.run([compile_opts.neuronx_cc_path, "compile", "bir"], capture_output=True, text=True)
        raise NCCError(f"neuronx-cc failed with exit code {done.returncode}\n{done.stderr}")
    aliases = nir.descriptor.to_input_output_aliases_dict()
    outputs = [
        (aliases.get(number, spec.name), spec.shape, spec._dtype)
        for number, spec in enumerate(nir.descriptor.output_specs)
    ]
    neff.write(
        output,
        target=compile_opts.target,
        lnc=compile_opts.lnc,
        inputs=[(spec.name, spec.shape, spec._dtype) for spec in nir.descriptor.input_specs],
        outputs=outputs,
        program=nir.program,
        kernel={
            **nir.kernel,
            "results": [name for name, _, _ in outputs],
            "lnc": compile_opts.lnc,
            "program": nir.program,
        },
    )
    return output
