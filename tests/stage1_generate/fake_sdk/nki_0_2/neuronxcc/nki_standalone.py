"""Signature as aws-neuron/nki-library @ 0759719 calls it, test/utils/kernel_tracer.py."""

import os
from enum import Enum

import fake_sdk
import nki


class NKI_IR_VERSION(Enum):
    beta1 = 1
    beta2 = 2


def compile_nki_ir_kernel_to_neff(
    kernel_func,
    kernel_inputs_dict,
    kernel_outputs,
    platform_target,
    logical_nc_config,
    output_directory,
    version,
    additional_compiler_args="",
    enable_device_dump=False,
):
    assert version is NKI_IR_VERSION.beta2
    inputs_specs, _ = fake_sdk.run(kernel_func, kernel_inputs_dict)
    outputs_specs = [fake_sdk.Spec(output.name, output.shape, output.dtype) for output in kernel_outputs]
    print("Compiler status PASS", additional_compiler_args)
    fake_sdk.record(interface="0.2", production=None, target_at_import=nki.TARGET_AT_IMPORT)
    fake_sdk.neff(
        os.path.join(output_directory, "file.neff"),
        platform_target,
        logical_nc_config,
        fake_sdk.tensors(inputs_specs),
        fake_sdk.tensors(outputs_specs),
    )
