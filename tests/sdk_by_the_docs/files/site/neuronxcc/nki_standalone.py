"""After nki-library's harness of NKI 0.2 and 0.3 (kernel_tracer.py), which gives the kernel and stubs of its outputs."""

import enum
import os
import shlex
from types import SimpleNamespace

import nki._sdk  # noqa: F401
from habits import HABITS
from lowering import MUST_ALIAS_SUFFIX, lower, write_neff


class NKI_IR_VERSION(enum.Enum):  # noqa: N801  (its name in neuronxcc)
    beta2 = "beta2"


if HABITS["nki"] == "standalone":

    def compile_nki_ir_kernel_to_neff(
        kernel_func,
        kernel_inputs_dict,
        kernel_outputs,
        platform_target,
        logical_nc_config,
        output_directory,
        version,
        additional_compiler_args="",
    ):
        assert version is NKI_IR_VERSION.beta2
        arguments = shlex.split(additional_compiler_args)
        given = [part.removeprefix("--output=") for part in arguments if part.startswith("--output=")]
        options = SimpleNamespace(
            target=platform_target,
            lnc=logical_nc_config,
            output_path=(given or [os.path.join(output_directory, "file.neff")])[-1],
            neuronx_cc_backend_opts=(),
            neuronx_cc_args=(),
            neuronx_cc_path="neuronx-cc",
        )
        inputs = {name.removesuffix(MUST_ALIAS_SUFFIX): value for name, value in kernel_inputs_dict.items()}
        names = [stub.name for stub in kernel_outputs]
        bir = lower(
            kernel_func,
            inputs=inputs,
            target=platform_target,
            lnc=logical_nc_config,
            artifacts_dir=str(output_directory),
            output_names=names,
        )
        for stub, made in zip(kernel_outputs, bir.output_specs, strict=True):
            if tuple(stub.shape) != tuple(made.shape):
                raise ValueError(f"output {stub.name}: {stub.shape} was given, the kernel returns {made.shape}")
        write_neff(options, bir)
