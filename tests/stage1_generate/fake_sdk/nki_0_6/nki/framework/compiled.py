"""Signature: NKI 0.6.0, nki/framework/compiled.py."""

from types import SimpleNamespace

import fake_sdk

import nki


def compile_kernel_to_nir(kernel_func, *, inputs, compile_opts, frontend=None, enable_cache=True, trace_cache=None):
    assert enable_cache is False
    assert kernel_func.lnc == compile_opts.lnc
    inputs_specs, outputs_specs = fake_sdk.run(kernel_func, inputs)
    fake_sdk.record(interface="0.6", production=compile_opts.production, target_at_import=nki.TARGET_AT_IMPORT)
    return SimpleNamespace(descriptor=SimpleNamespace(input_specs=inputs_specs, output_specs=outputs_specs))
