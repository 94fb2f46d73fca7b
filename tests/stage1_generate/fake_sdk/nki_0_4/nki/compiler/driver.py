"""Signature as aws-neuron/nki-library calls it after its 2.29 release, test/utils/kernel_tracer.py."""

from types import SimpleNamespace

import fake_sdk

import nki
from nki.compiler.frontend import ParserFrontend


def compile_to_bir(kernel_func, *, frontend, inputs, compile_opts, output_names=None):
    assert isinstance(frontend, ParserFrontend)
    inputs_specs, outputs_specs = fake_sdk.run(kernel_func, inputs)
    for spec, name in zip(outputs_specs, output_names, strict=True):
        spec.name = name
    fake_sdk.record(interface="0.4", production=compile_opts.production, target_at_import=nki.TARGET_AT_IMPORT)
    return SimpleNamespace(descriptor=SimpleNamespace(input_specs=inputs_specs, output_specs=outputs_specs))
