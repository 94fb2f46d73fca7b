"""Signature as aws-neuron/nki-library @ 2.29_release calls it, test/utils/kernel_tracer.py."""

from types import SimpleNamespace

import fake_sdk


class ParserFrontend:
    def compile(self, kernel_func, inputs, target, lnc=1, artifacts_dir=None, dump_python_ast=False, output_names=None):
        inputs_specs, outputs_specs = fake_sdk.run(kernel_func, inputs)
        for spec, name in zip(outputs_specs, output_names, strict=True):
            spec.name = name
        return SimpleNamespace(inputs=inputs_specs, outputs=outputs_specs, target=target, lnc=lnc)
